import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { GroupMember } from '../../../infra/distributed/consumer.ts';
import type { FetchedBatch, KafkaConsumerOptions } from '../../../infra/distributed/kafka-client.ts';

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

function openMember() {
  let handle: (batch: FetchedBatch) => Promise<void> = async () => undefined;
  let join = () => {};
  const seek = vi.fn();
  const consumer = ({ onJoin }: KafkaConsumerOptions) => {
    join = onJoin;
    const start = async (given: typeof handle) => {
      handle = given;
    };
    return { start, seek, stop: async () => undefined, disconnect: async () => undefined };
  };
  const member = new GroupMember({
    client: { consumer } as never,
    config: { KAFKA_SESSION_MS: 30_000, BATCH_BYTES: 1e6 } as never,
    logger: { warn: () => undefined } as never,
    ...{ topic: 'blocks', groupId: 'load', fetchBytes: 1 },
    handle: async () => ({ durable: sleep(20).then(() => undefined) }),
  });
  return { member, seek, join: () => join(), handle: (given: FetchedBatch) => handle(given) };
}

test('a member commits on in a partition that it regains where it had stopped, and does not seek back', async () => {
  const { member, seek, join, handle } = openMember();
  await member.start();
  join();
  const refused = Promise.withResolvers<void>();
  await handle(
    batch(0, async () => {
      refused.resolve();
      throw new Error('ILLEGAL_GENERATION');
    }),
  );
  await refused.promise;
  await sleep(20);
  // Another member has handled and committed the record, and has left.
  join();
  const commit = vi.fn(async () => undefined);
  await handle(batch(1, commit));
  await expect.poll(() => commit.mock.calls).toEqual([[2]]);
  expect(seek).not.toHaveBeenCalled();
  await member.close();
});

test('a member commits what it was fetched with nothing to handle, as a marker of a transaction', async () => {
  const { member, handle } = openMember();
  await member.start();
  const commit = vi.fn(async (_offset: number) => undefined);
  // Records, a marker, and later an aborted transaction.
  await handle({ ...batch(0, commit), next: 2 });
  await handle({ ...batch(2, commit), records: [], next: 5 });
  await handle(batch(5, commit));
  await expect.poll(() => commit.mock.calls.map(([offset]) => offset)).toEqual([2, 5, 6]);
  await member.close();
});
