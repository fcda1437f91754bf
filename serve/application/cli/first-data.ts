import { fileURLToPath } from 'node:url';
import { isoDay } from '../../../infra/days.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { DemoHistory, firstDemoDay } from '../../../ingest/demo/history.ts';
import { type DemoMark, readDemoMark, writeDemoMark } from '../../../ingest/demo/mark.ts';
import { DayStream } from '../../../ingest/demo/stream.ts';
import { isEmpty } from '../../../ingest/raw/is-empty.ts';
import { blocks, deadLetters, snapshots } from '../../../ingest/raw/tables.ts';
import type { Input } from '../../../ingest/sources/input-files.ts';
import { decompress, readLines } from '../../../ingest/sources/lines.ts';
import type { Pipeline } from '../compose/compose.ts';
import type { OperationClient } from '../operations/client.ts';
import { openDisplay } from './display.ts';
import { plural } from './format.ts';
import { failureText, ingestInputs, loadInputs, showComputation } from './ingest-inputs.ts';
import { findInputs } from './inputs.ts';

/** Data that `start` loads into an empty store: recorded blocks, for `demo` also a generated history. */
export type FirstData = 'sample' | 'demo';

const SAMPLE = fileURLToPath(new URL('../../../ingest/sample', import.meta.url));
/** A history is continued only if it ended at least this long ago. */
const FRESH_MS = 3_600_000;

type Say = (text: string) => void;

export async function loadSample({ runtime }: Pipeline, client: OperationClient, say: Say): Promise<void> {
  if ((await readDemoMark(runtime.store)) !== null || !(await isEmpty(runtime.store))) {
    say(`${runtime.location} contains data, so the sample was not loaded.\n`);
    return;
  }
  const inputs = await findInputs([SAMPLE]);
  say(
    `${runtime.location} is empty: loading the sample, recorded blocks of ${plural(inputs.length, 'chain')}.\n`,
  );
  const report = await ingestInputs(client, inputs, undefined, openDisplay(process.stderr));
  const chains = await client.call('coverage', {});
  const days = chains
    .flatMap(({ first_day, last_day }) => [first_day, last_day])
    .filter((day) => day !== null)
    .sort();
  say(
    `Loaded ${plural(report.blocks, 'block')} of ${chains.map(({ chain }) => chain).join(', ')}, ` +
      `from ${days[0]} to ${days.at(-1)}. They are single blocks, not whole days.\n`,
  );
}

export interface BackgroundLoad {
  /** Resolves if the blocks are loaded. The store must not be closed before. */
  readonly loaded: Promise<unknown>;
  /** Resolves if every metric is computed too. */
  readonly ready: Promise<void>;
}

/**
 * Marks a store as demo data before the server answers, and returns the function that loads them. Each attempt generates
 * the same lines, so after a kill the load is repeated completely, and a later start adds the days since. Returns null if
 * the store contains anything but the sample: real data and demo data are never mixed.
 */
export async function prepareDemo(
  { runtime, registry, config }: Pipeline,
  say: Say,
): Promise<((client: OperationClient, say: Say, signal: AbortSignal) => BackgroundLoad) | null> {
  const { store, clock, location } = runtime;
  if (config.PROFILE === 'distributed')
    throw refused('--demo works only with the embedded profile: unset PROFILE, or start without --demo');
  const existing = await readDemoMark(store);
  if (existing === null && !(await containsOnlySample(store))) {
    say(
      `${location} contains your own data, so no demo data were loaded. To see them, set DATA_DIR to an empty directory.\n`,
    );
    return null;
  }
  if (config.FOLLOW.length > 0)
    throw refused('--demo and FOLLOW exclude each other: unset FOLLOW, or start without --demo');
  const now = clock.now();
  const mark: DemoMark = existing ?? { first_day: firstDemoDay(now), loaded_until: null };
  if (existing === null) await writeDemoMark(store, mark);
  const until = mark.loaded_until === null ? null : Date.parse(mark.loaded_until);
  return (client, say, signal) => {
    if (until !== null && now - until < FRESH_MS) return NOTHING_TO_LOAD;
    const from = until === null ? mark.first_day : isoDay(until);
    say(
      `Generating demo data from ${from} until now. They are made up, and every page of metrics says so.\n`,
    );
    const days = new DemoHistory({ firstDay: mark.first_day, now, registry }).days(from);
    const stream = new DayStream(days, signal);
    const generated: Input = { name: 'demo.ndjson', size: null, open: () => stream };
    const display = openDisplay(process.stderr);
    const load = async () => {
      const recorded = until === null ? await findInputs([SAMPLE]) : [];
      return loadInputs(client, [...recorded, generated], { demo: true }, display);
    };
    const loaded = load();
    const ready = loaded.then(async ({ blocks }) => {
      if (signal.aborted) return;
      const failed = await showComputation(client, display);
      await writeDemoMark(store, { ...mark, loaded_until: new Date(now).toISOString() });
      say(`${failureText(failed)}Demo data are ready: ${plural(blocks, 'block')}.\n`);
    });
    return { loaded, ready };
  };
}

const NOTHING_TO_LOAD: BackgroundLoad = { loaded: Promise.resolve(), ready: Promise.resolve() };

const refused = (text: string) => new ProductError('usage', text);

/** Whether the store contains no blocks, snapshots or dead letters except blocks of the sample. */
async function containsOnlySample(store: Store): Promise<boolean> {
  if (await isEmpty(store)) return true;
  const hashes = await sampleHashes();
  const [row] = await store.rows<{ others: number }>(
    sql`SELECT (SELECT count() FROM ${blocks} WHERE hash NOT IN ${hashes})
      + (SELECT count() FROM ${snapshots}) + (SELECT count() FROM ${deadLetters}) AS others`,
  );
  return row?.others === 0;
}

async function sampleHashes(): Promise<string[]> {
  const hashes: string[] = [];
  for (const input of await findInputs([SAMPLE])) {
    const bytes = decompress(input.name, input.open(), LINE_BYTES_MAX);
    for await (const { bytes: line } of readLines(bytes, LINE_BYTES_MAX)) {
      const { hash, payload } = JSON.parse(line.toString('utf8'));
      hashes.push(hash ?? payload.hash);
    }
  }
  return hashes;
}

const LINE_BYTES_MAX = 2 ** 20;
