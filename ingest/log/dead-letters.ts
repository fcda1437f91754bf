import { createHash } from 'node:crypto';
import { sql } from '../../infra/clickhouse/sql.ts';
import type { Log, Store } from '../../infra/ports.ts';
import { deadLetters } from '../raw/tables.ts';
import type { Origin } from './envelope.ts';

export interface DeadLetter extends Origin {
  readonly topic: string;
  readonly reason: string;
  readonly bytes: Buffer;
}

export function deadLetterOf(topic: string, origin: Origin, reason: string, bytes: Buffer): DeadLetter {
  return { topic, reason, bytes, source: origin.source, origin: origin.origin, line: origin.line };
}

/**
 * Stores refused input with its reason, origin and first bytes, and publishes all of it on the log's topic of dead
 * letters where there is one. A line that is refused again updates its dead letter and counts one more attempt.
 */
export async function writeDeadLetters(
  store: Store,
  letters: readonly DeadLetter[],
  now: number,
  bytesMax: number,
  log?: Log,
): Promise<void> {
  if (letters.length === 0) return;
  const before = await attemptsOf(store, letters.map(idOf));
  const numbered = letters.map((letter) => {
    const id = idOf(letter);
    return { letter, id, attempt: (before.get(id) ?? 0) + 1 };
  });
  const offsets = log ? await publishDeadLetters(log, numbered) : new Map<NumberedLetter, string>();
  await store.insert(
    deadLetters,
    numbered.map((one) => ({
      id: one.id,
      topic: one.letter.topic,
      origin: one.letter.origin,
      line: one.letter.line,
      reason: one.letter.reason,
      bytes: one.letter.bytes.subarray(0, bytesMax).toString('utf8'),
      size: one.letter.bytes.length,
      received_at: new Date(now).toISOString(),
      version: now,
      is_deleted: 0,
      attempts: one.attempt,
      log_offset: offsets.get(one) ?? '',
    })),
  );
}

interface NumberedLetter {
  readonly letter: DeadLetter;
  readonly id: string;
  readonly attempt: number;
}

/** Offsets on the topics of dead letters; none where the log has no such topics. */
async function publishDeadLetters(
  log: Log,
  letters: readonly NumberedLetter[],
): Promise<Map<NumberedLetter, string>> {
  const offsets = new Map<NumberedLetter, string>();
  for (const [topic, some] of Map.groupBy(letters, ({ letter }) => letter.topic)) {
    const published = await log.deadLetter(
      topic,
      some.map(({ letter, attempt }) => ({
        value: letter.bytes,
        reason: letter.reason,
        origin: `${letter.origin}:${letter.line}`,
        attempt,
      })),
    );
    published.forEach((offset, i) => {
      if (offset !== null) offsets.set(some[i] as NumberedLetter, offset);
    });
  }
  return offsets;
}

function idOf(letter: DeadLetter): string {
  return createHash('sha256')
    .update(`${letter.origin}\0${letter.line}\0`)
    .update(letter.bytes)
    .digest('hex')
    .slice(0, 32);
}

/** Also of dead letters that were dropped or retried: how often each line was refused. */
async function attemptsOf(store: Store, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await store.rows<{ id: string; attempts: number }>(
    sql`SELECT id, max(dead_letters.attempts) AS attempts FROM ${deadLetters} WHERE id IN (${[...ids]}) GROUP BY id`,
  );
  return new Map(rows.map(({ id, attempts }) => [id, attempts]));
}
