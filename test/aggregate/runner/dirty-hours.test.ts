import { describe, expect, it } from 'vitest';
import type { NumberedDirtyDay } from '../../../aggregate/runner/dirty-days.ts';
import { addHours, earliestStart, type NumberedDirtyHours } from '../../../aggregate/runner/dirty-hours.ts';
import { ANY_PALLET } from '../../../ingest/raw/tables.ts';

const chain = { relay_chain: 'polkadot', chain: 'moonbeam' };
const dirty = (day: string, sequence: number, pallet = ''): NumberedDirtyDay => ({
  stream: 'blocks',
  pallet,
  ...chain,
  day,
  sequence: String(sequence),
});
const hoursOf = (
  day: string,
  hours: readonly (readonly [hour: number, sequence: number])[],
  pallet = '',
): NumberedDirtyHours => ({
  pallet,
  ...chain,
  day,
  hours: hours.map(([hour, sequence]) => [hour, String(sequence)] as const),
});

describe('the hours of dirty days', () => {
  const day = '2026-03-04';
  const hoursAfter = (
    watermark: number,
    days: readonly NumberedDirtyDay[],
    hours: readonly NumberedDirtyHours[],
  ) =>
    addHours(days, hours, (sequence) => sequence > BigInt(watermark)).map(
      ({ hours: known }) => known ?? 'whole day',
    );

  it('are those with blocks of newer loads', () => {
    const hours = [
      hoursOf(day, [
        [3, 4],
        [5, 7],
        [6, 9],
      ]),
    ];
    expect(hoursAfter(4, [dirty(day, 9)], hours)).toEqual([[5, 6]]);
    expect(hoursAfter(4, [dirty(day, 9), dirty(day, 7, 'revive')], hours)).toEqual([
      [5, 6],
      [5, 6],
    ]);
  });

  it('are not known of a day that is newer than they, or from before there were any', () => {
    expect(hoursAfter(4, [dirty(day, 9)], [hoursOf(day, [[5, 7]])])).toEqual(['whole day']);
    expect(hoursAfter(4, [dirty(day, 9)], [])).toEqual(['whole day']);
    expect(hoursAfter(4, [dirty(day, 9)], [hoursOf('2026-03-05', [[5, 9]])])).toEqual(['whole day']);
  });

  it('are apart for replaced blocks, whose new versions may stand in other hours', () => {
    const hours = [hoursOf(day, [[5, 9]]), hoursOf(day, [[3, 8]], ANY_PALLET)];
    expect(hoursAfter(4, [dirty(day, 8, ANY_PALLET), dirty(day, 9)], hours)).toEqual([[3], [5]]);
    expect(hoursAfter(4, [dirty(day, 8, ANY_PALLET), dirty(day, 9)], hours.slice(0, 1))).toEqual([
      'whole day',
      [5],
    ]);
  });

  it('tell when the first of them begins', () => {
    const other = '2026-03-03';
    const days = [dirty(day, 9), dirty(other, 9)];
    expect(earliestStart(days)).toBe(other);
    expect(
      earliestStart(
        addHours(
          days,
          [
            hoursOf(other, [
              [17, 9],
              [5, 9],
            ]),
          ],
          () => true,
        ),
      ),
    ).toBe(`${other} 05:00:00`);
    expect(earliestStart([{ ...dirty(day, 9), stream: 'snapshots' }])).toBeUndefined();
  });

  it('count on few days only: many are computed whole', () => {
    const days = [1, 2, 3, 4].map((number) => `2026-03-0${number}`);
    const hours = days.map((one) => hoursOf(one, [[5, 9]]));
    const known = (count: number) =>
      hoursAfter(
        4,
        days.slice(0, count).map((one) => dirty(one, 9)),
        hours,
      );
    expect(known(3)).toEqual([[5], [5], [5]]);
    expect(known(4)).toEqual(Array(4).fill('whole day'));
  });
});
