import { dayOf } from '../../../reference/calendar.ts';
import { type InputLine, readLines } from '../../../reference/input.ts';
import { priceOf } from './shape.ts';

/** Prices for two of three days of some blocks: one or several a day, unordered, with more digits than a double has. */
export function pricesBeside(lines: readonly InputLine[]): InputLine[] {
  const days = new Set(
    readLines(lines).blocks.flatMap(({ time, chain }) =>
      time === null ? [] : [`${dayOf(time)} ${chain.symbol}`],
    ),
  );
  return [...days].sort().flatMap((dayAndToken, index) => {
    const [day = '', token = ''] = dayAndToken.split(' ');
    const price = (time: string, usd: string) => priceOf(token, `${day}T${time}Z`, usd);
    if (index % 3 === 0) return [];
    if (index % 3 === 1) return [price('23:59:59.999', `${index / 7}`)];
    return [
      price('12:00:00', `${index}.000000000000000000123`),
      price('18:30:00.5', `0.00${index}4567890123456789`),
      price('06:00:00', '1'),
    ];
  });
}
