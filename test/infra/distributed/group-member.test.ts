import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { GroupMember } from '../../../infra/distributed/consumer.ts';
import type { FetchedBatch } from '../../../infra/distributed/kafka-client.ts';

const batch = (offset: number, commit: FetchedBatch['commit']): FetchedBatch => ({
  partition: 0,
  records: [{ key: null, value: Buffer.from('{}'), offset }],
  next: offset + 1,
  heartbeat: async () => undefined,
  isCurrent: () => true,
  pause: () => () => undefined,
  resolve: () => undefined,
  commit,
});

async function openMember(durable: () => Promise<void> = () => sleep(20).then(() => undefined)) {
  let handle: (batch: FetchedBatch) => Promise<void> = async () => undefined;
  const start = async (given: typeof handle) => {
    handle = given;
  };
  const consumer = () => ({ start, stop: async () => undefined, disconnect: async () => undefined });
  const member = new GroupMember({
    client: { consumer } as never,
    config: { KAFKA_SESSION_MS: 30_000, BATCH_BYTES: 1e6 } as never,
    logger: { warn: () => undefined } as never,
    ...{ topic: 'blocks', groupId: 'load', fetchBytes: 1 },
    handle: async () => ({ durable: durable() }),
  });
  await member.start();
  return { member, handle: (given: FetchedBatch) => handle(given) };
}

test('a member commits what it was fetched with nothing to handle, as a marker of a transaction', async () => {
  const { member, handle } = await openMember();
  const commit = vi.fn(async (_offset: number) => undefined);
  // Records, a marker, and later an aborted transaction.
  await handle({ ...batch(0, commit), next: 2 });
  await handle({ ...batch(2, commit), records: [], next: 5 });
  await handle(batch(5, commit));
  expect(commit.mock.calls.map(([offset]) => offset)).toEqual([2, 5, 6]);
  await member.close();
});

test('a batch that did not become durable, or whose commit failed, is fetched again after a pause', async () => {
  let isAway = true;
  const { member, handle } = await openMember(async () => {
    if (isAway) throw new Error('away');
  });
  const commit = vi.fn(async (_offset: number) => undefined);
  const resolve = vi.fn();
  const resumed = vi.fn();
  const given = { ...batch(0, commit), resolve, pause: () => resumed };
  await handle(given);
  expect([commit, resolve].map(({ mock }) => mock.calls)).toEqual([[], []]);
  await expect.poll(() => resumed.mock.calls.length, { timeout: 60_000 }).toBe(1);
  isAway = false;
  commit.mockRejectedValueOnce(new Error('ILLEGAL_GENERATION'));
  await handle(given);
  expect(resolve).not.toHaveBeenCalled();
  await handle(given);
  expect(resolve.mock.calls).toEqual([[1]]);
  await member.close();
});

test('a member that closes waits for what it handles, and commits it', async () => {
  const { member, handle } = await openMember();
  const commit = vi.fn(async (_offset: number) => undefined);
  void handle(batch(0, commit));
  await member.close();
  expect(commit.mock.calls).toEqual([[1]]);
});
