/**
 * All metrics at once: made anew over a whole history, against one statement for each; and for one day of which a
 * block was replaced.
 */
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { MaterializedMetric } from '../../aggregate/metric.ts';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import type { Store } from '../../infra/ports.ts';
import { DATABASE, ident, join as joined, raw, type Sql, sql } from '../../infra/sql.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { Window } from '../../ingest/raw/canonical.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import { openPipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { History } from '../generator/history.ts';
import { ingestLines } from '../support/pipeline.ts';
import { countStatements } from '../support/statements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { writeBlockFiles } from './blocks.ts';
import { byHand, FINAL } from './by-hand.ts';
import { BENCH_SETTINGS } from './history.ts';
import { compare, type Figure, median, milliseconds, ms, readSizes, report } from './measure.ts';

const GOAL = 1.5;
const ALWAYS = { from: '2015-01-01', until: '2035-01-01' };

const sizes = readSizes();
using directory = temporaryDirectory();
const files = await writeBlockFiles(directory.path, sizes.megabytes);
const pipeline = await openPipeline(
  readConfig({ ...BENCH_SETTINGS, DATA_DIR: join(directory.path, 'store') }),
);
const { store } = pipeline.runtime;
await pipeline.aggregator.pauseComputation(async () => {
  for (const { path, name } of files) await pipeline.ingest(createReadStream(path), { name });
  // What no recording has much of: votes, contracts, regions, bounties.
  await ingestLines(pipeline, new History(1).lines);
});
await pipeline.aggregator.waitUntilComputed();

const figures = [await rebuilt(), await dirtyDays()];
await pipeline.close();
report(figures);

async function rebuilt(): Promise<Figure> {
  let windows = 0;
  const { product, peer, ratio } = await compare(
    sizes.rounds,
    () =>
      milliseconds(async () => {
        windows = await pipeline.aggregator.rebuild(materializedMetrics, ALWAYS.from, ALWAYS.until);
      }),
    () => milliseconds(() => oneStatementEach(store)),
  );
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return {
    work: `all ${materializedMetrics.length} metrics of ${(bytes / 1e6).toFixed(0)} MB of blocks, made anew`,
    peer: 'one INSERT SELECT each, over the whole history of a relay chain',
    figure: `${ms(product)} against ${ms(peer)}, ${windows} windows`,
    ratio,
    goal: `<= ${GOAL}`,
    met: ratio <= GOAL,
    details: ['of metrics that are folded in JavaScript the peer only selects what the fold is given'],
  };
}

/** The days of a relay chain at once into a plain table: no tombstones, no ledger, nothing to go on from when killed. */
async function oneStatementEach(store: Store): Promise<void> {
  for (const metric of materializedMetrics) {
    const columns = joined(
      [...Object.keys(metric.columns), ...Object.keys(metric.internal ?? {})].map((name) => ident(name)),
    );
    const table = raw(`${DATABASE}.plain_${metric.name}`);
    await store.run(
      sql`CREATE OR REPLACE TABLE ${table} AS ${metric.table} ENGINE = MergeTree ORDER BY (${raw(metric.key.join(', '))})`,
    );
    for (const relay_chain of RELAY_CHAINS) {
      const window = { relays: [relay_chain], ...ALWAYS };
      const select = selectOf(metric, window);
      const statement = metric.fold
        ? sql`SELECT * FROM (${select}) FORMAT Null`
        : sql`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM (${select})`;
      await store.run(statement);
    }
  }
}

/** As an engineer would write it, where somebody did; else as the metric has it. */
function selectOf(metric: MaterializedMetric, window: Window): Sql {
  const hand = byHand.find((one) => one.metric === metric);
  return hand ? hand.select(window, FINAL) : metric.select(window);
}

/** From a replaced block to the last of its metrics. */
async function dirtyDays(): Promise<Figure> {
  const [newest] = await store.rows<{ chain: string; number: number }>(
    sql`SELECT chain, number FROM ${blocks} FINAL WHERE chain = 'polkadot' ORDER BY number DESC LIMIT 1`,
  );
  const line = await lineOf(newest?.number ?? 0);
  const taken: number[] = [];
  let statements = 0;
  for (let round = 0; round <= sizes.rounds; round++) {
    await pipeline.aggregator.pauseComputation(async () => {
      // Another hash makes it another block; the same one would change nothing.
      const hash = `"hash":"0x${String(round).padStart(64, '0')}"`;
      const replacing = line.toString().replace(/"hash":"0x[0-9a-f]{64}"/, hash);
      await pipeline.ingest(Readable.from([Buffer.from(replacing)]), { name: 'again', chain: 'polkadot' });
      await pipeline.waitUntilLoaded();
    });
    const counted = countStatements(store);
    taken.push(await milliseconds(() => pipeline.aggregator.waitUntilComputed()));
    statements = counted.stop();
  }
  return {
    work: 'one day of which a block was replaced, all its metrics',
    peer: '',
    figure: `${ms(median(taken.slice(1)))}, ${statements} statements`,
    goal: '',
    met: true,
  };
}

async function lineOf(height: number): Promise<Buffer> {
  const file = files.find(({ name }) => name === 'polkadot.ndjson');
  if (!file) throw new Error('no blocks of polkadot were made');
  for await (const piece of createReadStream(file.path, 'utf8').compose(linesOf)) {
    if (String(piece).includes(`"number":"${height}"`)) return Buffer.from(`${piece}\n`);
  }
  throw new Error(`no block ${height} was made`);
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
