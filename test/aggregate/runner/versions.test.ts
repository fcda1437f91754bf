import { afterAll, beforeAll, expect, it } from 'vitest';
import { computedWindows } from '../../../aggregate/runner/ledger.ts';
import { MetricVersions, publishVersion } from '../../../aggregate/runner/versions.ts';
import { openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';

let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline();
});
afterAll(() => opened.close());

it('a computed window changes the version in the other processes, in whatever order windows end', async () => {
  const { runtime } = opened.pipeline;
  const versions = new MetricVersions(runtime, ['daily_tps', 'daily_fees']);
  await versions.refresh();
  expect(versions.of('daily_tps')).toBe('0');
  await publishVersion(runtime.keyValue, 'daily_tps', '6');
  await versions.refresh();
  // This window began earlier and ended later: a response of the time between must not be served from the cache.
  await publishVersion(runtime.keyValue, 'daily_tps', '5');
  await versions.refresh();
  expect([versions.of('daily_tps'), versions.of('daily_fees')]).toEqual(['5', '0']);
});

it('a version that is not published is read from the ledger', async () => {
  const { runtime } = opened.pipeline;
  await runtime.store.insert(computedWindows, [
    {
      metric: 'daily_summary',
      relay_chain: 'polkadot',
      from_day: '2024-01-01',
      until_day: '2024-01-02',
      version: 7,
    },
  ]);
  const versions = new MetricVersions(runtime, ['daily_summary']);
  await versions.refresh();
  expect(versions.of('daily_summary')).toBe('7');
});
