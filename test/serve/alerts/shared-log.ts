import type { Ack, Log, LogRecord, Message } from '../../../infra/ports.ts';

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

/**
 * A log of two partitions for several processes, which hands over what the test says and when it says so: what Kafka
 * does over many seconds of kills, pauses and changes of hands.
 */
export class SharedLog {
  readonly partitions: readonly LogRecord[][] = [[], []];
  /** Held back while it is set: as if the brokers were away. */
  away: Promise<void> | undefined;

  /** The log as one process knows it. */
  seat(): Log & { hand(batch: readonly LogRecord[]): Promise<Ack> } {
    let handler: Handler = async () => {
      throw new Error('nobody follows');
    };
    return {
      redelivers: true,
      messageBytesMax: Number.POSITIVE_INFINITY,
      publish: async (_topic, messages) => {
        await this.away;
        for (const message of messages) this.append(message);
      },
      consume: async (_topic, _group, given) => {
        handler = given;
      },
      hand: (batch) => handler(batch),
      subscribe: async () => {},
      waitUntilConsumed: async () => {},
      deadLetter: async (_topic, letters) => letters.map(() => null),
      readDeadLetters: async (_topic, places) => places.map(() => null),
      lag: async () => [],
      close: async () => {},
    };
  }

  append(message: Message): void {
    const partition = Number(message.key) % this.partitions.length;
    const kept = this.partitions[partition] as LogRecord[];
    kept.push({ ...message, partition, offset: kept.length });
  }
}
