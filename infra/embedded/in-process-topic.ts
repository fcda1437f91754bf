import { pause } from '../coordination/pause.ts';
import { messageSize } from '../message-size.ts';
import type { Ack, LogRecord, Message } from '../ports.ts';

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

interface Group {
  readonly handler: Handler;
  /** Resolves when the last batch is durable or has failed. */
  settled: Promise<unknown>;
}

/** The messages of one call of `append`, which waits until they are consumed. */
interface Publication {
  readonly messages: readonly Message[];
  readonly bytes: number;
  readonly consumed: PromiseWithResolvers<void>;
}

/** Smaller publications share a batch, because a load of one block costs as much as a load of many. */
const FEW_BYTES_MAX = 2 ** 20;
const SHARED_BYTES_MAX = 8 * 2 ** 20;

/**
 * After a batch of several publications, small publications gather for this many times its duration, at most GATHER_MS_MAX.
 * So blocks that arrive one by one leave most of the processor to the computation.
 */
const GATHER_FACTOR = 3;
const GATHER_MS_MAX = 1000;

const PARTITION = 0;
/** The first offset is the time of the start times this number, so offsets increase across restarts. */
const OFFSETS_PER_MS = 1000;

/**
 * A topic in memory. `append` resolves when every group has made the messages durable. If a group fails, it rejects with
 * that failure: the messages are neither acknowledged nor delivered again.
 */
export class InProcessTopic {
  readonly #groups = new Map<string, Group>();
  readonly #waiting: Publication[] = [];
  #offset = Date.now() * OFFSETS_PER_MS;
  #delivering: Promise<void> | undefined;
  /** Resolves when the last batch is durable, or has failed, in all groups. */
  #settled: Promise<void> = Promise.resolve();
  #gatherUntil = 0;
  /** Ends the wait for more messages. */
  #gathering = new AbortController();

  addGroup(group: string, handler: Handler): void {
    this.#groups.set(group, { handler, settled: Promise.resolve() });
  }

  /** Resolves when the messages are consumed. */
  append(messages: readonly Message[]): Promise<void> {
    const bytes = messages.reduce((sum, message) => sum + messageSize(message), 0);
    const consumed = Promise.withResolvers<void>();
    this.#waiting.push({ messages, bytes, consumed });
    if (bytes > FEW_BYTES_MAX) this.#gathering.abort();
    this.#delivering ??= this.#deliver().finally(() => {
      this.#delivering = undefined;
    });
    return consumed.promise;
  }

  /** Resolves when a group has consumed all messages that were appended before the call. */
  async waitUntilConsumed(group: string): Promise<void> {
    this.#gathering.abort();
    await Promise.allSettled(this.#waiting.map(({ consumed }) => consumed.promise));
    await this.#groups.get(group)?.settled;
  }

  async close(): Promise<void> {
    this.#gathering.abort();
    await this.#delivering;
    await this.#settled;
  }

  async #deliver(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      await this.#handle(this.#take());
    }
  }

  /** Lets small publications gather, at least until the last batch is settled. Returns at once if one is large. */
  async #gather(): Promise<void> {
    this.#gathering = new AbortController();
    const { signal } = this.#gathering;
    if (this.#waiting.some(({ bytes }) => bytes > FEW_BYTES_MAX)) return;
    const isEnded = new Promise((resolve) => signal.addEventListener('abort', resolve));
    await Promise.race([this.#settled, isEnded]);
    const ms = this.#gatherUntil - performance.now();
    if (ms > 0 && !signal.aborted) await pause(ms, signal);
  }

  #take(): Publication[] {
    let bytes = 0;
    let count = 0;
    for (const publication of this.#waiting) {
      bytes += publication.bytes;
      const hasRoom = publication.bytes <= FEW_BYTES_MAX && bytes <= SHARED_BYTES_MAX;
      if (count > 0 && !hasRoom) break;
      count++;
      if (publication.bytes > FEW_BYTES_MAX) break;
    }
    return this.#waiting.splice(0, count);
  }

  /** Returns when the next batch can be delivered, which may be before this one is durable. */
  async #handle(publications: readonly Publication[]): Promise<void> {
    const beganAt = performance.now();
    const records = this.#recordsOf(publications);
    const groups = [...this.#groups.values()];
    const acks = groups.map(({ handler }) => handler(records));
    const durable = Promise.allSettled(acks.map(async (ack) => (await ack).durable));
    for (const [i, group] of groups.entries()) {
      const settled = Promise.resolve(acks[i]).then((ack) => ack?.durable);
      group.settled = Promise.allSettled([group.settled, settled]);
    }
    await Promise.allSettled(acks);
    const before = this.#settled;
    this.#settled = durable.then(async (outcomes) => {
      await before;
      const endedAt = performance.now();
      const gatherMs = publications.length > 1 ? GATHER_FACTOR * (endedAt - beganAt) : 0;
      this.#gatherUntil = endedAt + Math.min(gatherMs, GATHER_MS_MAX);
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      for (const { consumed } of publications) {
        if (failed) consumed.reject(failed.reason);
        else consumed.resolve();
      }
    });
  }

  #recordsOf(publications: readonly Publication[]): LogRecord[] {
    const records: LogRecord[] = [];
    for (const { messages } of publications) {
      // Mutates the message: a copy would build a lazy value.
      for (const message of messages) {
        records.push(Object.assign(message, { partition: PARTITION, offset: this.#offset++ }));
      }
    }
    return records;
  }
}
