import { expect, it } from 'vitest';
import { chainDay } from '../../../aggregate/metrics/activity/chain-day.ts';
import { chainHour } from '../../../aggregate/metrics/activity/chain-hour.ts';
import { WindowLocks } from '../../../aggregate/runner/window-locks.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';
import { shapeBlock } from '../../reference/shaped.ts';
import { ingestLines, openTestPipeline } from '../../support/pipeline.ts';

it('a window whose lock was lost is computed again, and may have lost rows', async () => {
  let now = 0;
  const clock = { now: () => now };
  const keys = new EmbeddedKeyValue(clock, clock);
  const locks = new WindowLocks(keys, 60_000);
  const place = { metric: 'M', level: 0, relays: ['polkadot'], from: '2026-03-01', until: '2026-03-02' };
  const seen: boolean[] = [];
  const result = await locks.run({ ...place, mayLoseRows: false }, async (window) => {
    seen.push(window.mayLoseRows);
    if (seen.length === 1) now += 100_000;
    return seen.length;
  });
  expect([result, seen]).toEqual([2, [false, true]]);
  await keys.close();
});

it('rows that a round wrote after it had lost its lock are gone after the next round', async () => {
  await using opened = await openTestPipeline();
  const { pipeline } = opened;
  const { store, keyValue } = pipeline.runtime;
  const block = (number: number) => ({
    chain: 'kusama',
    line: JSON.stringify(shapeBlock({ number, time: `2026-03-04T20:00:0${number}Z` })),
  });
  await ingestLines(pipeline, [block(1)]);
  await pipeline.aggregator.waitUntilComputed();

  // A row of another hour, as a process would write it that stood still since it had read its facts.
  const prolong = keyValue.prolong.bind(keyValue);
  let isLost = false;
  keyValue.prolong = async (key, member, ttlMs) => {
    if (isLost || key !== 'locks/backfill') return prolong(key, member, ttlMs);
    isLost = true;
    await store.run(
      sql`INSERT INTO ${chainHour.table} SELECT * REPLACE (hour + INTERVAL 2 HOUR AS hour, toUInt64(1) AS version)
        FROM ${chainHour.table} FINAL`,
    );
    return false;
  };
  await ingestLines(pipeline, [block(2)]);
  await pipeline.aggregator.waitUntilComputed();
  expect(isLost).toBe(true);
  for (const { table } of [chainHour, chainDay]) {
    const rows = await store.rows(sql`SELECT chain, num_blocks FROM ${table} FINAL WHERE NOT is_deleted`);
    expect(rows).toEqual([{ chain: 'kusama', num_blocks: 2 }]);
  }
});
