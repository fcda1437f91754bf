/**
 * A round that computes one new block each of 24 chains, on a day that has many blocks of 50 chains already: statements
 * and processor time should not depend on how many.
 *
 *     npx node test/bench/round.ts 4000 40000 170000
 *
 * `--hours 0.5` puts these blocks into so many hours before the new ones; they are spread over the day otherwise.
 * `--history 100000000` does the same once more on top of a history of 1,500 days with so many extrinsics, computed too.
 * `--statements` also tells what each statement of the last round costs alone.
 */
import { Readable } from 'node:stream';
import { parseArgs } from 'node:util';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { palletsOf } from '../../aggregate/runner/dirty-days.ts';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import { raw, sql } from '../../infra/sql.ts';
import type { Chain } from '../../ingest/chains/chain.ts';
import { hourSql } from '../../ingest/raw/canonical.ts';
import { blocks, calls, dirtyDays, dirtyHours, events, extrinsics } from '../../ingest/raw/tables.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { readConfig } from '../../serve/settings/settings.ts';
import { writeHistory } from '../support/made-history.ts';
import { ingestLines } from '../support/pipeline.ts';
import { recordedBlockAt, recordedLines } from '../support/recordings.ts';
import { countStatements } from '../support/statements.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { BENCH_SETTINGS } from './history.ts';
import { type Figure, median, mergesEnd, ms, report } from './measure.ts';
import { costsOf } from './statement-costs.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    hours: { type: 'string', default: '24.5' },
    history: { type: 'string', default: '0' },
    statements: { type: 'boolean', default: false },
  },
});
const CHAINS = 50;
const NEW_BLOCKS = 24;
const SHOWN_CHARS = 160;
/** Later than everything recorded, and earlier than the live days, whose rounds begin while blocks are loaded. */
const DAY = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10);
/** The blocks of a day end here: an hour with blocks in it, and new ones after them. */
const LAST_MS = Date.parse(`${DAY}T23:30:00Z`);
/** By default every chain has blocks of the day before. */
const FIRST_MS = LAST_MS - Number(values.hours) * 3_600_000;
const FIRST_HEIGHT = 20_000_000;
const HISTORY_DAYS = 1500;
const EXTRINSICS_PER_BLOCK = 10;
const HISTORY_PARTS = 50;
const SECONDS_GOAL = 6;
const HISTORY_GOAL = 1.2;
/** What is written into the tables directly, with no load to note its pallets, is dirty for all metrics. */
const PALLETS = palletsOf(materializedMetrics);

const figures: Figure[] = [];
const sizes = positionals.length > 0 ? positionals.map(Number) : [4000, 40_000];
const history = Number(values.history);
for (const size of sizes) {
  const alone = await measured(size, 0);
  if (history === 0) continue;
  const ratio = (await measured(size, history)) / alone;
  figures.push({
    work: 'the same behind the history',
    peer: 'without it',
    figure: `${HISTORY_DAYS} days, ${history.toLocaleString('en')} extrinsics`,
    ratio,
    goal: `<= ${HISTORY_GOAL}`,
    met: ratio <= HISTORY_GOAL,
  });
}
report(figures);

/** Seconds of processor time that a round takes. */
async function measured(size: number, extrinsicsBefore: number): Promise<number> {
  using directory = temporaryDirectory();
  const pipeline = await openPipeline(readConfig({ ...BENCH_SETTINGS, DATA_DIR: directory.path }));
  await fillDay(pipeline, size);
  if (extrinsicsBefore > 0) await fillHistory(pipeline, extrinsicsBefore);
  const rounds: { statements: readonly string[]; seconds: number }[] = [];
  for (let round = 0; round <= Number(values.rounds); round++) rounds.push(await newBlocks(pipeline, round));
  const costs = values.statements ? await costsOf(directory.path, rounds.at(-1)?.statements ?? []) : [];
  await pipeline.close();
  const seconds = median(rounds.slice(1).map((one) => one.seconds));
  const statements = median(rounds.slice(1).map((one) => one.statements.length));
  figures.push({
    work: `${NEW_BLOCKS} new blocks after ${size.toLocaleString('en')} blocks in ${values.hours} hours of ${CHAINS} chains${extrinsicsBefore > 0 ? ', behind the history' : ''}`,
    peer: '',
    figure: `${statements} statements, ${seconds.toFixed(2)} s of processor time`,
    goal: `<= ${SECONDS_GOAL} s`,
    met: seconds <= SECONDS_GOAL,
    details: costs.map(
      ({ text, rows, bytes, processorMs }) =>
        `${ms(processorMs)}, ${rows} rows, ${(bytes / 1e6).toFixed(1)} MB: ${text.replaceAll(/\s+/g, ' ').slice(0, SHOWN_CHARS)}`,
    ),
  });
  return seconds;
}

/** Writes a history of the chains that ends before the day, and has all metrics computed of it. */
async function fillHistory(pipeline: Pipeline, extrinsicsBefore: number): Promise<void> {
  const { store } = pipeline.runtime;
  const blocksBefore = extrinsicsBefore / EXTRINSICS_PER_BLOCK;
  const daysOfPart = HISTORY_DAYS / HISTORY_PARTS;
  const chains = Map.groupBy(chainsOf(pipeline).slice(0, CHAINS), ({ relay_chain }) => relay_chain);
  for (let part = 0; part < HISTORY_PARTS; part++) {
    const [from, until] = [part, part + 1].map((n) => dayBefore(HISTORY_DAYS + 1 - n * daysOfPart)) as [
      string,
      string,
    ];
    await pipeline.aggregator.pauseComputation(async () => {
      for (const [relay_chain, some] of chains) {
        const ofPart = Math.ceil((blocksBefore * some.length) / CHAINS / HISTORY_PARTS);
        const made = { relay_chain, chains: some.map(({ name }) => name), extrinsics: EXTRINSICS_PER_BLOCK };
        await writeHistory(store, { ...made, blocks: ofPart, from, days: daysOfPart, first: part * ofPart });
      }
      await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
        SELECT 'blocks', arrayJoin(${PALLETS}), relay_chain, chain, toDate(assumeNotNull(time)) AS day, ${sequenceAt(Date.now())}
        FROM ${blocks} WHERE time >= ${`${from} 00:00:00`} AND time < ${`${until} 00:00:00`}
        GROUP BY relay_chain, chain, day`);
    });
    await pipeline.aggregator.waitUntilComputed();
    process.stderr.write(`history: ${part + 1} of ${HISTORY_PARTS} parts are computed\n`);
  }
  await mergesEnd(store);
}

function dayBefore(days: number): string {
  return new Date(Date.parse(DAY) - days * 86_400_000).toISOString().slice(0, 10);
}

function chainsOf({ registry }: Pipeline): readonly Chain[] {
  return registry.chains.filter(({ relay_chain }) => relay_chain !== 'westend');
}

/** Copies of the recorded blocks, spread evenly over the chains and the day; written by the engine itself. */
async function fillDay(pipeline: Pipeline, size: number): Promise<void> {
  const { store } = pipeline.runtime;
  await pipeline.aggregator.pauseComputation(async () => {
    await ingestLines(pipeline, [...recordedLines('blocks'), ...recordedLines('runtime')]);
    const recorded = await store.rows<{ rank: string }>(
      sql`SELECT toString(rank) AS rank FROM ${blocks} FINAL`,
    );
    const copies = Math.ceil(size / recorded.length);
    const names = chainsOf(pipeline).slice(0, CHAINS);
    const list = raw(`[${names.map(({ relay_chain, name }) => `('${relay_chain}', '${name}')`).join(', ')}]`);
    const stepMs = Math.floor((LAST_MS - FIRST_MS) / Math.ceil(((copies + 1) * recorded.length) / CHAINS));
    const ranks = raw(`[${recorded.map(({ rank }) => `toUInt128('${rank}')`).join(', ')}]`);
    // The same for all rows of a block: chain, height, time and rank of its copy. The heights of a chain follow one another.
    const place = raw(`(copy * ${recorded.length} + indexOf(${ranks.text}, recorded.rank) - 1)`);
    const copied = sql`${list}[1 + ${place} % ${CHAINS}] AS home, home.1 AS relay_chain, home.2 AS chain,
      intDiv(${place}, ${CHAINS}) AS step, ${FIRST_HEIGHT} + step AS number,
      fromUnixTimestamp64Milli(toInt64(${FIRST_MS} + step * ${stepMs}), 'UTC') AS time,
      bitOr(bitShiftLeft(toUInt128(1), 127), bitOr(bitShiftLeft(toUInt128(cityHash64(recorded.rank, copy)), 63), 1)) AS rank`;
    const ofBlock = { hash: 'toString(number) AS hash', parent_hash: 'toString(number - 1) AS parent_hash' };
    for (const table of [blocks, extrinsics, events, calls]) {
      const copiedColumns = ['run', 'relay_chain', 'chain', 'number', 'time', 'rank'];
      const others = Object.keys(table.columns).filter((name) => !copiedColumns.includes(name));
      const made: Record<string, string> = table === blocks ? ofBlock : {};
      const named = raw(`relay_chain, chain, number, time, rank, ${others.join(', ')}`);
      // A chain sells cores once in weeks: thousands of sales in a day would be folded in each round.
      const isCopied = raw(table === events || table === calls ? `pallet != 'broker'` : '1');
      await store.run(sql`INSERT INTO ${table} (${named}) SELECT ${named} FROM (
        SELECT ${copied}, ${raw(others.map((name) => made[name] ?? `recorded.${name} AS ${name}`).join(', '))}
        FROM (SELECT * FROM ${table} WHERE ${isCopied} AND rank IN ${ranks}) AS recorded
        CROSS JOIN (SELECT number AS copy FROM numbers(1, ${copies})) AS copies)`);
    }
    // As a load of these blocks marks them.
    await store.run(sql`INSERT INTO ${dirtyHours} (pallet, relay_chain, chain, hour, sequence)
      SELECT '', relay_chain, chain, ${hourSql('assumeNotNull(time)')} AS hour, 1
      FROM ${blocks} WHERE isNotNull(time) GROUP BY relay_chain, chain, hour`);
    await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
      SELECT 'blocks', arrayJoin(${PALLETS}), relay_chain, chain, toDate(assumeNotNull(time)) AS day, 1
      FROM ${blocks} WHERE isNotNull(time) GROUP BY relay_chain, chain, day`);
  });
  await pipeline.aggregator.waitUntilComputed();
  await mergesEnd(store);
}

/** Loads a block of each of some chains and computes; the load is not counted. */
async function newBlocks(
  pipeline: Pipeline,
  round: number,
): Promise<{ statements: readonly string[]; seconds: number }> {
  const recorded = recordedLines('blocks');
  const chains = chainsOf(pipeline);
  const lines = Array.from({ length: NEW_BLOCKS }, (_, i) => {
    const { line } = recorded[(i * 23) % recorded.length] as { line: string };
    const chain = chains[(i * 2 + (round % 2)) % CHAINS]?.name;
    const height = 950_000_000 + round * 100 + i;
    const time = LAST_MS + round * 6000 + i;
    const hash = (of: number) => `0x${of.toString(16).padStart(64, '0')}`;
    const payload = recordedBlockAt(line, { height, time, hash });
    return `{"schema":"block/1","chain":"${chain}","payload":${payload}}`;
  });
  const statements: string[] = [];
  let counted: ReturnType<typeof countStatements> | undefined;
  let before = process.cpuUsage();
  await pipeline.aggregator.pauseComputation(async () => {
    await pipeline.ingest(Readable.from([Buffer.from(`${lines.join('\n')}\n`)]), { name: 'new' });
    await pipeline.waitUntilLoaded();
    await mergesEnd(pipeline.runtime.store);
    // The round begins when computing is no longer paused.
    counted = countStatements(pipeline.runtime.store, (statement) => statements.push(statement));
    before = process.cpuUsage();
  });
  await pipeline.aggregator.waitUntilComputed();
  const { user, system } = process.cpuUsage(before);
  counted?.stop();
  return { statements, seconds: (user + system) / 1e6 };
}
