import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MaterializedMetric } from '../../../aggregate/metric.ts';
import { accountHour } from '../../../aggregate/metrics/activity/account-hour.ts';
import { chainHour } from '../../../aggregate/metrics/activity/chain-hour.ts';
import { materializedMetrics } from '../../../aggregate/metrics/index.ts';
import { splitWindow } from '../../../aggregate/runner/split-window.ts';
import { sql } from '../../../infra/sql.ts';
import { hourSql } from '../../../ingest/raw/canonical.ts';
import { blocks, dirtyDays, extrinsics } from '../../../ingest/raw/tables.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { writeHistory } from '../../support/made-history.ts';
import { openPipelineAt, readyDirectory } from '../../support/pipeline.ts';

// Days of so many blocks that a window of them all needs more memory than the engine may use.

const LEAST_MEMORY = String(2 ** 28);
/** Two blocks a second of one chain. */
const BLOCKS_A_DAY = 160_000;
const DAYS = ['2026-03-02', '2026-03-03', '2026-03-04'];
const WINDOW = {
  metric: 'any',
  relays: ['kusama', 'polkadot'],
  from: '2026-03-01',
  until: '2026-03-05',
  level: 0,
};

const directory = await readyDirectory();
let pipeline: Pipeline;
beforeAll(async () => {
  await writeDays();
  pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path, STORE_MEMORY_BYTES: LEAST_MEMORY }));
}, 60_000);
afterAll(async () => {
  await pipeline.close();
  directory[Symbol.dispose]();
});

/** By an engine with the usual memory, which computes nothing of them. */
async function writeDays(): Promise<void> {
  const writing = await openPipelineAt(directory.path);
  await writing.aggregator.pauseComputation(async () => {
    const { store } = writing.runtime;
    const of = { blocks: BLOCKS_A_DAY, chains: ['polkadot'], relay_chain: 'polkadot', days: 1 };
    for (const [i, from] of DAYS.entries())
      await writeHistory(store, { ...of, from, first: i * BLOCKS_A_DAY });
    await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
      SELECT 'blocks', arrayJoin(['', '*']), relay_chain, chain, toDate(assumeNotNull(time)) AS day, 1
      FROM ${blocks} GROUP BY relay_chain, chain, day`);
    await writing.close();
  });
}

test('a window that needs more memory than the engine has is computed in parts', async () => {
  const { store } = pipeline.runtime;
  await pipeline.aggregator.waitUntilComputed();
  expect(
    await store.rows(sql`SELECT toString(toDate(hour)) AS date, count() AS hours, sum(num_blocks) AS num_blocks,
        sum(num_transactions_signed) AS signed, sum(length(runs)) AS runs
      FROM ${chainHour.table} FINAL GROUP BY date ORDER BY date`),
  ).toEqual(
    DAYS.map((date) => ({ date, hours: 24, num_blocks: BLOCKS_A_DAY, signed: BLOCKS_A_DAY, runs: 24 })),
  );
  const accounts = (rows: ReturnType<typeof sql>) =>
    store.rows(sql`SELECT toString(hour) AS of_hour, count() AS accounts, toString(groupBitXor(cityHash64(account))) AS hash
      FROM ${rows} GROUP BY of_hour ORDER BY of_hour`);
  const signers = sql`(SELECT DISTINCT ${hourSql('time')} AS hour, signer_key AS account FROM ${extrinsics})`;
  expect(await accounts(sql`(SELECT hour, account FROM ${accountHour.table} FINAL)`)).toEqual(
    await accounts(signers),
  );
}, 60_000);

test.each([
  ['days where it has several', WINDOW.from, WINDOW.until, 3],
  ['hours of a day', '2026-03-03', '2026-03-04', 4],
])('parts are made of whole %s, hold few blocks each and cover the window', async (_, from, until, count) => {
  const window = { ...WINDOW, from, until };
  const parts = await splitWindow(pipeline.runtime.store, chainHour as MaterializedMetric, window);
  expect(parts.filter(({ relays }) => relays.includes('kusama'))).toEqual([
    { ...window, relays: ['kusama'] },
  ]);
  const own = parts.filter(({ relays }) => relays.includes('polkadot'));
  expect(own.length).toBe(count);
  expect([own[0]?.from, ...own.map((part) => part.until)]).toEqual([
    from,
    ...own.slice(1).map((part) => part.from),
    until,
  ]);
});

test('a window that is longer than the only day with blocks ends in parts that are hours', async () => {
  const { store } = pipeline.runtime;
  const window = { ...WINDOW, relays: ['polkadot'], from: '2026-03-04 05:00:00', until: '2149-06-06' };
  const boundsOf = (parts: readonly { from: string; until: string }[]) =>
    parts.map((part) => [part.from, part.until]);
  const days = await splitWindow(store, chainHour as MaterializedMetric, window);
  expect(boundsOf(days)).toEqual([
    ['2026-03-04 05:00:00', '2026-03-05'],
    ['2026-03-05', '2149-06-06'],
  ]);
  const hours = await splitWindow(store, chainHour as MaterializedMetric, days[0] ?? WINDOW);
  expect(hours.length).toBeGreaterThan(2);
});

test('what cannot be split has no parts', async () => {
  const { store } = pipeline.runtime;
  const of = (materialized: string) =>
    materializedMetrics.find((one) => one.materialized === materialized) as MaterializedMetric;
  expect(await splitWindow(store, of('whole'), WINDOW)).toEqual([]);
  expect(await splitWindow(store, of('monthly'), WINDOW)).toEqual([]);
  const hour = { ...WINDOW, relays: ['polkadot'], from: '2026-03-02 05:00:00', until: '2026-03-02 06:00:00' };
  expect(await splitWindow(store, of('hourly'), hour)).toEqual([hour]);
});
