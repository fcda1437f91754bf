import { afterAll, beforeAll, expect, it } from 'vitest';
import { SourceFollower } from '../../../ingest/sources/source-follower.ts';
import { ingestTarget } from '../../../serve/cli/ingest-target.ts';
import { LocalClient } from '../../../serve/operations/client.ts';
import { until } from '../../infra/ports/opened.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { FakeSidecar, recordedBlocks } from './fake-sidecar.ts';

const blocks = recordedBlocks('polkadot');
const first = Math.min(...blocks.keys());
let opened: TestPipeline;
let fake: FakeSidecar;
beforeAll(async () => {
  opened = await openTestPipeline();
  fake = await new FakeSidecar([...blocks.values()]).listen();
});
afterAll(async () => {
  await fake[Symbol.asyncDispose]();
  await opened.close();
});

/** Follows until the head is reached, and returns what was noted on the way. */
async function followToHead(from?: number): Promise<number[]> {
  const stop = new AbortController();
  const noted: number[] = [];
  const options = {
    url: fake.url,
    chain: 'polkadot',
    pollMs: 10,
    concurrency: 1,
    onIngested: async (next: number) => void noted.push(next),
    ...(from === undefined ? {} : { from }),
  };
  const following = await SourceFollower.open(options, opened.pipeline.config, stop.signal);
  const running = following.run(ingestTarget(new LocalClient(opened.pipeline)), () => undefined);
  await until('the head is reached', () => noted.at(-1) === fake.finalized + 1, 60_000);
  stop.abort();
  await running.catch(() => undefined);
  return noted;
}

it('goes on at the first hole that a killed process has left, and says how far it is', async () => {
  const killed = Array.from({ length: 12 }, (_, i) => first + i).filter((height) => height !== first + 5);
  const lines = killed.map((height) => ({ line: blocks.get(height) as string, chain: 'polkadot' }));
  await ingestLines(opened.pipeline, lines);
  fake.finalized = first + 20;
  expect(await followToHead()).toEqual([first + 21]);
  expect(fake.asked).toEqual(Array.from({ length: 16 }, (_, i) => first + 5 + i));
});

it('goes on where the one before has noted, whatever is stored', async () => {
  fake.asked.length = 0;
  fake.finalized = first + 25;
  expect(await followToHead(first + 19)).toEqual([first + 26]);
  expect(fake.asked[0]).toBe(first + 19);
});
