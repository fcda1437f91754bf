import { setTimeout as pause } from 'node:timers/promises';
import type { Store } from '../../infra/runtime.ts';
import { bury, type DeadLetter } from '../../ingest/dead-letters.ts';
import type { Alert } from './alert.ts';
import { alertEvents, alerts } from './tables.ts';

/** What one batch of events makes durable. */
export interface Work {
  readonly events: readonly (Readonly<Record<string, unknown>> & { readonly body: string })[];
  readonly changed: readonly Alert[];
  readonly letters: readonly DeadLetter[];
}

const EVENTS_PER_INSERT = 20_000;
const BYTES_PER_INSERT = 32 * 2 ** 20;
/** Time in which more is waited for after a statement, so that a busy store gets few large ones. */
const LINGER_MS = 50;
const RETRY_MS = 100;
const RETRY_MS_MAX = 5000;

interface Waiting extends Work {
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Writes events and then the alerts that they made, in order, many batches in one statement. What the store refuses
 * is written again until it takes it: all of it may be repeated, since rows have natural keys.
 */
export class Writer {
  readonly #store: Store;
  readonly #deadLetterBytes: number;
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  /** Called with what went wrong before it is tried again. */
  onFailure: (error: unknown) => void = () => {};

  constructor(store: Store, deadLetterBytes: number) {
    this.#store = store;
    this.#deadLetterBytes = deadLetterBytes;
  }

  /** Resolves when the work is durable. */
  add(work: Work): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ ...work, done });
    this.#running ??= this.#run();
    return done.promise;
  }

  /** Resolves when everything that was added before is durable. */
  settle(): Promise<void> {
    return this.#running ? this.add({ events: [], changed: [], letters: [] }) : Promise.resolve();
  }

  /** Gives up what cannot be written any more; the log hands it over again. */
  async stop(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Batches of the same moment get into the same statement.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const group = this.#take();
      const written = await this.#write(group);
      for (const { done } of group) {
        if (written) done.resolve();
        else done.reject(new Error('the store took nothing until the end'));
      }
      if (this.#waiting.length > 0) await pause(LINGER_MS);
    }
    this.#running = undefined;
  }

  #take(): Waiting[] {
    let events = 0;
    let bytes = 0;
    let count = 0;
    for (const work of this.#waiting) {
      events += work.events.length;
      bytes += work.events.reduce((sum, { body }) => sum + body.length, 0);
      if (count > 0 && (events > EVENTS_PER_INSERT || bytes > BYTES_PER_INSERT)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #write(group: readonly Waiting[]): Promise<boolean> {
    const newest = new Map<string, Alert>();
    for (const alert of group.flatMap(({ changed }) => changed)) {
      newest.set(`${alert.project}/${alert.iid}`, alert);
    }
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      try {
        await this.#store.insert(
          alertEvents,
          group.flatMap(({ events }) => events),
        );
        // Behind the events: alerts never show what no event explains.
        await this.#store.insert(alerts, [...newest.values()] as never);
        const letters = group.flatMap(({ letters }) => letters);
        if (letters.length > 0) await bury(this.#store, letters, Date.now(), this.#deadLetterBytes);
        return true;
      } catch (error) {
        this.onFailure(error);
        if (this.#closed) return false;
        await pause(waitMs);
      }
    }
  }
}
