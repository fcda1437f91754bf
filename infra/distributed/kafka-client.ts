/** What the log needs of Kafka. */
export interface KafkaClient {
  readonly admin: KafkaAdmin;
  producer(): KafkaProducer;
  consumer(options: KafkaConsumerOptions): KafkaConsumer;
  /** The values of a partition at some of its offsets, which are all stored. What takes longer than a time is left out. */
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

/** Whether a group that has committed `offset` has consumed a partition up to an end. */
export const isConsumed = ({ low, high }: PartitionEnds, offset = -1): boolean =>
  high === low || offset >= high;

export interface KafkaAdmin {
  connect(): Promise<void>;
  topics(): Promise<string[]>;
  create(topics: readonly NewTopic[]): Promise<void>;
  partitionsOf(topic: string): Promise<number>;
  /** Fails where this user may not see them. */
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
  /** That of its key when absent. */
  readonly partition?: number;
}

export interface KafkaProducer {
  connect(): Promise<void>;
  /** Waits for all replicas, and while Kafka is away; returns the offset of the first message. */
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
   * Joins the group and hands over batches: those of a partition one after the other, those of different partitions
   * concurrently. Throws when the brokers do not answer; it can be called again. When a handler throws, the partition is
   * fetched again from its committed offset.
   */
  start(handle: (batch: FetchedBatch) => Promise<void>): Promise<void>;
  /** Hands over nothing more. Offsets can still be committed. */
  stop(): Promise<void>;
  disconnect(): Promise<void>;
}

interface FetchedRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly offset: number;
  /** Why there is only the beginning of the value. */
  readonly cut?: string;
  /** The header of that name, as anybody may have written it. */
  readonly traceparent?: string;
}

export interface FetchedBatch {
  readonly partition: number;
  /** None where all that was fetched are markers or aborted transactions. */
  readonly records: readonly FetchedRecord[];
  /** The offset behind all that was fetched, which may be markers behind the last record. */
  readonly next: number;
  /** Tells the group that this member lives. */
  heartbeat(): Promise<void>;
  /** Whether the partition still belongs to this member, and nothing else was fetched of it meanwhile. */
  isCurrent(): boolean;
  /** Fetches nothing of the partition until the function that it returns is called. */
  pause(): () => void;
  /** The partition is fetched behind this offset from now on. */
  resolve(offset: number): void;
  /** Commits that everything before this offset is handled. */
  commit(offset: number): Promise<void>;
}
