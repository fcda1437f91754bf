import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountHistory } from '../../../aggregate/metrics/activity/account-history.ts';
import { ROLE } from '../../../aggregate/metrics/activity/account-hour.ts';
import { readCoverage, readStatus } from '../../../aggregate/status/status.ts';
import type { Store } from '../../../infra/ports.ts';
import { raw, type Sql, sql } from '../../../infra/sql.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import type { Pipeline } from '../../../serve/application/compose/compose.ts';
import { ALICE, madeBlock, madeEvent, madeExtrinsic } from '../../ingest/made.ts';
import { writeHistory } from '../../support/made-history.ts';
import { ingestLines, openTestPipeline } from '../../support/pipeline.ts';
import { countStatements } from '../../support/statements.ts';

// Over a history of years, a live round reads the parts of its own month only, and of a busy day its own hours.

const HISTORY = {
  blocks: 4000,
  chains: ['polkadot'],
  relay_chain: 'polkadot',
  from: '2022-06-01',
  days: 1200,
};
const LIVE = 100_000;
/** A day with far more rows than a granule has, whose last hour is live. */
const BUSY = {
  blocks: 200_000,
  chains: ['kusama'],
  relay_chain: 'kusama',
  from: '2026-01-05',
  days: 1,
};
const ACCOUNTS = 200_000;
/** Far more than the rows of the live blocks and of the small tables, far less than those of the history. */
const ROWS_MAX = 1000;
/** More than the parts of a few months, less than the months of the history. */
const PARTS_MAX = 20;

let pipeline: Pipeline;
let close: () => Promise<void>;
const statements: string[] = [];
beforeAll(async () => {
  ({ pipeline, close } = await openTestPipeline());
  await writeHistory(pipeline.runtime.store, HISTORY);
  await writeAccounts(pipeline.runtime.store);
  // The first round reads nothing that a later one would not, but its readers have no cached answer yet.
  await ingestLines(pipeline, [block(LIVE)]);
  await pipeline.aggregator.waitUntilComputed();
  await readStatus(pipeline.runtime, pipeline.aggregator);
});
afterAll(() => close());

/** Accounts of a year that no later block names. */
const writeAccounts = (store: Store) =>
  store.run(sql`INSERT INTO ${accountHistory.table}
      (relay_chain, chain, hour, roles, account, life_block, life_event, is_life, version)
    SELECT 'polkadot', 'polkadot', toDateTime64('2023-01-01', 3, 'UTC') + toIntervalHour(number % 8760),
      ${ROLE.created | ROLE.endsAlive}, concat(sipHash128(number), sipHash128(number + 1)), number, 1,
      arrayJoin([0, 1]), 1
    FROM numbers(${ACCOUNTS})`);

/** Blocks are six seconds apart unless their time is told. */
const block = (number: number, amount = '1', chain = 'polkadot', time?: string) => {
  const line = JSON.stringify(
    madeBlock(number, [
      madeExtrinsic('balances.transferKeepAlive', {
        signature: { signer: { id: ALICE } },
        events: [madeEvent('balances.Transfer', ALICE, ALICE, amount)],
      }),
    ]),
  );
  const moved = time === undefined ? line : line.replace(/"now":"\d+"/, `"now":"${Date.parse(time)}"`);
  return { line: moved, chain };
};

/** Keeps the text of every statement that reads. */
function record(store: Store): () => void {
  const { rows, bytes, run } = store;
  const noted = <Statement extends Sql | string>(statement: Statement): Statement => {
    const text = typeof statement === 'string' ? statement : statement.text;
    if (/\bSELECT\b/.test(text)) statements.push(text.replace(/^\s*INSERT INTO [^(]+\([^)]*\)\s*/, ''));
    return statement;
  };
  const wrapped: Pick<Store, 'rows' | 'bytes' | 'run'> = {
    rows: (statement, options) => rows.call(store, noted(statement), options) as Promise<never[]>,
    bytes: (statement, format, options) => bytes.call(store, noted(statement), format, options),
    run: (statement) => run.call(store, noted(statement)),
  };
  Object.assign(store, wrapped);
  return () => Object.assign(store, { rows, bytes, run });
}

async function statementsOf(store: Store, work: () => Promise<void>): Promise<number> {
  const counted = countStatements(store);
  await work();
  return counted.stop();
}

/** Statements that read more rows than that, cut to what tells them apart. */
async function readingMore(store: Store, texts: readonly string[], rowsMax = ROWS_MAX): Promise<string[]> {
  const tooMany: string[] = [];
  for (const text of texts) {
    const [, select = text, settings] = /^([\s\S]*?)(?:\s+SETTINGS ([^)]*))?$/.exec(text) ?? [];
    const limited = `${select} SETTINGS ${settings ? `${settings}, ` : ''}max_rows_to_read = ${rowsMax} FORMAT Null`;
    await store.run(limited).catch((error) => {
      tooMany.push(`${(error as { detail?: string }).detail?.slice(0, 200)}\n${text}`);
    });
  }
  return tooMany;
}

/** The parts of one table, at most, in which a statement looks for rows by its key. */
async function partsAsked(store: Store, text: string): Promise<number> {
  const plan = await store.rows<{ explain: string }>(raw(`EXPLAIN indexes = 1 ${text}`));
  const counts = plan.map(({ explain }) => Number(/Parts: \d+\/(\d+)/.exec(explain)?.[1] ?? 0));
  return Math.max(...counts);
}

/** How many granules of a table each read of a statement searches by its key. */
async function granulesAsked(store: Store, text: string, table: string): Promise<number[]> {
  const plan = await store.rows<{ explain: string }>(raw(`EXPLAIN indexes = 1 ${text}`));
  const reads = plan
    .map(({ explain }) => explain)
    .join('\n')
    .split('ReadFromMergeTree (');
  return reads
    .filter((read) => read.startsWith(`chain_metrics.${table})`))
    .map((read) => Number(/PrimaryKey[\s\S]*?Granules: \d+\/(\d+)/.exec(read)?.[1] ?? 0));
}

test('every statement of a live round, of the load and of the status reads few rows of many', async () => {
  const { store } = pipeline.runtime;
  const stop = record(store);
  await ingestLines(pipeline, [block(LIVE + 1)]);
  await pipeline.aggregator.waitUntilComputed();
  // A replaced block: what was stored of its height is looked up.
  await ingestLines(pipeline, [block(LIVE + 1, '2')]);
  await pipeline.aggregator.waitUntilComputed();
  // The same again: what was loaded of its height is looked up.
  await ingestLines(pipeline, [block(LIVE + 1, '2')]);
  await readStatus(pipeline.runtime, pipeline.aggregator);
  await readCoverage(store, pipeline.registry);
  stop();
  expect(statements.length).toBeGreaterThan(20);
  expect(await readingMore(store, statements)).toEqual([]);
  const ofAllMonths = sql`SELECT 1 WHERE 1 IN (SELECT number FROM ${blocks} FINAL)`.text;
  expect(await readingMore(store, [ofAllMonths])).toHaveLength(1);
  // A parent may be in any month, yet its height is looked up in those beside the live hours alone.
  const ofUptimes = statements.filter((text) => text.includes('lagInFrame'));
  expect(ofUptimes.length).toBeGreaterThan(0);
  for (const text of ofUptimes) expect(await partsAsked(store, text)).toBeLessThan(PARTS_MAX);
  expect(await partsAsked(store, ofAllMonths)).toBeGreaterThan(PARTS_MAX);
  // Whether an account lives is known from all years, whether it has acted in a month from that month.
  const ofAccounts = statements.filter((text) => text.includes('first_active'));
  expect(ofAccounts.length).toBeGreaterThan(0);
  for (const text of ofAccounts) {
    const [fewest, most] = (await granulesAsked(store, text, accountHistory.name)).sort((a, b) => a - b);
    expect(fewest).toBeLessThan(10);
    expect(most).toBeGreaterThan(ACCOUNTS / 128);
  }
});

test('no statement of a live hour reads the rest of a busy day', async () => {
  const { store } = pipeline.runtime;
  await writeHistory(store, BUSY);
  const round = async (number: number) => {
    await ingestLines(pipeline, [block(number, '1', 'kusama', `${BUSY.from}T23:30:00Z`)]);
    await pipeline.aggregator.waitUntilComputed();
  };
  // The first one has no hours before it.
  await round(BUSY.blocks);
  statements.length = 0;
  const stop = record(store);
  await round(BUSY.blocks + 1);
  stop();
  expect(await readingMore(store, statements, BUSY.blocks)).toEqual([]);
  const ofTheDay = sql`SELECT 1 WHERE 1 IN (SELECT number FROM ${blocks} WHERE relay_chain = 'kusama')`.text;
  expect(await readingMore(store, [ofTheDay], BUSY.blocks)).toHaveLength(1);
});

test('a round of one block takes few statements, and nothing new takes one empty round', async () => {
  const { runtime, aggregator } = pipeline;
  const { store } = runtime;
  const settle = () => aggregator.waitUntilComputed();
  await settle();
  // A round, and what fails.
  expect(await statementsOf(store, settle)).toBeLessThanOrEqual(3 + 1);
  const loadAndCompute = (height: number) => async () => {
    await aggregator.pauseComputation(() => ingestLines(pipeline, [block(height)]));
    await settle();
  };
  // On a busy machine a round that finds nothing new can run beside one of them.
  const counts: number[] = [];
  for (const height of [LIVE + 2, LIVE + 3, LIVE + 4])
    counts.push(await statementsOf(store, loadAndCompute(height)));
  // Some 80 on a quiet machine; each look for newer days, of which a busy one makes several, adds three.
  expect(Math.min(...counts)).toBeLessThanOrEqual(100);
});
