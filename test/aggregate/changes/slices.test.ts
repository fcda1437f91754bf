import { describe, expect, test } from 'vitest';
import { recordedMetrics } from '../../../aggregate/changes/read.ts';
import { suspectsOf } from '../../../aggregate/changes/record.ts';
import { slicingOf } from '../../../aggregate/changes/slices.ts';
import { dailyTps } from '../../../aggregate/metrics/activity/daily-tps.ts';

test('the rows of every recorded metric are divided by columns that its answers have', () => {
  expect(recordedMetrics.length).toBeGreaterThan(30);
  for (const metric of recordedMetrics) {
    const { column, isByChain } = slicingOf(metric);
    const named = ['relay_chain', ...(isByChain ? ['chain'] : []), ...(column === null ? [] : [column])];
    expect(Object.keys(metric.columns), metric.name).toEqual(expect.arrayContaining(named));
    // What was written of it is told by entity.
    if (metric.entities) expect(column).toBe(metric.entities.column);
  }
  const undivided = recordedMetrics.filter((metric) => slicingOf(metric).column === null);
  expect(undivided.map(({ name }) => name)).toEqual(['coretime_total_burn']);
});

describe('what a run may have changed of a metric by days', () => {
  const window = (from: string, until: string, ...relays: string[]) => ({ relays, from, until });
  const suspects = (...windows: ReturnType<typeof window>[]) => suspectsOf(dailyTps, windows, 7n);

  test('are its windows, joined where they meet', () => {
    expect(
      suspects(
        window('2024-01-05', '2024-01-07', 'polkadot'),
        window('2024-01-01', '2024-01-03', 'polkadot'),
        window('2024-01-03', '2024-01-04', 'polkadot'),
        window('2024-01-02', '2024-01-03', 'kusama'),
      ),
    ).toEqual({
      of: 'days',
      windows: [
        window('2024-01-01', '2024-01-04', 'polkadot'),
        window('2024-01-05', '2024-01-07', 'polkadot'),
        window('2024-01-02', '2024-01-03', 'kusama'),
      ],
    });
  });

  test('is one range where they are many', () => {
    const days = Array.from({ length: 65 }, (_, i) => `20${10 + i}-01-0`);
    const many = days.map((day) => window(`${day}1`, `${day}2`, 'polkadot'));
    expect(suspects(...many)).toEqual({
      of: 'days',
      windows: [window('2010-01-01', '2074-01-02', 'polkadot')],
    });
  });
});
