import { createHash } from 'node:crypto';
import { chunkBySize } from '../../infra/chunk.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Log, Store } from '../../infra/ports.ts';
import { chunkForIn, sql } from '../../infra/sql.ts';
import type { Origin } from '../log/envelope.ts';
import { deadLetters } from '../raw/tables.ts';

export interface DeadLetter extends Origin {
  readonly topic: string;
  readonly reason: string;
  readonly bytes: Buffer;
  /** Limit of the stored bytes. Set if a retry would be refused again, so the letter need not be whole. */
  readonly keptBytes?: number;
}

export function deadLetterOf(topic: string, origin: Origin, reason: string, bytes: Buffer): DeadLetter {
  const { source, line, run = '' } = origin;
  return { topic, reason, bytes, source, origin: origin.origin, line, run };
}

/** Bytes of a refused line that are stored with its reason. */
export const DEAD_LETTER_BYTES_MAX = 64 * 1024;
/** Bytes of dead letters that one statement inserts. */
const PART_BYTES = 4 * 2 ** 20;
/** Size of a row without its text. */
export const ROW_BYTES = 1000;
/** Reasons and origins are truncated, since they may quote the message. */
const REASON_CHARS_MAX = 500;
const ORIGIN_CHARS_MAX = 1000;

/**
 * Stores refused input with its reason, origin and first bytes. Letters that may be retried are also published whole to the
 * dead letter topic, if the log has one. A line that is refused again updates its letter and counts one more attempt.
 */
export async function writeDeadLetters(
  store: Store,
  letters: readonly DeadLetter[],
  now: number,
  bytesMax: number,
  log?: Log,
): Promise<void> {
  for (const part of chunkBySize(
    letters,
    PART_BYTES,
    (letter) => keptOf(letter, bytesMax).length + ROW_BYTES,
  )) {
    const rows = part.map((letter) => deadLetterRow(letter, now, bytesMax));
    const tries = await readAttempts(store, rows);
    const offsets = log ? await publishDeadLetters(log, part, rows, tries) : [];
    await insertDeadLetters(store, rows, tries, offsets);
  }
}

const keptOf = ({ bytes, keptBytes }: DeadLetter, bytesMax: number): Buffer =>
  bytes.subarray(0, Math.min(keptBytes ?? bytesMax, bytesMax));

/** A row of `dead_letters` without the columns that need the store or the log: attempts and offset. */
export type DeadLetterRow = ReturnType<typeof deadLetterRow>;

export const deadLetterRow = (letter: DeadLetter, now: number, bytesMax: number) => ({
  id: idOf(letter),
  topic: letter.topic,
  origin: letter.origin.slice(0, ORIGIN_CHARS_MAX),
  line: letter.line,
  reason: letter.reason.slice(0, REASON_CHARS_MAX),
  bytes: keptOf(letter, bytesMax).toString('utf8'),
  size: letter.bytes.length,
  received_at: new Date(now).toISOString(),
  version: now,
  run: letter.run ?? '',
});

/** Inserts rows with the number of failed attempts, and with offsets on the dead letter topic if there are any. */
export async function insertDeadLetters(
  store: Store,
  rows: readonly DeadLetterRow[],
  tries: readonly LetterTry[],
  offsets: readonly (string | null)[] = [],
): Promise<void> {
  const whole = rows.map((row, i) => ({
    ...row,
    ...tries[i],
    is_deleted: 0,
    log_offset: offsets[i] ?? '',
  }));
  try {
    await store.insert(deadLetters, whole);
  } catch (error) {
    if (!(error instanceof ProductError) || error.code !== 'store_refused') throw error;
    // The text of the sender is the only column that the store can refuse.
    await store.insert(
      deadLetters,
      whole.map((row) => ({ ...row, bytes: '' })),
    );
  }
}

/** Publishes letters to the dead letter topics; returns their offsets. */
async function publishDeadLetters(
  log: Log,
  letters: readonly DeadLetter[],
  rows: readonly DeadLetterRow[],
  tries: readonly LetterTry[],
): Promise<(string | null)[]> {
  const offsets: (string | null)[] = letters.map(() => null);
  const whole = letters.keys().filter((i) => letters[i]?.keptBytes === undefined);
  for (const [topic, indexes] of Map.groupBy(whole, (i) => (letters[i] as DeadLetter).topic)) {
    const published = await log.deadLetter(
      topic,
      indexes.map((i) => {
        const { reason, origin, line } = rows[i] as DeadLetterRow;
        const { bytes: value } = letters[i] as DeadLetter;
        return { value, reason, origin: `${origin}:${line}`, attempt: tries[i]?.attempts ?? 1 };
      }),
    );
    indexes.forEach((index, i) => {
      offsets[index] = published[i] ?? null;
    });
  }
  return offsets;
}

export async function countDeadLetters(store: Pick<Store, 'rows'>): Promise<number> {
  const [row] = await store.rows<{ total: number }>(sql`SELECT count() AS total FROM ${deadLetters} FINAL`);
  return row?.total ?? 0;
}

function idOf(letter: DeadLetter): string {
  return createHash('sha256')
    .update(`${letter.origin}\0${letter.line}\0`)
    .update(letter.bytes)
    .digest('hex')
    .slice(0, 32);
}

interface LetterTry {
  /** Number of failed attempts, including those before the letter was dropped or retried. */
  readonly attempts: number;
  /**
   * Greater than the versions of all stored rows of the letter, even if the clock of this process is behind, and greater
   * than that of the tombstone of a concurrent retry.
   */
  readonly version: number;
}

type Versioned = Pick<DeadLetterRow, 'id' | 'version'>;

export async function readAttempts(store: Store, rows: readonly Versioned[]): Promise<LetterTry[]> {
  const before = new Map<string, { readonly attempts: number; readonly version: string }>();
  for (const ids of chunkForIn(new Set(rows.map(({ id }) => id)))) {
    const found = await store.rows<{ id: string; attempts: number; version: string }>(
      sql`SELECT id, max(dead_letters.attempts) AS attempts, toString(max(dead_letters.version)) AS version
        FROM ${deadLetters} WHERE id IN (${ids}) GROUP BY id`,
    );
    for (const one of found) before.set(one.id, one);
  }
  return rows.map(({ id, version }) => {
    const last = before.get(id);
    if (last === undefined) return { attempts: 1, version };
    return { attempts: last.attempts + 1, version: Math.max(version, Number(last.version) + 2) };
  });
}
