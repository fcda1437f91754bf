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

/**
 * Keeps refused input: reason, origin and its first bytes, and all of it on the log's topic of dead letters, where
 * there is one. The same line refused again is the same letter, with one try more.
 */
export async function writeDeadLetters(
  store: Store,
  letters: readonly DeadLetter[],
  now: number,
  bytesMax: number,
  log?: Log,
): Promise<void> {
  if (letters.length === 0) return;
  const ids = letters.map(idOf);
  const attempts = await attemptsOf(store, ids);
  const offsets = new Map<number, string>();
  for (const topic of log ? new Set(letters.map((letter) => letter.topic)) : []) {
    const some = letters.map((letter, at) => ({ letter, at })).filter(({ letter }) => letter.topic === topic);
    const kept = await log?.deadLetter(
      topic,
      some.map(({ letter, at }) => ({
        value: letter.bytes,
        reason: letter.reason,
        origin: `${letter.origin}:${letter.line}`,
        attempt: (attempts.get(ids[at] as string) ?? 0) + 1,
      })),
    );
    kept?.forEach((offset, i) => {
      if (offset !== null) offsets.set(some[i]?.at as number, offset);
    });
  }
  await store.insert(
    deadLetters,
    letters.map((letter, at) => ({
      id: ids[at],
      topic: letter.topic,
      origin: letter.origin,
      line: letter.line,
      reason: letter.reason,
      bytes: letter.bytes.subarray(0, bytesMax).toString('utf8'),
      size: letter.bytes.length,
      received_at: new Date(now).toISOString(),
      version: now,
      is_deleted: 0,
      attempts: (attempts.get(ids[at] as string) ?? 0) + 1,
      log_offset: offsets.get(at) ?? '',
    })),
  );
}

function idOf(letter: DeadLetter): string {
  return createHash('sha256')
    .update(`${letter.origin}\0${letter.line}\0`)
    .update(letter.bytes)
    .digest('hex')
    .slice(0, 32);
}

/** Also of letters that were dropped or tried again: how often each was refused. */
async function attemptsOf(store: Store, ids: readonly string[]): Promise<Map<string, number>> {
  const rows = await store.rows<{ id: string; attempts: number }>(
    sql`SELECT id, max(dead_letters.attempts) AS attempts FROM ${deadLetters} WHERE id IN (${[...ids]}) GROUP BY id`,
  );
  return new Map(rows.map(({ id, attempts }) => [id, attempts]));
}
