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
import { decompressed, readLines } from '../../../ingest/sources/lines.ts';
import type { Pipeline } from '../compose/compose.ts';
import type { OperationClient } from '../operations/client.ts';
import { openDisplay } from './display.ts';
import { failedWords, ingestInputs, loadInputs, showComputation } from './ingest-inputs.ts';
import { findInputs } from './inputs.ts';
import { plural } from './words.ts';

/** What a start can load first: recorded blocks, or these and a made-up history beside them. */
export type FirstData = 'sample' | 'demo';

const SAMPLE = fileURLToPath(new URL('../../../ingest/sample', import.meta.url));
/** A history that ended less than this before now is not continued. */
const FRESH_MS = 3_600_000;

type Say = (text: string) => void;

export async function loadSample({ runtime }: Pipeline, client: OperationClient, say: Say): Promise<void> {
  if ((await readDemoMark(runtime.store)) !== null || !(await isEmpty(runtime.store))) {
    say(`${runtime.location} holds data already: the sample is not loaded.\n`);
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

/** Loading in the background. A store must not be closed before it is over; computing may be interrupted. */
export interface BackgroundLoad {
  readonly loaded: Promise<unknown>;
  /** Resolves when every metric is computed too. */
  readonly ready: Promise<void>;
}

/**
 * Marks a store as one of demo data, before anybody can read it; returns what loads them, until the signal. Loading makes
 * the same lines at each attempt, so it is repeated whole after a kill, and a later start adds the days since. Returns
 * null, and says so, where the store holds anything but the sample: what was measured is served, and never mixed with
 * what was made up.
 */
export async function prepareDemo(
  { runtime, registry, config }: Pipeline,
  say: Say,
): Promise<((client: OperationClient, say: Say, signal: AbortSignal) => BackgroundLoad) | null> {
  const { store, clock, location } = runtime;
  if (config.PROFILE === 'distributed') throw refused('--demo: demo data are for the embedded profile');
  const known = await readDemoMark(store);
  if (known === null && !(await holdsOnlySample(store))) {
    say(
      `${location} holds data of your own: they are served, without demo data. Demo data need an empty DATA_DIR.\n`,
    );
    return null;
  }
  if (config.FOLLOW.length > 0) throw refused('--demo: FOLLOW would add measured blocks to demo data');
  const now = clock.now();
  const mark: DemoMark = known ?? { first_day: firstDemoDay(now), loaded_until: null };
  if (known === null) await writeDemoMark(store, mark);
  const until = mark.loaded_until === null ? null : Date.parse(mark.loaded_until);
  return (client, say, signal) => {
    if (until !== null && now - until < FRESH_MS) return NOTHING_DUE;
    const from = until === null ? mark.first_day : isoDay(until);
    say(`Making demo data, from ${from} until now. They are made up, and every page of metrics says so.\n`);
    const days = new DemoHistory({ firstDay: mark.first_day, now, registry }).days(from);
    const stream = new DayStream(days, signal);
    const made: Input = { name: 'demo.ndjson', size: null, open: () => stream };
    const display = openDisplay(process.stderr);
    const load = async () => {
      const recorded = until === null ? await findInputs([SAMPLE]) : [];
      return loadInputs(client, [...recorded, made], { demo: true }, display);
    };
    const loaded = load();
    const ready = loaded.then(async ({ blocks }) => {
      if (signal.aborted) return;
      const failed = await showComputation(client, display);
      await writeDemoMark(store, { ...mark, loaded_until: new Date(now).toISOString() });
      say(`${failedWords(failed)}Demo data are ready: ${plural(blocks, 'block')}.\n`);
    });
    return { loaded, ready };
  };
}

const NOTHING_DUE: BackgroundLoad = { loaded: Promise.resolve(), ready: Promise.resolve() };

const refused = (text: string) => new ProductError('usage', text);

/** Whether everything that was ever ingested are blocks of the sample. */
async function holdsOnlySample(store: Store): Promise<boolean> {
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
    const bytes = decompressed(input.name, input.open(), LINE_BYTES_MAX);
    for await (const { bytes: line } of readLines(bytes, LINE_BYTES_MAX)) {
      const { hash, payload } = JSON.parse(line.toString('utf8'));
      hashes.push(hash ?? payload.hash);
    }
  }
  return hashes;
}

const LINE_BYTES_MAX = 2 ** 20;
