import { afterAll, beforeAll, expect, it } from 'vitest';
import { SourceFollower } from '../../../ingest/follow/source-follower.ts';
import { ingestTarget } from '../../../serve/application/cli/ingest-target.ts';
import { LocalClient } from '../../../serve/application/operations/client.ts';
import { until } from '../../infra/ports/opened.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { FakeSidecar, recordedBlocks } from '../sources/fake-sidecar.ts';

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
  await until('the head is reached', () => noted.at(-1) === fake.finalized + 1);
  stop.abort();
  await running.catch(() => undefined);
  return noted;
}

it('notes where it begins before it takes a block, so that whoever goes on leaves none out', async () => {
  fake.finalized = first;
  const stop = new AbortController();
  const noted: number[] = [];
  const onIngested = async (next: number) => {
    noted.push(next);
    stop.abort();
  };
  const options = { url: fake.url, chain: 'polkadot', pollMs: 10, concurrency: 1, onIngested };
  const follower = await SourceFollower.open(options, opened.pipeline.config, stop.signal);
  await follower.run(ingestTarget(new LocalClient(opened.pipeline)), () => undefined).catch(() => undefined);
  expect(noted).toEqual([first]);
  expect(fake.asked).toEqual([]);
});

it('goes on at the first hole that a killed process has left, and says how far it is', async () => {
  const killed = Array.from({ length: 12 }, (_, i) => first + i).filter((height) => height !== first + 5);
  const lines = killed.map((height) => ({ line: blocks.get(height) as string, chain: 'polkadot' }));
  await ingestLines(opened.pipeline, lines);
  fake.finalized = first + 20;
  expect((await followToHead()).at(-1)).toBe(first + 21);
  expect(fake.asked).toEqual(Array.from({ length: 16 }, (_, i) => first + 5 + i));
});

it('goes on where the one before has noted, whatever is stored', async () => {
  fake.asked.length = 0;
  fake.finalized = first + 25;
  expect((await followToHead(first + 19)).at(-1)).toBe(first + 26);
  expect(fake.asked[0]).toBe(first + 19);
});

it('goes past a height that the source cannot serve, shows it, and fills it in the background', async () => {
  const { pipeline } = opened;
  const client = new LocalClient(pipeline);
  const [hole, head] = [first + 28, first + 40];
  fake.fail(new RegExp(`blocks/${hole}$`), '500', 999);
  fake.finalized = head;
  const stop = new AbortController();
  const said: string[] = [];
  const options = {
    url: fake.url,
    chain: 'polkadot',
    pollMs: 10,
    concurrency: 2,
    backoffMs: 10,
    skippedRetrySeconds: 1,
  };
  const follower = await SourceFollower.open(options, pipeline.config, stop.signal);
  const running = follower.run(ingestTarget(client), (text) => void said.push(text));
  const highest = async () => (await client.call('status', {})).chains[0]?.highest_block;
  await expect.poll(highest, { timeout: 60_000 }).toBe(head);
  expect(said).toContainEqual(expect.stringMatching(new RegExp(`^skipped ${hole}: .*answered 500`)));
  const skipped = async () => client.call('skippedHeights', { chain: 'polkadot' });
  expect(await skipped()).toMatchObject([{ number: hole, reason: expect.stringContaining('answered 500') }]);
  const [status] = (await client.call('status', {})).chains;
  expect(status).toMatchObject({ skipped_heights: 1, missing_blocks: { total: 1 } });
  // It is tried in vain before the source has it.
  await expect.poll(async () => (await skipped())[0]?.tries, { timeout: 60_000 }).toBeGreaterThanOrEqual(2);
  fake.recover();
  await expect.poll(skipped, { timeout: 60_000 }).toEqual([]);
  await expect.poll(() => said, { timeout: 60_000 }).toContain('filled 1 skipped height');
  expect((await client.call('status', {})).chains[0]).toMatchObject({
    skipped_heights: 0,
    missing_blocks: { total: 0 },
  });
  stop.abort();
  await running.catch(() => undefined);
});

it('waits for a source that serves no block at all', async () => {
  const { pipeline } = opened;
  const client = new LocalClient(pipeline);
  fake.fail(/blocks/, '500', 30);
  fake.finalized = first + 45;
  const stop = new AbortController();
  const said: string[] = [];
  // The wait for it doubles with each failure, from the time between two polls.
  const options = { url: fake.url, chain: 'polkadot', pollMs: 1, concurrency: 2, backoffMs: 10 };
  const follower = await SourceFollower.open(options, pipeline.config, stop.signal);
  const running = follower.run(ingestTarget(client), (text) => void said.push(text));
  const highest = async () => (await client.call('status', {})).chains[0]?.highest_block;
  await expect.poll(highest, { timeout: 60_000 }).toBe(first + 45);
  expect(said).toContainEqual(expect.stringMatching(/answered 500: .*retrying until it answers/));
  expect(said.filter((text) => text.startsWith('skipped'))).toEqual([]);
  stop.abort();
  await running.catch(() => undefined);
});
