/** The operations of Kafka that the log needs. */
export interface KafkaClient {
  readonly admin: KafkaAdmin;
  producer(): KafkaProducer;
  consumer(options: KafkaConsumerOptions): KafkaConsumer;
  /** Reads the values at these offsets of a partition. All must be stored; values that arrive too late are omitted. */
  read(topic: string, partition: number, offsets: ReadonlySet<number>): Promise<Map<number, Buffer>>;
  /** Whether another attempt may succeed. */
  isRetriable(error: unknown): boolean;
}

/** The first and the next offset of a partition. */
export interface PartitionEnds {
  readonly partition: number;
  readonly low: number;
  readonly high: number;
}

/** Whether a group that has committed `offset` has consumed a partition up to its end at that time. */
export const isConsumed = ({ low, high }: PartitionEnds, offset = -1): boolean =>
  high === low || offset >= high;

export interface KafkaAdmin {
  connect(): Promise<void>;
  topics(): Promise<string[]>;
  create(topics: readonly NewTopic[]): Promise<void>;
  partitionsOf(topic: string): Promise<number>;
  /** Rejects if this user may not describe the topic. */
  settingsOf(topic: string, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  ends(topic: string): Promise<PartitionEnds[]>;
  /** The committed offset of each partition. */
  committed(topic: string, groupId: string): Promise<Map<number, number>>;
  /** Resolves when a broker answers. */
  check(): Promise<void>;
  disconnect(): Promise<void>;
}

export interface NewTopic {
  readonly topic: string;
  readonly partitions: number;
  readonly replicas: number;
  readonly settings: Readonly<Record<string, string>>;
}

export interface OutgoingMessage {
  readonly key: string | null;
  readonly value: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the partition of the key. */
  readonly partition?: number;
}

export interface KafkaProducer {
  connect(): Promise<void>;
  /** Sends messages. Waits for all replicas, and for brokers that are down. Returns the offset of the first message. */
  send(topic: string, messages: readonly OutgoingMessage[]): Promise<string | null>;
  disconnect(): Promise<void>;
}

export interface KafkaConsumerOptions {
  readonly topic: string;
  readonly groupId: string;
  /** Compressed bytes of one fetch. */
  readonly fetchBytes: number;
}

/** A member of a group. */
export interface KafkaConsumer {
  /**
   * Joins the group and delivers batches: in order within a partition, concurrently for different ones. Throws if the
   * brokers do not answer; call it again to retry. If a handler throws, the partition is fetched again from its committed
   * offset.
   */
  start(handle: (batch: FetchedBatch) => Promise<void>): Promise<void>;
  /** Stops deliveries. Offsets can still be committed. */
  stop(): Promise<void>;
  disconnect(): Promise<void>;
}

interface FetchedRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly offset: number;
  /** Why the value is truncated; absent if it is whole. */
  readonly cut?: string;
  /** The header `traceparent`; any producer can write it. */
  readonly traceparent?: string;
}

export interface FetchedBatch {
  readonly partition: number;
  /** Empty if the batch contains only transaction markers or aborted transactions. */
  readonly records: readonly FetchedRecord[];
  /** The offset after the batch, which may end with transaction markers. */
  readonly next: number;
  heartbeat(): Promise<void>;
  /** Whether the partition still belongs to this member and was not fetched again meanwhile. */
  isCurrent(): boolean;
  /** Pauses the partition; the returned function resumes it. */
  pause(): () => void;
  /** Continues to fetch the partition at this offset. */
  resolve(offset: number): void;
  /** Commits everything before this offset. */
  commit(offset: number): Promise<void>;
}
