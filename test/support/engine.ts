import { Readable } from 'node:stream';
import { DATABASE } from '../../infra/clickhouse/sql.ts';
import { chains } from '../../ingest/raw/tables.ts';
import { openPipeline, type Pipeline, schema } from '../../serve/compose.ts';
import { readConfig } from '../../serve/settings.ts';
import type { InputLine } from '../reference/input.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** An engine on a directory of its own; both are gone after `close`. */
export interface TestEngine extends AsyncDisposable {
  readonly engine: Pipeline;
  close(): Promise<void>;
}

/** Suites that say nothing of a profile run on the embedded one, unless a test file names another here. */
export const testProfile: { open: () => Promise<TestEngine> } = { open: openEmbeddedEngine };

export const openTestEngine = (): Promise<TestEngine> => testProfile.open();

async function openEmbeddedEngine(): Promise<TestEngine> {
  const directory = temporaryDirectory();
  const engine = await openEngine(directory.path);
  const close = async () => {
    await engine.close();
    directory[Symbol.dispose]();
  };
  return { engine, close, [Symbol.asyncDispose]: close };
}

export function openEngine(path: string): Promise<Pipeline> {
  return openPipeline(readConfig({ DATA_DIR: path }));
}

/** Takes in lines in their order: one source for each run of lines of the same chain. */
export async function ingestLines(engine: Pipeline, lines: readonly InputLine[]): Promise<void> {
  for (const { chain, texts } of runsOfChains(lines)) {
    const name = `${chain ?? 'envelopes'}.ndjson`;
    await engine.ingest(Readable.from([Buffer.from(`${texts.join('\n')}\n`)]), {
      name,
      ...(chain ? { chain } : {}),
    });
  }
  await engine.waitUntilLoaded();
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

/** Empties every table, so that one engine serves many runs: starting one costs more than most runs. */
export async function emptyEngine(engine: Pipeline): Promise<void> {
  await engine.aggregator.waitUntilComputed();
  for (const { name, engine: kind } of [...schema.tables, ...schema.derived]) {
    if (kind !== 'Null' && name !== chains.name) {
      await engine.runtime.store.run(`TRUNCATE TABLE ${DATABASE}.${name} SYNC`);
    }
  }
  // A rebuild, even of nothing, forgets what folds were given before.
  await engine.aggregator.rebuild([], '1970-01-01', '1970-01-01');
}
