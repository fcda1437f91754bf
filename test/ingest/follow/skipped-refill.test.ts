import type { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { readAll } from '../../../infra/ports.ts';
import { refillSkipped } from '../../../ingest/follow/skipped-refill.ts';
import type { SkippedHeight, UnservedHeight } from '../../../ingest/sources/skipped-heights.ts';

const place = { relay_chain: 'polkadot', chain: 'polkadot' };
const longAgo = '2026-01-01T00:00:00.000Z';
const heightOf = (number: number): SkippedHeight => ({
  ...place,
  number,
  reason: 'answered 500',
  first_tried_at: longAgo,
  last_tried_at: longAgo,
  tries: 1,
});

it('a skipped height whose block is refused is tried in vain, and not filled', async () => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const said: string[] = [];
  const noted = Promise.withResolvers<readonly UnservedHeight[]>();
  const source = {
    url: 'http://source.invalid',
    servesCompleteBlocks: false,
    head: async () => ({ number: 9 }) as never,
    block: async (number: number | string) => Buffer.from(`block ${number}`),
  };
  const target = {
    skipped: async () => [heightOf(3), heightOf(4)],
    ingest: async ({ bytes }: { bytes: Readable }) => ({
      refused_lines: String(await readAll(bytes)).includes('block 3') ? 1 : 0,
    }),
    noteSkipped: async (_chain: string, heights: readonly UnservedHeight[]) => noted.resolve(heights),
  };
  const running = refillSkipped(source, target, {
    chain: 'polkadot',
    retrySeconds: 0.001,
    signal: stop.signal,
    say: (text) => void said.push(text),
  });
  expect(await noted.promise).toEqual([{ number: 3, reason: expect.stringContaining('refused') }]);
  expect(said).toContain('filled 1 skipped height');
  stop.abort();
  await running;
});
