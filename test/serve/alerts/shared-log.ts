import type { Ack, Log, LogRecord, Message } from '../../../infra/ports.ts';

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

/** The log of one process, which receives records only when the test delivers them. */
export interface ManualLog extends Log {
  deliver(batch: readonly LogRecord[]): Promise<Ack>;
}

/**
 * A log of two partitions for several processes. The test decides which records a process receives and when, so that
 * it can reproduce rebalances, pauses and kills that take Kafka many seconds.
 */
export class SharedLog {
  readonly partitions: readonly LogRecord[][] = [[], []];
  /** Delays every publish until it resolves, as if the brokers were unreachable. */
  outage: Promise<void> | undefined;

  /** The log as one process sees it. */
  connect(): ManualLog {
    let handler: Handler = async () => {
      throw new Error('the log is not consumed');
    };
    return {
      system: 'test',
      messageBytesMax: Number.POSITIVE_INFINITY,
      publish: async (_topic, messages) => {
        await this.outage;
        for (const message of messages) this.append(message);
      },
      consume: async (_topic, _group, consumer) => {
        handler = consumer;
      },
      deliver: (batch) => handler(batch),
      waitUntilConsumed: async () => {},
      deadLetter: async (_topic, messages) => messages.map(() => null),
      readDeadLetters: async (_topic, offsets) => offsets.map(() => null),
      lag: async () => [],
      check: async () => undefined,
      close: async () => {},
    };
  }

  /** Records of both partitions. */
  get records(): LogRecord[] {
    return this.partitions.flat();
  }

  /** Appends a copy: a log need not return the bytes that were published. */
  append({ key, value }: Message): void {
    const partition = Number(key) % this.partitions.length;
    const records = this.partitions[partition] as LogRecord[];
    records.push({ key, value: Buffer.from(value), partition, offset: records.length });
  }
}
