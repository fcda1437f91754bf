import { expect, test } from 'vitest';
import { metricsWithChanges } from '../../../aggregate/changes/select-changes.ts';
import { slicingOf } from '../../../aggregate/slices.ts';

test('the rows of every metric that tells its changes are divided by columns that its answers have', () => {
  expect(metricsWithChanges.length).toBeGreaterThan(30);
  for (const metric of metricsWithChanges) {
    const { column, isByChain } = slicingOf(metric);
    const named = ['relay_chain', ...(isByChain ? ['chain'] : []), ...(column === null ? [] : [column])];
    expect(Object.keys(metric.columns), metric.name).toEqual(expect.arrayContaining(named));
    // What was written of it is told by entity.
    if (metric.entities) expect(column).toBe(metric.entities.column);
  }
  const undivided = metricsWithChanges.filter((metric) => slicingOf(metric).column === null);
  expect(undivided.map(({ name }) => name)).toEqual(['coretime_total_burn']);
});
