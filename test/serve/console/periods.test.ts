import { describe, expect, it } from 'vitest';
import { PERIODS } from '../../../serve/console/model/chart-state.ts';
import { addDays, dayAt, periodsOf, placeOf } from '../../../serve/console/model/periods.ts';

describe('periods', () => {
  it('are days, weeks from Monday, or months', () => {
    expect(periodsOf('day', '2026-02-27', '2026-03-01')).toEqual({
      per: 'day',
      start: '2026-02-27',
      count: 3,
    });
    expect(periodsOf('week', '2026-03-01', '2026-03-02')).toEqual({
      per: 'week',
      start: '2026-02-23',
      count: 2,
    });
    expect(periodsOf('month', '2025-12-31', '2026-01-01')).toEqual({
      per: 'month',
      start: '2025-12-01',
      count: 2,
    });
    expect(periodsOf('week', '1969-12-30', '1969-12-30').start).toBe('1969-12-29');
  });

  it('stay within the dates of the store', () => {
    expect(periodsOf('month', '0020-02-29', '0020-03-29')).toEqual({
      per: 'month',
      start: '1970-01-01',
      count: 1,
    });
    expect(periodsOf('day', '9999-12-30', '9999-12-31')).toEqual({
      per: 'day',
      start: '2149-06-06',
      count: 1,
    });
    for (const per of PERIODS) expect(dayAt(periodsOf(per, '2149-06-01', '9999-12-31'), 1)).toMatch(/^2149-/);
  });

  it('hold each of their days, and follow each other without a hole', () => {
    for (const per of PERIODS) {
      const periods = periodsOf(per, '2023-12-28', '2024-03-03');
      let [day, place] = [periods.start, 0];
      for (; place < periods.count; day = addDays(day, 1)) {
        const next = dayAt(periods, place + 1);
        if (day === next) place += 1;
        expect(placeOf(periods, day)).toBe(place);
      }
    }
  });
});
