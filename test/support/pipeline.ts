import { cpSync, existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { aggregateModule } from '../../aggregate/composition/module.ts';
import { materializedMetrics } from '../../aggregate/metrics/index.ts';
import { ledgerTables } from '../../aggregate/runner/ledger.ts';
import type { Clock } from '../../infra/ports.ts';
import { DATABASE } from '../../infra/sql.ts';
import { ingestModule } from '../../ingest/module.ts';
import { chains } from '../../ingest/raw/tables.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import type { InputLine } from '../reference/input.ts';
import { scratchOfRun } from './scratch.ts';
import { type TemporaryDirectory, temporaryDirectory } from './temporary-directory.ts';
import { testConfig } from './test-config.ts';

/** A pipeline on a directory of its own; both are gone after `close`. */
export interface TestPipeline extends AsyncDisposable {
  readonly pipeline: Pipeline;
  close(): Promise<void>;
}

type Settings = Readonly<Record<string, string>>;

/** Suites that say nothing of a profile run on the embedded one, unless a test file names another here. */
export const testProfile: { open: (clock?: Clock, settings?: Settings) => Promise<TestPipeline> } = {
  open: openEmbeddedEngine,
};

export const openTestPipeline = (clock?: Clock, settings?: Settings): Promise<TestPipeline> =>
  testProfile.open(clock, settings);

/** A clock that is started at a time: which days are the last ones does not depend on when a test runs. */
export function clockFrom(time: string): Clock {
  const offset = Date.parse(time) - Date.now();
  return { now: () => Date.now() + offset };
}

/** The recorded blocks of runtimes are of the day before; all others are older. */
export const AFTER_RECORDING = '2026-11-22T12:00:00Z';
/** No recorded block is of the last days. */
export const LONG_AFTER_RECORDING = '2027-06-01T12:00:00Z';

async function openEmbeddedEngine(clock?: Clock, settings?: Settings): Promise<TestPipeline> {
  const directory = await readyDirectory();
  const pipeline = await openPipelineAt(directory.path, clock, settings);
  const close = async () => {
    await pipeline.close();
    directory[Symbol.dispose]();
  };
  return { pipeline, close, [Symbol.asyncDispose]: close };
}

/** An empty data directory whose tables are there already: a copy of the first one of the run. */
export async function readyDirectory(): Promise<TemporaryDirectory> {
  const directory = temporaryDirectory();
  const scratch = scratchOfRun();
  if (scratch === null) return directory;
  const ready = join(scratch, 'ready');
  if (!existsSync(ready)) {
    using first = temporaryDirectory();
    const made = join(first.path, 'made');
    await (await openPipelineAt(made)).close();
    try {
      renameSync(made, ready);
    } catch (error) {
      // Another process may have been quicker.
      if (!existsSync(ready)) throw error;
    }
  }
  cpSync(ready, directory.path, { recursive: true, verbatimSymlinks: true });
  return directory;
}

/** A busy machine must not make a server refuse what a test asks. */
export const PATIENT: Settings = { ANONYMOUS_STORE_SECONDS: '0', EVENT_LOOP_DELAY_MS_MAX: '0' };

export function openPipelineAt(path: string, clock?: Clock, more: Settings = {}): Promise<Pipeline> {
  const settings = { DATA_DIR: path, ...PATIENT, ...more };
  return openPipeline(testConfig(settings), clock && { clock });
}

/** Ingests lines in their order: one source for each run of lines of the same chain, all of them as one ingest. */
export async function ingestLines(pipeline: Pipeline, lines: readonly InputLine[]): Promise<void> {
  const sources = runsOfChains(lines).map(({ chain, texts }) => ({
    name: `${chain ?? 'envelopes'}.ndjson`,
    bytes: Readable.from([Buffer.from(`${texts.join('\n')}\n`)]),
    ...(chain ? { chain } : {}),
  }));
  await pipeline.ingestAll(sources, {});
  await pipeline.waitUntilLoaded();
}

/** The same, and every metric is computed when it returns: once, however many sources there are. */
export async function ingestAndCompute(pipeline: Pipeline, lines: readonly InputLine[]): Promise<void> {
  await pipeline.aggregator.pauseComputation(() => ingestLines(pipeline, lines));
  await pipeline.aggregator.waitUntilComputed();
}

function runsOfChains(lines: readonly InputLine[]): { chain: string | undefined; texts: string[] }[] {
  const runs: { chain: string | undefined; texts: string[] }[] = [];
  for (const { line, chain } of lines) {
    const open = runs.at(-1);
    if (open && open.chain === chain) open.texts.push(line);
    else runs.push({ chain, texts: [line] });
  }
  return runs;
}

/** Empties the tables of ingest and aggregation, so that one pipeline serves many runs: opening one costs more. */
export async function emptyPipeline(pipeline: Pipeline): Promise<void> {
  await pipeline.aggregator.waitUntilComputed();
  for (const { name } of [...ingestModule.tables, ...ledgerTables, ...aggregateModule.derivedTables]) {
    if (name === chains.name) continue;
    await pipeline.runtime.store.run(`TRUNCATE TABLE ${DATABASE}.${name} SYNC`);
  }
  // A rebuild, even of nothing, forgets what folds were given before.
  await pipeline.aggregator.rebuild(materializedMetrics, '1970-01-01', '1970-01-01');
}
