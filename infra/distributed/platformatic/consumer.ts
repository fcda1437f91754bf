import { setTimeout as pause } from 'node:timers/promises';
import {
  type BaseOptions,
  type ClusterMetadata,
  ConnectionPool,
  Consumer,
  offsetCommitV8,
} from '@platformatic/kafka';
import type { InfraSettings } from '../../config/settings.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import type { FetchedBatch, KafkaAdmin, KafkaConsumer, KafkaConsumerOptions } from '../kafka-client.ts';
import { type FetchedPartition, fetchFrom } from './fetch.ts';
import { type DecodedRecords, decodeBatches, decompressWithin } from './record-batches.ts';
import { Unreadable } from './unreadable.ts';

interface PlatformaticConsumerOptions extends KafkaConsumerOptions {
  readonly config: InfraSettings;
  readonly logger: Logger;
  readonly admin: KafkaAdmin;
  /** How clients connect. */
  readonly base: BaseOptions;
}

/** Interval in which a member learns that others have joined or left. */
const HEARTBEAT_MS = 1000;
/** A fetch waits for messages; less where other partitions become free meanwhile. */
const FETCH_WAIT_MS = 500;
const BUSY_WAIT_MS = 50;
/** Wait before a fetch that failed is repeated, and before a member that failed joins again. */
const RETRY_MS = 200;
const RESTART_MS = 1000;
const IDLE_MS = 20;
const OFFSET_OUT_OF_RANGE = 1;
/** As kafkajs names it, so that members with either client are in one group. */
const PROTOCOL = { name: 'RoundRobinAssigner', version: 0 } as const;

type Handle = (batch: FetchedBatch) => Promise<void>;

/** What a member may do between two assignments. */
interface Membership {
  readonly consumer: Consumer;
  readonly generation: number;
  readonly member: string;
  /** The offset from which each assigned partition is fetched. */
  readonly positions: Map<number, number>;
  /** Seeks of each partition: a batch from before one must not move it on. */
  readonly seeks: Map<number, number>;
}

/**
 * A member of a group that the client keeps: it joins, lives and leaves by it. Its own streams hand over single
 * messages, decompress without a limit and commit no text, so that batches are fetched and offsets committed here.
 */
export class PlatformaticConsumer implements KafkaConsumer {
  readonly #options: PlatformaticConsumerOptions;
  /** A fetch waits at the broker, and must not let heartbeats wait behind it. */
  readonly #fetches: ConnectionPool;
  readonly #commits: ConnectionPool;
  #consumer: Consumer | undefined;
  #membership: Membership | undefined;
  #partitions = 0;
  #isStopped = false;
  #running: Promise<void> | undefined;
  readonly #busy = new Map<number, Promise<void>>();
  readonly #paused = new Set<number>();
  readonly #unreadable: Unreadable;

  constructor(options: PlatformaticConsumerOptions) {
    this.#options = options;
    const { clientId } = options.base;
    const { logger, topic } = options;
    this.#unreadable = new Unreadable((partition, reason, wait_ms) =>
      logger.warn({ topic, partition, wait_ms, reason }, 'a partition cannot be read'),
    );
    this.#fetches = new ConnectionPool(clientId, options.base);
    this.#commits = new ConnectionPool(clientId, options.base);
  }

  async start(handle: Handle): Promise<void> {
    await this.#join();
    this.#running ??= this.#run(handle);
  }

  seek(partition: number, offset: number): void {
    const { positions, seeks } = this.#membership ?? {};
    if (!positions?.has(partition)) return;
    positions.set(partition, offset);
    seeks?.set(partition, (seeks.get(partition) ?? 0) + 1);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await Promise.all(this.#busy.values());
  }

  async disconnect(): Promise<void> {
    this.#isStopped = true;
    await this.#leave();
    await Promise.all([this.#fetches.close(), this.#commits.close()]);
  }

  async #join(): Promise<void> {
    const { config, groupId, topic, base, logger } = this.#options;
    await this.#leave();
    const consumer = new Consumer({
      ...base,
      groupId,
      autocommit: false,
      protocols: [PROTOCOL],
      sessionTimeout: config.KAFKA_SESSION_MS,
      heartbeatInterval: Math.min(HEARTBEAT_MS, Math.floor(config.KAFKA_SESSION_MS / 10)),
      rebalanceTimeout: Math.max(60_000, config.KAFKA_SESSION_MS),
      retries: 5,
      retryDelay: RETRY_MS,
    });
    this.#consumer = consumer;
    consumer.topics.track(topic);
    const failed = (error: unknown) => {
      if (this.#consumer !== consumer || this.#isStopped) return;
      logger.warn({ topic, wait_ms: RESTART_MS, reason: reasonOf(error) }, 'the consumer restarts');
      this.#membership = undefined;
      this.#consumer = undefined;
      void consumer.close(true).catch(() => undefined);
    };
    consumer.on('error', failed);
    consumer.on('consumer:heartbeat:stalled', ({ lastError }) =>
      failed(lastError ?? 'no heartbeat is answered'),
    );
    consumer.on('consumer:group:rebalance', () => {
      this.#membership = undefined;
    });
    consumer.on('consumer:group:join', () => void this.#take(consumer).catch(failed));
    try {
      await consumer.joinGroup({});
    } catch (error) {
      await this.#leave();
      throw error;
    }
  }

  async #leave(): Promise<void> {
    const consumer = this.#consumer;
    this.#consumer = undefined;
    this.#membership = undefined;
    await consumer?.close(true).catch(() => undefined);
  }

  /** Takes what the group has assigned, from the committed offsets on. */
  async #take(consumer: Consumer): Promise<void> {
    const { admin, topic, groupId, onJoin } = this.#options;
    const { generationId: generation, memberId: member, assignments } = consumer;
    const partitions = assignments?.find((one) => one.topic === topic)?.partitions ?? [];
    const [ends, committed] = await Promise.all([admin.ends(topic), admin.committed(topic, groupId)]);
    // A later assignment came meanwhile.
    if (this.#consumer !== consumer || consumer.generationId !== generation || member === null) return;
    onJoin();
    this.#partitions = ends.length;
    const positions = new Map(
      partitions.map((partition) => {
        const low = ends.find((end) => end.partition === partition)?.low ?? 0;
        return [partition, Math.max(low, committed.get(partition)?.offset ?? 0)];
      }),
    );
    this.#membership = { consumer, generation, member, positions, seeks: new Map() };
  }

  async #run(handle: Handle): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (this.#consumer === undefined) {
          await pause(RESTART_MS);
          if (!this.#isStopped) await this.#join();
        } else if (this.#membership === undefined) await pause(IDLE_MS);
        else await this.#fetchAll(this.#membership, handle);
      } catch (error) {
        this.#options.logger.debug(
          { topic: this.#options.topic, reason: reasonOf(error) },
          'a fetch is repeated',
        );
        await pause(RETRY_MS);
      }
    }
  }

  async #fetchAll(membership: Membership, handle: Handle): Promise<void> {
    const { topic } = this.#options;
    const metadata = await membership.consumer.metadata({ topics: [topic] });
    await this.#followPartitions(membership, metadata);
    const leaders = metadata.topics.get(topic)?.partitions ?? [];
    const free = [...membership.positions.keys()].filter(
      (one) => !this.#busy.has(one) && !this.#paused.has(one) && !this.#unreadable.waits(one),
    );
    if (free.length === 0) return pause(IDLE_MS);
    const byLeader = Map.groupBy(free, (partition) => leaders[partition]?.leader ?? -1);
    // All end before the next ones begin: a partition must not be fetched twice at a time.
    const outcomes = await Promise.allSettled(
      [...byLeader].map(([leader, some]) => this.#fetch(membership, metadata, leader, some, handle)),
    );
    for (const one of outcomes) if (one.status === 'rejected') throw one.reason;
  }

  /** New partitions are assigned when a member joins again. */
  async #followPartitions({ consumer }: Membership, metadata: ClusterMetadata): Promise<void> {
    const partitions = metadata.topics.get(this.#options.topic)?.partitionsCount ?? 0;
    if (partitions <= this.#partitions) return;
    this.#partitions = partitions;
    await consumer.joinGroup({});
  }

  async #fetch(
    membership: Membership,
    metadata: ClusterMetadata,
    leader: number,
    partitions: readonly number[],
    handle: Handle,
  ): Promise<void> {
    const { topic, fetchBytes, config } = this.#options;
    const broker = metadata.brokers.get(leader);
    if (!broker) {
      membership.consumer.clearMetadata();
      for (const one of partitions) this.#unreadable.add(one, 'it has no leader');
      return;
    }
    const connection = await this.#fetches.get(broker);
    const from = partitions.map((partition) => ({
      partition,
      offset: membership.positions.get(partition) ?? 0,
    }));
    const areSomeAway = this.#busy.size > 0 || this.#paused.size > 0 || this.#unreadable.areSome;
    const waitMs = areSomeAway ? BUSY_WAIT_MS : FETCH_WAIT_MS;
    const fetched = await fetchFrom(connection, topic, from, { waitMs, bytes: fetchBytes });
    const open = decompressWithin(config);
    for (const one of fetched) {
      const { partition } = one;
      const asked = from.find((other) => other.partition === partition);
      if (!asked || !this.#isCurrent(membership, partition, asked.offset)) continue;
      try {
        if (one.error !== 0) await this.#refused(membership, one);
        else if (one.bytes.length > 0) {
          const { records, next } = await decodeBatches(one.bytes, asked.offset, open, one.aborted);
          if (!this.#isCurrent(membership, partition, asked.offset)) continue;
          if (next > asked.offset) this.#handOver(membership, partition, { records, next }, handle);
        }
        this.#unreadable.delete(partition);
      } catch (error) {
        this.#unreadable.add(partition, error);
      }
    }
  }

  #isCurrent(membership: Membership, partition: number, offset: number): boolean {
    return (
      this.#membership === membership && !this.#isStopped && membership.positions.get(partition) === offset
    );
  }

  async #refused(membership: Membership, { partition, error }: FetchedPartition): Promise<void> {
    if (error !== OFFSET_OUT_OF_RANGE) {
      membership.consumer.clearMetadata();
      throw new Error(`error ${error} of partition ${partition}`);
    }
    const ends = await this.#options.admin.ends(this.#options.topic);
    membership.positions.set(partition, ends.find((end) => end.partition === partition)?.low ?? 0);
  }

  #handOver(
    membership: Membership,
    partition: number,
    { records, next }: DecodedRecords,
    handle: Handle,
  ): void {
    const seeks = membership.seeks.get(partition);
    const isSought = () => membership.seeks.get(partition) !== seeks;
    const isCurrent = () => this.#membership === membership && !this.#isStopped && !isSought();
    const batch: FetchedBatch = {
      partition,
      records,
      next,
      heartbeat: async () => undefined,
      isCurrent,
      pause: () => {
        this.#paused.add(partition);
        return () => void this.#paused.delete(partition);
      },
      resolve: (offset) => {
        if (!isSought()) membership.positions.set(partition, offset);
      },
      commit: (offset, note) => this.#commit(membership, partition, offset, note),
    };
    const handled = handle(batch)
      .catch(async (error) => {
        const { logger, topic } = this.#options;
        logger.debug({ topic, partition, reason: reasonOf(error) }, 'a partition is fetched again');
        await pause(RETRY_MS);
        await this.#fetchAgain(membership, partition);
      })
      .finally(() => this.#busy.delete(partition));
    this.#busy.set(partition, handled);
  }

  /** From the committed offset. */
  async #fetchAgain(membership: Membership, partition: number): Promise<void> {
    const { admin, topic, groupId } = this.#options;
    while (this.#membership === membership && !this.#isStopped) {
      try {
        const [ends, committed] = await Promise.all([admin.ends(topic), admin.committed(topic, groupId)]);
        const low = ends.find((end) => end.partition === partition)?.low ?? 0;
        membership.positions.set(partition, Math.max(low, committed.get(partition)?.offset ?? 0));
        return;
      } catch {
        await pause(RETRY_MS);
      }
    }
  }

  /** The client commits no text with an offset. */
  async #commit(
    { consumer, generation, member }: Membership,
    partition: number,
    offset: number,
    note: string,
  ) {
    const { topic, groupId } = this.#options;
    const coordinator = await consumer.findGroupCoordinator();
    const { brokers } = await consumer.metadata({ topics: [topic] });
    const broker = brokers.get(coordinator);
    if (!broker) throw new Error(`the coordinator of ${groupId} is not known`);
    const connection = await this.#commits.get(broker);
    const committed = {
      partitionIndex: partition,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: -1,
      committedMetadata: note,
    };
    await offsetCommitV8.api.async(connection, groupId, generation, member, null, [
      { name: topic, partitions: [committed] },
    ]);
  }
}
