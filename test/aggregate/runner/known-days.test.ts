import { expect, test } from 'vitest';
import { readCalendar } from '../../../aggregate/planner/calendar.ts';
import { dayNumber } from '../../../aggregate/planner/ranges.ts';
import { KnownDays } from '../../../aggregate/runner/known-days.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Store } from '../../../infra/ports.ts';
import { dirtyDays } from '../../../ingest/raw/tables.ts';
import { madeBlock } from '../../ingest/made.ts';
import { ingestLines, openTestPipeline } from '../../support/pipeline.ts';

// Rounds know the days of years, and read only those again that a load or a round has changed.

const DAYS = ['2023-12-31', '2024-01-01', '2025-06-30', '2026-03-05'];
const MAX_SEQUENCE = 2n ** 64n - 1n;

const blockOf = (number: number, day: string, chain = 'polkadot') => ({
  chain,
  line: JSON.stringify(madeBlock(number)).replace(/"now":"\d+"/, `"now":"${Date.parse(`${day}T12:00:00Z`)}"`),
});

test('what rounds know of days is what is stored, after every load and every round', async () => {
  await using opened = await openTestPipeline();
  const { pipeline } = opened;
  const { runtime, aggregator } = pipeline;
  const { store } = runtime;
  // Rounds of the pipeline read the same store meanwhile.
  const read: string[] = [];
  const rows: Store['rows'] = (statement, options) => {
    read.push(typeof statement === 'string' ? statement : statement.text);
    return store.rows(statement, options);
  };
  const days = new KnownDays({ store: { rows }, isShared: runtime.isShared });
  const expectAsStored = async () => {
    const known = await (await days.refresh()).calendar();
    const stored = await readCalendar(store);
    const sorted = ({ days: ofBlocks, snapshotDays, ...limits }: typeof stored) => ({
      days: [...ofBlocks].sort(),
      snapshotDays: [...snapshotDays].sort(),
      ...limits,
    });
    expect(sorted(known)).toEqual(sorted(stored));
    return known;
  };
  const compute = () => aggregator.waitUntilComputed();
  const readSince = async (work: () => Promise<unknown>) => {
    read.length = 0;
    await work();
    return [...read];
  };
  await expectAsStored();
  await ingestLines(pipeline, [
    ...DAYS.map((day, i) => blockOf(i, day)),
    ...DAYS.slice(1).map((day, i) => blockOf(i, day, 'kusama')),
  ]);
  await expectAsStored();
  await compute();
  expect((await expectAsStored()).days.get('polkadot/polkadot')).toEqual(DAYS.map(dayNumber));
  await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
    SELECT 'snapshots', '', 'polkadot', 'polkadot', arrayJoin(['2022-01-01', '2026-03-04']), 1`);
  expect((await expectAsStored()).snapshotDays.get('polkadot')).toHaveLength(2);
  // A replaced block of another day: one of the days has lost its only block.
  await ingestLines(pipeline, [blockOf(2, '2025-07-01')]);
  await compute();
  const moved = DAYS.with(2, '2025-07-01').map(dayNumber);
  expect((await expectAsStored()).days.get('polkadot/polkadot')).toEqual(moved);

  if (runtime.isShared) return;
  const [parts, retention, ...others] = await readSince(async () => (await days.refresh()).calendar());
  expect(parts).toContain('system.parts');
  expect(retention).not.toMatch(/chain_day|dirty_days/);
  expect(others).toEqual([]);
  expect((await days.refresh()).changedAfter(MAX_SEQUENCE)).toEqual([]);
  await ingestLines(pipeline, [blockOf(4, '2026-03-06')]);
  await compute();
  const after = await days.refresh();
  expect(after.changedAfter(MAX_SEQUENCE)).toEqual(['202603']);
  const [again] = await readSince(() => after.calendar());
  expect(again).toContain("_partition_id IN ['202603']");
  expect(again).toContain("_partition_id IN ['2026']");
});
