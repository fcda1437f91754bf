import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test, vi } from 'vitest';
import { GroupMember } from '../../../infra/distributed/consumer.ts';
import { PlatformaticConsumer } from '../../../infra/distributed/platformatic/consumer.ts';
import { fetchFrom } from '../../../infra/distributed/platformatic/fetch.ts';
import { decodeBatches } from '../../../infra/distributed/platformatic/record-batches.ts';

const kafka = vi.hoisted(() => ({
  partitions: [0],
  /** Answers to the next commits. */
  refusals: [] as string[],
  committed: new Map<number, number>(),
}));

vi.mock('@platformatic/kafka', async () => {
  const { EventEmitter } = await import('node:events');
  class Consumer extends EventEmitter {
    readonly generationId = 1;
    readonly memberId = 'member';
    readonly topics = { track: () => undefined };
    readonly assignments = [{ topic: 'blocks', partitions: kafka.partitions }];
    joinGroup = async () => void this.emit('consumer:group:join');
    close = async () => undefined;
    clearMetadata = () => undefined;
    findGroupCoordinator = async () => 0;
    metadata = async () => ({
      topics: new Map([
        [
          'blocks',
          {
            partitionsCount: kafka.partitions.length,
            partitions: kafka.partitions.map(() => ({ leader: 0 })),
          },
        ],
      ]),
      brokers: new Map([[0, {}]]),
    });
  }
  class ConnectionPool {
    get = async () => ({});
    close = async () => undefined;
  }
  type Commit = { partitions: { partitionIndex: number; committedOffset: bigint }[] };
  const commit = async (...[, , , , , topics]: [...unknown[], Commit[]]) => {
    const refusal = kafka.refusals.shift();
    if (refusal) throw new Error(refusal);
    for (const { partitionIndex, committedOffset } of (topics as Commit[])[0]?.partitions ?? [])
      kafka.committed.set(partitionIndex, Number(committedOffset));
  };
  return { Consumer, ConnectionPool, offsetCommitV8: { api: { async: commit } } };
});
vi.mock('../../../infra/distributed/platformatic/fetch.ts', () => ({ fetchFrom: vi.fn() }));
vi.mock('../../../infra/distributed/platformatic/record-batches.ts', () => ({
  decompressWithin: () => null,
  decodeBatches: vi.fn(),
}));

beforeEach(() => {
  kafka.partitions = [0];
  kafka.refusals = [];
  kafka.committed.clear();
  // The bytes of a partition are its number.
  vi.mocked(fetchFrom).mockImplementation(async (_connection, _topic, from) => {
    await sleep(5);
    return from.map(({ partition }) => ({
      partition,
      error: 0,
      bytes: Buffer.from([partition]),
      aborted: [],
    }));
  });
  vi.mocked(decodeBatches).mockImplementation(async (_bytes, from) => ({
    records: [{ key: null, value: Buffer.from('{}'), offset: from }],
    next: from + 1,
  }));
});

function openMember(handleMs = 0, durableMs = 0) {
  const logger = { warn: vi.fn(), debug: vi.fn() };
  const shared = { logger: logger as never, config: { KAFKA_SESSION_MS: 30_000, BATCH_BYTES: 1e6 } as never };
  const ends = async () => kafka.partitions.map((partition) => ({ partition, low: 0, high: 1000 }));
  const committed = async () =>
    new Map([...kafka.committed].map(([partition, offset]) => [partition, { offset, note: '' }]));
  const admin = { ends, committed } as never;
  const base = { clientId: 'test' } as never;
  const delivered: [number, number][] = [];
  const member = new GroupMember({
    ...shared,
    client: {
      consumer: (options: object) =>
        new PlatformaticConsumer({ ...shared, ...options, admin, base } as never),
    } as never,
    ...{ topic: 'blocks', groupId: 'load', fetchBytes: 1000 },
    growth: { ends, committed, now: Date.now },
    handle: async (records) => {
      delivered.push(...records.map(({ partition, offset }): [number, number] => [partition, offset]));
      await sleep(handleMs);
      return { durable: sleep(durableMs).then(() => undefined) };
    },
  });
  return { member, logger, delivered };
}

test('after a commit that failed late, its records are fetched again and commits go on', async () => {
  kafka.refusals = ['NOT_COORDINATOR'];
  const { member, delivered } = openMember(60, 30);
  await member.start();
  await expect.poll(() => kafka.committed.get(0) ?? 0, { timeout: 5000 }).toBeGreaterThan(2);
  await member.close();
  expect(delivered.filter(([, offset]) => offset === 0)).toHaveLength(2);
});

test('a partition that cannot be read keeps no other from being delivered, and is told once', async () => {
  kafka.partitions = [0, 1, 2];
  vi.mocked(decodeBatches).mockImplementation(async (bytes, from) => {
    if (bytes[0] === 0) throw new Error('a batch in compression 5, which is not known');
    return { records: [{ key: null, value: Buffer.from('{}'), offset: from }], next: from + 1 };
  });
  vi.mocked(fetchFrom).mockImplementation(async (_connection, _topic, from) => {
    await sleep(5);
    return from.map(({ partition }) => {
      const error = partition === 1 ? 74 : 0;
      return { partition, error, bytes: Buffer.from([partition]), aborted: [] };
    });
  });
  const { member, logger, delivered } = openMember();
  await member.start();
  await sleep(1000);
  await member.close();
  expect(delivered.length).toBeGreaterThan(10);
  expect(delivered.every(([partition]) => partition === 2)).toBe(true);
  expect(logger.warn.mock.calls.map(([{ partition, reason }]) => [partition, reason])).toEqual([
    [0, 'a batch in compression 5, which is not known'],
    [1, 'error 74 of partition 1'],
  ]);
});
