import type { SeriesData } from './chart-state.ts';
import { type Drawing, type DrawnSeries, periodName } from './drawing.ts';
import { formatExact } from './format.ts';

/** A drawn series in words, for readers who do not see it: its ends, and its lowest and highest value. */
export function summaryOf({ data, values, axis }: DrawnSeries, { times, per, axes }: Drawing): string {
  const known = values.flatMap((value, i) => (value === null ? [] : [{ value, at: times[i] as number }]));
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return `${data.title}: no values.`;
  const [low, high] = known.reduce(
    ([lowest, highest], one) => [
      one.value < lowest.value ? one : lowest,
      one.value > highest.value ? one : highest,
    ],
    [first, first],
  );
  const { unit, token } = toldUnit(data, axes[axis]);
  const point = ({ value, at }: { value: number; at: number }) =>
    `${formatExact(value, unit, token)} (${periodName(at, per)})`;
  const missing = values.length - known.length;
  const lack = missing === 0 ? '' : ` ${missing} of ${values.length} without a value.`;
  return `${data.title}: first ${point(first)}, last ${point(last)}, lowest ${point(low)}, highest ${point(high)}.${lack}`;
}

/** The unit of a value that is told: that of its axis, with its own token. */
export function toldUnit(data: SeriesData, axis: Drawing['axes'][number] | undefined) {
  const unit = axis?.unit ?? data.unit;
  return { unit, token: unit === data.unit ? data.token : null };
}
