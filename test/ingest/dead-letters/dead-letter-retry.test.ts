import { expect, test } from 'vitest';
import type { Runtime } from '../../../infra/ports.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';
import { retryDeadLetters } from '../../../ingest/dead-letters/dead-letter-retry.ts';
import { TOPICS } from '../../../ingest/log/topics.ts';

test('letters that the log keeps whole are read a few at a time', async () => {
  const reads: number[] = [];
  const runtime = {
    clock: Date,
    store: { rows: async () => [], insert: async () => {} },
    log: {
      readDeadLetters: async (_topic: string, offsets: readonly string[]) => {
        reads.push(offsets.length);
        return offsets.map(() => Buffer.from('garbage'));
      },
      deadLetter: async (_topic: string, letters: readonly object[]) => letters.map((_, i) => String(i)),
    },
  } as unknown as Runtime;
  const letters = Array.from({ length: 40 }, (_, line) => ({
    ...{ id: String(line), topic: TOPICS.blocks, origin: 'f', line, attempts: 1, version: '1' },
    size: 2 ** 20,
    log_offset: `0:${line}`,
  }));
  const dependencies = { runtime, registry: loadRegistry(), deadLetterBytes: 65_536, redeliver: {} };
  const outcomes = await retryDeadLetters(
    { ...dependencies, waitUntilLoaded: async () => {} },
    letters,
    undefined,
  );
  expect(outcomes).toHaveLength(40);
  expect(reads).toEqual([15, 15, 10]);
});
