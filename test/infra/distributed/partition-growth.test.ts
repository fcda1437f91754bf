import { describe, expect, test } from 'vitest';
import {
  type Committed,
  PartitionGrowth,
  PRODUCERS_LEARN_MS,
} from '../../../infra/distributed/partition-growth.ts';
import { Random } from '../../../ingest/demo/random.ts';

const KEYS = 24;

/** A topic whose partitions increase, with producers that learn it late and a group whose members come and go. */
class Topic {
  readonly partitions: { key: number; number: number }[][] = [[], [], []];
  readonly committed = new Map<number, Committed>();
  readonly read = new Map<number, number[]>();
  now = 1_700_000_000_000;
  readonly #random: Random;
  /** The number of partitions that the producer of each key knows. */
  readonly #known = Array.from({ length: KEYS }, () => 3);
  readonly #sent = Array.from({ length: KEYS }, () => 0);

  constructor(random: Random) {
    this.#random = random;
  }

  grow(count: number): void {
    while (this.partitions.length < count) this.partitions.push([]);
  }

  send(): void {
    const key = this.#random.whole(0, KEYS - 1);
    if (this.#random.whole(0, 9) === 0) this.#known[key] = this.partitions.length;
    const number = (this.#sent[key] as number)++;
    this.partitions[key % (this.#known[key] as number)]?.push({ key, number });
  }

  member(): PartitionGrowth {
    return new PartitionGrowth({
      ends: async () => this.partitions.map(({ length }, partition) => ({ partition, low: 0, high: length })),
      committed: async () => new Map(this.committed),
      now: () => this.now,
    });
  }

  /** Fetches a few records of a partition and handles those that may be handled. */
  async poll(member: PartitionGrowth, partition: number, count: number): Promise<void> {
    const from = this.committed.get(partition)?.offset ?? 0;
    const fetched = this.partitions[partition]?.slice(from, from + count) ?? [];
    if (fetched.length === 0) return;
    const until = await member.handledUntil(partition, from + fetched.length - 1);
    const handled = fetched.slice(0, Math.max(0, until - from + 1));
    if (handled.length === 0) return;
    for (const { key, number } of handled) this.read.set(key, [...(this.read.get(key) ?? []), number]);
    this.committed.set(partition, { offset: from + handled.length, note: await member.note(partition) });
  }

  get isRead(): boolean {
    return this.partitions.every(({ length }, p) => (this.committed.get(p)?.offset ?? 0) === length);
  }
}

describe('when the partitions of a topic increase', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'the messages of a key are read in their order (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      const topic = new Topic(random);
      let members = [topic.member(), topic.member()];
      for (let step = 0; step < 4000; step++) {
        if (step === 800) topic.grow(6);
        if (step === 1200 + seed * 50) topic.grow(random.whole(0, 1) === 0 ? 12 : 18);
        if (step < 3000) topic.send();
        const what = random.whole(0, 200);
        // A rebalance, and the restart of all members.
        if (what === 0) for (const member of members) member.refresh();
        if (what === 1) members = [topic.member(), topic.member()];
        if (what === 2) topic.now += random.whole(0, 60_000);
        // The first partitions are read much more slowly.
        const partition = random.whole(0, topic.partitions.length - 1);
        if (partition < 3 && random.whole(0, 3) > 0) continue;
        await topic.poll(members[partition % 2] as PartitionGrowth, partition, random.whole(1, 20));
      }
      for (let i = 0; i < 1000 && !topic.isRead; i++) {
        const partition = i % topic.partitions.length;
        await topic.poll(members[partition % 2] as PartitionGrowth, partition, 20);
      }
      expect(topic.isRead).toBe(true);
      for (const [key, numbers] of topic.read) {
        expect(numbers, `key ${key}`).toEqual(numbers.map((_, i) => i));
      }
      expect(topic.partitions.slice(3).some(({ length }) => length > 0)).toBe(true);
    },
  );

  test('a new partition waits for the old one of its keys, and for no other', async () => {
    const topic = new Topic(new Random(1));
    const member = topic.member();
    for (const partition of [0, 1, 2]) topic.partitions[partition]?.push({ key: partition, number: 0 });
    await topic.poll(member, 0, 1);
    topic.grow(6);
    for (const partition of [3, 4]) topic.partitions[partition]?.push({ key: partition, number: 1 });
    member.refresh();
    expect(await member.handledUntil(3, 0)).toBe(0);
    expect(await member.handledUntil(4, 0)).toBe(-1);
    await topic.poll(member, 1, 1);
    expect(await member.handledUntil(4, 0)).toBe(0);
  });

  test('where the new number is no multiple, a new partition waits for all old ones', async () => {
    const topic = new Topic(new Random(1));
    const member = topic.member();
    for (const partition of [0, 1, 2]) topic.partitions[partition]?.push({ key: partition, number: 0 });
    await topic.poll(member, 0, 1);
    topic.grow(5);
    member.refresh();
    await topic.poll(member, 1, 1);
    expect(await member.handledUntil(4, 0)).toBe(-1);
    await topic.poll(member, 2, 1);
    expect(await member.handledUntil(4, 0)).toBe(0);
  });

  test('a partition waits no more when all producers have learned of it, also for its next owner', async () => {
    const topic = new Topic(new Random(1));
    const member = topic.member();
    topic.partitions[0]?.push({ key: 0, number: 0 });
    await topic.poll(member, 0, 1);
    topic.grow(6);
    topic.partitions[3]?.push({ key: 3, number: 0 }, { key: 3, number: 1 });
    member.refresh();
    await member.note(0);
    topic.now += PRODUCERS_LEARN_MS;
    await topic.poll(member, 3, 1);
    topic.partitions[0]?.push({ key: 0, number: 1 });
    expect(await member.handledUntil(3, 1)).toBe(1);
    expect(await topic.member().handledUntil(3, 1)).toBe(1);
  });

  test('offsets that another client has committed are taken as they are', async () => {
    const topic = new Topic(new Random(1));
    topic.partitions[0]?.push({ key: 0, number: 0 });
    topic.committed.set(1, { offset: 0, note: 'not ours' });
    expect(await topic.member().handledUntil(0, 0)).toBe(0);
  });
});
