import { createHash } from 'node:crypto';
import type { Store } from '../infra/runtime.ts';
import type { Origin } from './envelope.ts';
import { deadLetters } from './streams/raw.ts';

export interface DeadLetter extends Origin {
  readonly topic: string;
  readonly reason: string;
  readonly bytes: Buffer;
}

/** Keeps refused input: reason, origin and its first bytes. The same line refused again is the same letter. */
export async function bury(
  store: Store,
  letters: readonly DeadLetter[],
  now: number,
  mostBytes: number,
): Promise<void> {
  await store.insert(
    deadLetters,
    letters.map((letter) => ({
      id: createHash('sha256')
        .update(`${letter.origin}\0${letter.line}\0`)
        .update(letter.bytes)
        .digest('hex')
        .slice(0, 32),
      topic: letter.topic,
      origin: letter.origin,
      line: letter.line,
      reason: letter.reason,
      bytes: letter.bytes.subarray(0, mostBytes).toString('utf8'),
      size: letter.bytes.length,
      received_at: new Date(now).toISOString(),
      version: now,
      is_deleted: 0,
    })),
  );
}
