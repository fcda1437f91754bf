import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchHeights } from '../../../ingest/backfill/fetch-heights.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { followBlocks } from '../../../ingest/follow/block-follower.ts';
import { Sidecar } from '../../../ingest/sources/sidecar.ts';
import { FakeSidecar, type Fault, recordedBlocks } from '../sources/fake-sidecar.ts';

const chain = { relay_chain: 'polkadot', name: 'polkadot' };
const recorded = recordedBlocks('polkadot');
const heights = [...recorded.keys()];
const [first, last] = [Math.min(...heights), Math.max(...heights)];

/** A height that is not there answers 404, and is there after a while. */
const FAULTS: readonly Fault[] = ['500', '404', '429', 'dropped', 'cut', 'silent', 'page', 'other block'];
const FAULTY_HEIGHTS = 14;
const SEEDS = [1, 2, 3, 4];
/** However often it was stopped, a source is through after so many starts. */
const STARTS_MAX = 200;

let fake: FakeSidecar;
beforeEach(async () => {
  fake = await new FakeSidecar([...recorded.values()]).listen();
});
afterEach(() => fake[Symbol.asyncDispose]());

/** Some heights go wrong in every way, more often than one request is tried. */
function goWrong(random: Random): void {
  for (let i = 0; i < FAULTY_HEIGHTS; i++) {
    const path = new RegExp(`blocks/${random.pick(heights)}$`);
    fake.fail(path, random.pick(FAULTS), random.whole(1, 4));
  }
}

const connect = (signal: AbortSignal) =>
  Sidecar.connect(fake.url, { attempts: 2, backoffMs: 1, timeoutMs: 60, signal });

describe.each(SEEDS)('with faults of every kind and stops at random, seed %d', (seed) => {
  it('what is fetched again and again is every block once, as the source has it', async () => {
    const random = new Random(seed);
    goWrong(random);
    const kept = new Map<number, string>();
    for (let start = 0; kept.size < heights.length; start++) {
      expect(start).toBeLessThan(STARTS_MAX);
      const stop = new AbortController();
      const missing = heights.filter((height) => !kept.has(height)).map((at) => ({ from: at, to: at }));
      const most = random.whole(1, 20);
      try {
        let taken = 0;
        for await (const fetched of fetchHeights(await connect(stop.signal), missing, 3)) {
          if ('reason' in fetched) continue;
          expect(kept.has(heightOf(fetched.line))).toBe(false);
          kept.set(heightOf(fetched.line), String(fetched.line));
          if (++taken === most) stop.abort();
        }
      } catch {
        // Given up or stopped: the next start goes on with what is missing.
      }
    }
    expect(heights.map((height) => kept.get(height))).toEqual([...recorded.values()]);
  });

  it('what is followed comes once and in order, from where it was stopped, or is told to be unserved', async () => {
    const random = new Random(seed);
    goWrong(random);
    fake.finalized = first;
    const followed: string[] = [];
    const unserved: number[] = [];
    const passed = () => followed.length + unserved.length;
    for (let start = 0; passed() < heights.length; start++) {
      expect(start).toBeLessThan(STARTS_MAX);
      const stop = new AbortController();
      const { signal } = stop;
      const most = random.whole(1, 20);
      let taken = 0;
      const looks = followBlocks(await connect(signal), {
        chain,
        best: false,
        pollMs: 1,
        concurrency: 3,
        signal,
        from: first + passed(),
        onUnserved: async (some) => void unserved.push(...some.map(({ number }) => number)),
      });
      for await (const look of looks) {
        const lines = look.map(String).filter((line) => line !== '\n');
        followed.push(...lines);
        fake.finalized = Math.min(last, fake.finalized + random.whole(1, 9));
        taken += lines.length;
        if (taken >= most || passed() === heights.length) stop.abort();
      }
    }
    expect(unserved).toEqual(unserved.toSorted((a, b) => a - b));
    expect(unserved.length).toBeLessThanOrEqual(FAULTY_HEIGHTS);
    expect(followed).toEqual(
      [...recorded].filter(([height]) => !unserved.includes(height)).map(([, line]) => line),
    );
  });
});

const heightOf = (line: Buffer) => Number((JSON.parse(String(line)) as { number: string }).number);
