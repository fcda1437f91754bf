import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BLOCK_MS as DEFAULT_BLOCK_MS } from '../../../ingest/backfill/open-source.ts';
import { type FollowOptions, followBlocks } from '../../../ingest/follow/block-follower.ts';
import { Sidecar } from '../../../ingest/sources/sidecar.ts';
import { FakeSidecar, type Fault, hashOf, recordedBlocks } from '../sources/fake-sidecar.ts';

const chain = { relay_chain: 'polkadot', name: 'polkadot' };
const recorded = recordedBlocks('polkadot');
const first = Math.min(...recorded.keys());
const last = Math.max(...recorded.keys());
const BLOCK_MS = 1000;

let fake: FakeSidecar;
let stop: AbortController;
beforeEach(async () => {
  fake = await new FakeSidecar([...recorded.values()]).listen();
  stop = new AbortController();
});
afterEach(() => fake[Symbol.asyncDispose]());

/** Follows from the first block on; each line with the milliseconds after which it came. */
async function follow(
  more: Partial<FollowOptions>,
  onLine: (height: number, isFinal: boolean) => void,
): Promise<{ height: number; afterMs: number }[]> {
  const { signal } = stop;
  const sidecar = await Sidecar.connect(fake.url, { blockMs: BLOCK_MS, backoffMs: 10, attempts: 3, signal });
  const began = performance.now();
  const came: { height: number; afterMs: number }[] = [];
  const looks = followBlocks(sidecar, {
    ...{ chain, best: false, pollMs: 10, concurrency: 4, from: first, signal },
    onUnserved: async (heights) => unserved.push(...heights.map(({ number }) => number)) as never,
    ...more,
  });
  const unserved: number[] = [];
  for await (const look of looks) {
    for (const line of look.map(String).filter((text) => text !== '\n')) {
      const { number, finalized } = JSON.parse(line);
      came.push({ height: Number(number), afterMs: performance.now() - began });
      onLine(Number(number), finalized);
    }
  }
  return came;
}

/** Twice its time, and what the rest takes on a busy machine. */
const WITHIN_MS = 4 * BLOCK_MS;

describe.each(['silent', 'trickling', 'slow 500', 'dropped'] satisfies Fault[])(
  'a height that is %s',
  (fault) => {
    it.each([
      ['in the middle', first + 5, 4],
      ['first of all', first, 4],
      ['where one is asked for at a time', first + 2, 1],
    ])('holds up none of the others: %s', async (_where, hanging, concurrency) => {
      fake.fail(new RegExp(`blocks/${hanging}$`), fault, 1e9);
      const came = await follow({ concurrency }, (height) => height === last && stop.abort());
      const others = [...recorded.keys()].filter((height) => height !== hanging);
      expect(came.map(({ height }) => height)).toEqual(others);
      expect(Math.max(...came.map(({ afterMs }) => afterMs))).toBeLessThan(WITHIN_MS);
    });
  },
);

it('several heights that hang side by side are waited for at the same time', async () => {
  for (const more of [3, 4, 6]) fake.fail(new RegExp(`blocks/${first + more}$`), 'silent', 1e9);
  const came = await follow({}, (height) => height === last && stop.abort());
  expect(came).toHaveLength(recorded.size - 3);
  expect(came.at(-1)?.afterMs).toBeLessThan(WITHIN_MS);
});

it('the newest height hangs: those after it come as soon as they are there', async () => {
  const hanging = first + 4;
  fake.finalized = hanging;
  fake.fail(new RegExp(`blocks/${hanging}$`), 'silent', 1e9);
  setTimeout(() => {
    fake.finalized = last;
  }, BLOCK_MS * 1.5);
  const came = await follow({}, (height) => height === last && stop.abort());
  expect(came.map(({ height }) => height)).not.toContain(hanging);
  expect(came.at(-1)?.afterMs).toBeLessThan(BLOCK_MS * 1.5 + WITHIN_MS);
});

it('a best block hangs: final ones go on, and the reason is told once', async () => {
  fake.finalized = first + 3;
  fake.best = first + 6;
  fake.fail(new RegExp(hashOf(fake.at(first + 5))), 'silent', 1e9);
  const said: (string | null)[] = [];
  setTimeout(() => {
    fake.finalized = last;
    fake.best = last;
  }, BLOCK_MS * 1.5);
  const came = await follow(
    { best: true, onConnectionChange: (reason) => said.push(reason) },
    (height) => height === last && stop.abort(),
  );
  expect(came.map(({ height }) => height)).toEqual([...recorded.keys()]);
  expect(came.at(-1)?.afterMs).toBeLessThan(BLOCK_MS * 1.5 + WITHIN_MS);
  expect(said).toEqual([expect.stringMatching(/did not answer within 1 s/)]);
});

it('snapshots hang: blocks go on, and the snapshots come when they are there', async () => {
  fake.finalized = first;
  const taken = Promise.withResolvers<Buffer[]>();
  setTimeout(() => {
    fake.finalized = last;
  }, 100);
  const came = await follow({ snapshotsAt: () => taken.promise }, (height) => {
    if (height === last) taken.resolve([Buffer.from('{"number":"-1","finalized":true}')]);
    if (height === -1) stop.abort();
  });
  expect(came.map(({ height }) => height)).toEqual([...recorded.keys(), -1]);
});

it('by default a height is given up in less than 30 seconds', () => {
  expect(2 * DEFAULT_BLOCK_MS).toBeLessThan(30_000);
});
