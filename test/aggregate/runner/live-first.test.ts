import { afterAll, beforeAll, expect, it } from 'vitest';
import { dailyTps } from '../../../aggregate/metrics/activity/daily-tps.ts';
import { computedChains } from '../../../aggregate/runner/ledger.ts';
import { sequenceAt } from '../../../infra/coordination/sequence.ts';
import { DAY_MS } from '../../../infra/days.ts';
import { sql } from '../../../infra/sql.ts';
import { loadedBlocks } from '../../../ingest/raw/tables.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

const DAYS = 120;
const FIRST_DAY = Date.UTC(2020, 0, 1);
const CHAIN = 'polkadot';
const [template = { line: '{}' }] = recordedLines('blocks').filter(({ chain }) => chain === CHAIN);

/** A recorded block at another height and time. */
function blockAt(number: number, time: number) {
  const block = JSON.parse(template.line);
  const set = block.extrinsics.find(
    ({ method }: { method: { pallet: string } }) => method.pallet === 'timestamp',
  );
  set.args.now = String(time);
  const hash = (of: number) => `0x${of.toString(16).padStart(64, '0')}`;
  return {
    chain: CHAIN,
    line: JSON.stringify({
      ...block,
      number: String(number),
      hash: hash(number),
      parentHash: hash(number - 1),
    }),
  };
}

const history = Array.from({ length: DAYS }, (_, day) => blockAt(1000 + day, FIRST_DAY + day * 10 * DAY_MS));
/** Also in the first minute of a day all of these blocks are of one day. */
const madeAt = Date.now() - 60_000;
const today = new Date(madeAt).toISOString().slice(0, 10);
const fresh = [1, 2, 3].map((n) => blockAt(1000 + DAYS + n, madeAt + n));
const newest = madeAt + 10;

let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline();
});
afterAll(() => opened.close());

const blocksOfToday = async () => {
  const rows = await opened.pipeline.runtime.store.rows<{ num_blocks: number }>(
    sql`SELECT num_blocks FROM ${dailyTps.table} FINAL WHERE date = ${today}`,
  );
  return rows[0]?.num_blocks ?? 0;
};

/** What the rows of the chain claim to hold, in milliseconds. */
const asOf = async () => {
  const [row] = await opened.pipeline.runtime.store.rows<{ time: number }>(
    sql`SELECT toUnixTimestamp64Milli(as_of) AS time FROM ${computedChains} FINAL WHERE chain = ${CHAIN}`,
  );
  return row?.time ?? 0;
};

it('a block of today is computed beside the backfill that runs, before most of it', async () => {
  const { pipeline } = opened;
  const { aggregator, runtime } = pipeline;
  const { store } = runtime;
  const { run } = store;
  /** The lanes of the windows in the order in which they began, once the block of today was loaded. */
  const began: string[] = [];
  const isLive = Promise.withResolvers<void>();
  const isBackfilling = Promise.withResolvers<void>();
  store.run = async (statement) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    if (/^INSERT INTO chain_metrics\.\w+ .*version\b/s.test(text) && !text.includes(', 1 FROM')) {
      const lane = text.includes(today) && !text.includes('2020-') ? 'live' : 'backfill';
      began.push(lane);
      if (lane === 'live') isLive.resolve();
      else {
        isBackfilling.resolve();
        await isLive.promise;
      }
    }
    return run.call(store, statement);
  };
  try {
    await aggregator.pauseComputation(() => ingestLines(pipeline, history));
    await isBackfilling.promise;
    await ingestLines(pipeline, fresh.slice(0, 1));
    await expect.poll(blocksOfToday, { timeout: 60_000, interval: 10 }).toBe(1);
    const last = began.lastIndexOf('live');
    await aggregator.waitUntilComputed();
    expect(began.slice(last).filter((lane) => lane === 'backfill').length).toBeGreaterThan(10);
  } finally {
    store.run = run;
  }
});

it('a load that runs for long holds back watermarks, and no block of others', async () => {
  const { pipeline } = opened;
  const { aggregator, runtime } = pipeline;
  // As a loader of another process does.
  const member = `${sequenceAt(Date.now())}|another`;
  await runtime.keyValue.join('loading', member, 600_000);
  for (const [index, block] of fresh.entries()) {
    if (index === 0) continue;
    await ingestLines(pipeline, [block]);
    await expect.poll(blocksOfToday, { timeout: 60_000, interval: 10 }).toBe(index + 1);
  }
  const pending = async () => [...(await aggregator.pending()).keys()];
  expect(await pending()).toContain('daily_tps');
  // A block without a note may be of a load that has not ended: no answer claims it.
  const { store } = runtime;
  const { insert } = store;
  store.insert = async (table, rows) => {
    if (table.name === loadedBlocks.name) throw new Error('the note is lost');
    return insert.call(store, table, rows);
  };
  await ingestLines(pipeline, [blockAt(1000 + DAYS + 4, newest)]);
  store.insert = insert;
  await ingestLines(pipeline, [blockAt(1000 + DAYS, newest - 1)]);
  await expect.poll(blocksOfToday, { timeout: 60_000, interval: 10 }).toBe(fresh.length + 2);
  await expect.poll(asOf, { timeout: 60_000, interval: 10 }).toBe(newest - 1);
  await runtime.keyValue.leave('loading', member);
  await aggregator.waitUntilComputed();
  expect(await pending()).toEqual([]);
  // What was computed beyond the watermark is not counted again.
  expect(await blocksOfToday()).toBe(fresh.length + 2);
  expect(await asOf()).toBe(newest);
});
