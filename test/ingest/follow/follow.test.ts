import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { type FollowOptions, followBlocks } from '../../../ingest/follow/block-follower.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { Sidecar } from '../../../ingest/sources/sidecar.ts';
import { contentOf, differences } from '../../support/content.ts';
import { openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { FakeSidecar, hashOf, onBranch, recordedBlocks } from '../sources/fake-sidecar.ts';

const chain = { relay_chain: 'polkadot', name: 'polkadot' };
const recorded = recordedBlocks('polkadot');
const first = Math.min(...recorded.keys());
const last = Math.max(...recorded.keys());

let fake: FakeSidecar;
let stop: AbortController;
beforeEach(async () => {
  fake = await new FakeSidecar([...recorded.values()]).listen();
  stop = new AbortController();
});
afterEach(() => fake[Symbol.asyncDispose]());

/** Follows and hands over what comes, look by look, until it is told to stop. */
async function watch(
  onLines: (lines: string[], soFar: string[]) => void | Promise<void>,
  more: Partial<FollowOptions> = {},
): Promise<string[]> {
  const { signal } = stop;
  const sidecar = await Sidecar.connect(fake.url, { attempts: 2, backoffMs: 1, timeoutMs: 2000, signal });
  const all: string[] = [];
  const looks = followBlocks(sidecar, {
    chain,
    best: false,
    pollMs: 1,
    concurrency: 4,
    signal,
    onUnserved: async () => undefined,
    ...more,
  });
  for await (const look of looks) {
    const lines = look.map(String).filter((line) => line !== '\n');
    all.push(...lines);
    await onLines(lines, all);
  }
  return all;
}

const heightsFrom = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

/** A height that is given up counts as negative. */
const heightOf = (line: string) => {
  const { is_deleted = 0, payload, number } = JSON.parse(line);
  return is_deleted === 1 ? -Number(payload.number) : Number(number);
};

describe('finalized blocks', () => {
  it('come once and in order, from the head on', async () => {
    fake.finalized = first + 3;
    const lines = await watch((_lines, all) => {
      if (fake.finalized < last) fake.finalized = Math.min(last, fake.finalized + 7);
      else if (all.length === last - first - 2) stop.abort();
    });
    expect(lines.map(heightOf)).toEqual(heightsFrom(first + 3, last));
    expect(fake.asked).toEqual([...new Set(fake.asked)]);
    expect(lines).toEqual(heightsFrom(first + 3, last).map((height) => recorded.get(height)));
  });

  it('come once also when the service goes away for longer than a request is tried', async () => {
    fake.finalized = first + 5;
    const said: (string | null)[] = [];
    const lines = await watch(
      (_lines, all) => {
        if (fake.finalized === last) return void (all.length === last - first + 1 && stop.abort());
        fake.finalized = last;
        // More requests than all tries of one of them: the head, then blocks in the middle of a look.
        fake.fail(/head/, 'dropped', 7);
        fake.fail(/blocks\/\d/, '500', 20);
      },
      { from: first, onConnectionChange: (reason) => said.push(reason) },
    );
    expect(lines.map(heightOf)).toEqual(heightsFrom(first, last));
    expect(said).toEqual([expect.stringMatching(/blocks\/head\S* cannot be reached/), null]);
  });

  it('end when it is told to stop, also while the service is away', async () => {
    const said: (string | null)[] = [];
    fake.fail(/blocks/, '500', 1e9);
    const lines = await watch(() => undefined, {
      onConnectionChange: (reason) => {
        said.push(reason);
        stop.abort();
      },
    });
    expect(lines).toEqual([]);
    expect(said).toHaveLength(1);
  });

  it('tells when the service is back', async () => {
    const said: (string | null)[] = [];
    fake.fail(/head/, '404', 3);
    await watch(() => undefined, {
      onConnectionChange: (reason) => {
        said.push(reason);
        if (reason === null) stop.abort();
      },
    });
    expect(said).toEqual([expect.stringMatching(/answered 404/), null]);
  });
});

describe('best blocks', () => {
  let opened: TestPipeline;
  beforeAll(async () => {
    opened = await openTestPipeline();
  });
  afterAll(() => opened.close());

  const load = async (lines: readonly string[]) => {
    const bytes = Readable.from([Buffer.from(`${lines.join('\n')}\n`)]);
    await opened.pipeline.ingest(bytes, { name: 'source', chain: chain.name });
  };
  const stored = () =>
    opened.pipeline.runtime.store.rows<{ number: number; hash: string; finalized: boolean }>(
      sql`SELECT number, hash, finalized FROM ${blocks} FINAL ORDER BY number`,
    );
  const branch = (name: string, from: number, to: number) => {
    let parent = hashOf(fake.at(from - 1));
    for (let height = from; height <= to; height++) {
      const line = onBranch(recorded.get(height) as string, name, parent);
      parent = hashOf(line);
      fake.put(line);
    }
  };

  it('are replaced by a reorganisation, given up where it is shorter, and end as the final ones', async () => {
    fake.finalized = first + 2;
    fake.best = first + 9;
    branch('a', first + 3, first + 9);
    const states: { number: number; hash: string; finalized: boolean }[][] = [];
    const taken: number[][] = [];
    await watch(
      async (lines) => {
        await load(lines);
        taken.push(lines.map(heightOf));
        states.push(await stored());
        if (states.length === 2) {
          branch('b', first + 6, first + 7);
          fake.best = first + 7;
        } else if (states.length === 3) {
          for (const line of recorded.values()) fake.put(line);
          fake.finalized = last;
          fake.best = last;
        } else if (states.length === 4) stop.abort();
      },
      { best: true, from: first },
    );
    expect(taken).toEqual([
      heightsFrom(first, first + 2),
      heightsFrom(first + 3, first + 9),
      [first + 6, first + 7, -(first + 8), -(first + 9)],
      heightsFrom(first + 3, last),
    ]);
    const hashes = (state = 0) => states[state]?.map(({ hash }) => hash.slice(0, 3)).join(' ');
    expect(hashes(1)?.split(' ').slice(3)).toEqual(Array(7).fill('0xa'));
    expect(hashes(2)?.split(' ').slice(3)).toEqual([...Array(3).fill('0xa'), ...Array(2).fill('0xb')]);
    expect(states[2]?.map(({ finalized }) => finalized)).toEqual([
      ...Array(3).fill(true),
      ...Array(5).fill(false),
    ]);
    expect(states[3]?.map(({ hash }) => hash)).toEqual([...recorded.values()].map(hashOf));

    await opened.pipeline.aggregator.waitUntilComputed();
    const followed = await contentOf(opened.pipeline);
    await opened.close();
    opened = await openTestPipeline();
    await load([...recorded.values()]);
    await opened.pipeline.aggregator.waitUntilComputed();
    expect(differences(followed, await contentOf(opened.pipeline))).toEqual([]);
  });
});
