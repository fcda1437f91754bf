import { inTime } from '../coordination/in-time.ts';
import { retry } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Ack, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';

interface LateLogOptions {
  /** Connects, or throws after a time. */
  readonly open: () => Promise<Log>;
  readonly messageBytesMax: number;
  readonly logger: Logger;
}

const WAIT_MS = 500;
const WAIT_MS_MAX = 5000;
/** Time that a process waits for its place in a group, where it can do without for a while. */
const JOIN_MS_MAX = 10_000;

/**
 * The log, also before it answers: what is published or read waits for it, and what asks for its state fails at once. A
 * process that needs the log waits for its groups as well; one that does not is started without them.
 */
export class LateLog implements Log {
  readonly system = 'kafka';
  readonly messageBytesMax: number;
  readonly #options: LateLogOptions;
  readonly #opened = Promise.withResolvers<Log>();
  readonly #closing = new AbortController();
  #log: Log | undefined;
  #isNeeded = true;

  constructor(options: LateLogOptions) {
    this.#options = options;
    this.messageBytesMax = options.messageBytesMax;
    // Whoever waits for it is told.
    this.#opened.promise.catch(() => undefined);
  }

  /** Connects. A log that is not needed is connected to for as long as it takes, whatever it answers. */
  async connect(isNeeded: boolean): Promise<void> {
    this.#isNeeded = isNeeded;
    if (isNeeded) return this.#take(await this.#options.open());
    const open = async () => {
      try {
        await this.#take(await this.#options.open());
      } catch (error) {
        const reason = error instanceof ProductError ? `${error.message}: ${error.detail}` : reasonOf(error);
        this.#options.logger.warn({ reason }, 'the log does not answer; it is tried again');
        throw error;
      }
    };
    await retry(open, { waitMs: WAIT_MS, waitMsMax: WAIT_MS_MAX, signal: this.#closing.signal });
  }

  async publish(topic: string, messages: readonly Message[]): Promise<void> {
    return (await this.#opened.promise).publish(topic, messages);
  }

  consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    return this.#join((log) => log.consume(topic, group, handler));
  }

  async waitUntilConsumed(topic: string, group: string, signal?: AbortSignal): Promise<void> {
    return (await this.#opened.promise).waitUntilConsumed(topic, group, signal);
  }

  async deadLetter(topic: string, messages: readonly DeadLetterMessage[]): Promise<(string | null)[]> {
    return (await this.#opened.promise).deadLetter(topic, messages);
  }

  async readDeadLetters(topic: string, offsets: readonly string[]): Promise<(Buffer | null)[]> {
    return this.#now().readDeadLetters(topic, offsets);
  }

  async lag(): Promise<Lag[]> {
    return this.#now().lag();
  }

  async check(): Promise<void> {
    return this.#now().check();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#opened.reject(new Error('the log is closed'));
    await this.#log?.close();
  }

  async #take(log: Log): Promise<void> {
    if (this.#closing.signal.aborted) return log.close();
    this.#log = log;
    this.#opened.resolve(log);
  }

  #now(): Log {
    if (this.#log) return this.#log;
    throw new ProductError('service_unreachable', 'Kafka does not answer', 'it has not since the start');
  }

  async #join(join: (log: Log) => Promise<void>): Promise<void> {
    const joined = this.#opened.promise.then(join);
    if (this.#isNeeded) return joined;
    joined.catch((error) => {
      if (!this.#closing.signal.aborted)
        this.#options.logger.error(
          { reason: reasonOf(error) },
          'no member of the group: nothing is consumed',
        );
    });
    if (this.#log) await inTime(JOIN_MS_MAX, joined).catch(() => undefined);
  }
}
