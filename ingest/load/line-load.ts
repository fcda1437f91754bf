import { setTimeout } from 'node:timers/promises';
import { ProductError } from '../../infra/errors.ts';
import type { Numbers, Runtime, StagedBatch } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { type DeadLetter, deadLetterOf } from '../dead-letters/dead-letters.ts';
import { type Stream, TOPICS } from '../log/topics.ts';
import { blocksIn } from '../raw/block-landing.ts';
import { readLandingHead } from '../raw/landing-lines.ts';
import { removePartlyStored } from '../raw/partly-stored.ts';
import type { ChainHour } from '../raw/replaced-hours.ts';
import { snapshotsIn } from '../raw/views/snapshots.ts';
import type { LandingLine, ReadMessage } from './prepare-batch.ts';

export const LANDING_TABLES = { blocks: blocksIn, snapshots: snapshotsIn } as const;

export const headsOf = <Line extends Pick<ReadMessage, 'head'>>(lines: readonly Line[]) =>
  lines.map(({ head }) => head);

/** Waits before retries of a line that the store neither loads nor refuses. */
const SUSPECT_WAITS_MS = [500, 2000];

interface LineLoad {
  readonly runtime: Pick<Runtime, 'store'>;
  readonly numbers: Numbers;
  readonly stream: Stream;
  readonly line: LandingLine;
  readonly staged: StagedBatch;
  readonly failure: ProductError;
  /** First sequences of the failed commits of the line. */
  readonly tried: readonly bigint[];
}

/** The line was loaded with `sequence`, or becomes a dead letter; `touched` are hours from which rows were removed. */
type LineOutcome =
  | { readonly sequence: bigint; readonly touched: readonly []; readonly letter?: never }
  | { readonly letter: DeadLetter; readonly touched: readonly ChainHour[] };

/**
 * Makes a dead letter of a line that the store cannot load, and removes the rows that some views stored. If the store fails
 * without refusing the line, the line is retried. Then the same views run without any line: if that fails too, the store
 * is the cause, and the error is thrown.
 */
export async function loadLine(load: LineLoad): Promise<LineOutcome> {
  const { runtime, numbers, stream, line, staged, failure, tried } = load;
  const sequences = [...tried];
  let error = failure;
  for (const waitMs of failure.code === 'store_refused' ? [] : SUSPECT_WAITS_MS) {
    await setTimeout(waitMs);
    const sequence = await numbers.take(line.index + 1);
    sequences.push(sequence);
    try {
      await staged.commit(sequence);
      return { sequence, touched: [] };
    } catch (again) {
      if (!mayBlameLines(again)) throw again;
      error = again;
    }
  }
  const landing = LANDING_TABLES[stream];
  if (error.code !== 'store_refused')
    await runtime.store.run(sql`INSERT INTO ${landing} SELECT * FROM ${landing}`);
  const at = sequences.map((first) => first + BigInt(line.index));
  const touched = await removePartlyStored(runtime.store, stream, line.head, at);
  const reason = `${error.message}: ${error.detail ?? ''}`;
  return { letter: deadLetterOf(TOPICS[stream], line.head, reason, line.original), touched };
}

/** Whether the content or the size of the lines may be the cause of a failed load. */
export const mayBlameLines = (error: unknown): error is ProductError =>
  error instanceof ProductError && (error.code === 'store_refused' || error.code === 'store_exhausted');

/**
 * Parses every line of a refused batch. Invalid lines become dead letters; the others get the layout of the landing table.
 * Returns null if all lines have that layout already.
 */
export function normaliseLines(stream: Stream, lines: readonly LandingLine[]) {
  if (!lines.some((line) => line.normalised)) return null;
  const letters: DeadLetter[] = [];
  const normalised: LandingLine[] = [];
  for (const { normalised: toBytes, ...line } of lines) {
    const bytes = toBytes?.() ?? line.bytes;
    if ('refused' in bytes)
      letters.push(deadLetterOf(TOPICS[stream], line.head, bytes.refused, line.original));
    else normalised.push({ ...line, bytes });
  }
  return { lines: normalised, letters };
}

/** The lines of a staged batch, without content hashes. */
export const linesOfStore = async (staged: StagedBatch): Promise<LandingLine[]> =>
  (await staged.lines()).map((bytes) => {
    const { index, ...head } = readLandingHead(bytes);
    return {
      index,
      bytes,
      head: { ...head, source: 'spool', origin: 'spool', line: index },
      original: bytes,
    };
  });
