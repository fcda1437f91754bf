import { setTimeout as pause } from 'node:timers/promises';
import { jsonLines } from '../../../infra/clickhouse/settings.ts';
import type { Store } from '../../../infra/ports.ts';
import { type DeadLetter, writeDeadLetters } from '../../../ingest/log/dead-letters.ts';
import type { Alert } from '../model/alert.ts';
import { alertEvents, alerts } from '../model/tables.ts';

/** A row of the events, with its body apart. */
export interface EventRow {
  readonly columns: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Whether the body is known to be valid JSON. */
  readonly isJson: boolean;
}

/** What one batch of events makes durable. */
export interface Work {
  readonly events: readonly EventRow[];
  readonly changed: readonly Alert[];
  readonly letters: readonly DeadLetter[];
  /** Whether somebody waits for it. */
  readonly isAwaited: boolean;
}

const EVENTS_PER_INSERT = 20_000;
const BYTES_PER_INSERT = 32 * 2 ** 20;
/** Time in which more is waited for after a statement, so that a busy store gets few large ones. */
const LINGER_MS = 250;
/** The same once somebody waits. */
const LINGER_AWAITED_MS = 20;
const RETRY_MS = 100;
const RETRY_MS_MAX = 5000;

interface Waiting extends Work {
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Writes events and then the alerts that they made, in order, many batches in one statement. What the store refuses
 * is written again until it takes it: all of it may be repeated, since rows have natural keys.
 */
export class AlertWriter {
  readonly #store: Store;
  readonly #deadLetterBytes: number;
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  /** Ends the wait for more. */
  #hurry: () => void = () => {};
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
    if (work.isAwaited) this.#hurry();
    this.#running ??= this.#run();
    return done.promise;
  }

  /** Resolves when everything that was added before is durable. */
  flush(): Promise<void> {
    return this.#running ? this.add({ ...NOTHING, isAwaited: true }) : Promise.resolve();
  }

  /** Gives up what cannot be written any more; the log hands it over again. */
  async stop(): Promise<void> {
    this.#closed = true;
    this.#hurry();
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
      if (this.#waiting.length > 0) await this.#linger();
    }
    this.#running = undefined;
  }

  async #linger(): Promise<void> {
    const awaited = Promise.withResolvers<void>();
    this.#hurry = awaited.resolve;
    if (this.#closed || this.#waiting.some(({ isAwaited }) => isAwaited)) awaited.resolve();
    const most = new AbortController();
    await Promise.race([
      pause(LINGER_MS, undefined, { signal: most.signal }).catch(() => {}),
      awaited.promise.then(() => pause(LINGER_AWAITED_MS)),
    ]);
    most.abort();
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
    const events = group.flatMap((work) => work.events);
    const changed = newestOf(group.flatMap((work) => work.changed));
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MS_MAX)) {
      try {
        if (events[0]) await this.#store.insertLines(alertEvents, columnsOf(events[0]), linesOf(events));
        // Behind the events: alerts never show what no event explains.
        await this.#store.insert(alerts, changed as never);
        const letters = group.flatMap(({ letters }) => letters);
        if (letters.length > 0)
          await writeDeadLetters(this.#store, letters, Date.now(), this.#deadLetterBytes);
        return true;
      } catch (error) {
        this.onFailure(error);
        if (this.#closed) return false;
        await pause(waitMs);
      }
    }
  }
}

const NOTHING: Work = { events: [], changed: [], letters: [], isAwaited: false };

/** Each alert once, as it was changed last. */
function newestOf(changed: readonly Alert[]): Alert[] {
  const projects = new Map<number, Map<number, Alert>>();
  for (const alert of changed) {
    const known = projects.get(alert.project);
    if (known) known.set(alert.iid, alert);
    else projects.set(alert.project, new Map([[alert.iid, alert]]));
  }
  return [...projects.values()].flatMap((alerts) => [...alerts.values()]);
}

const columnsOf = ({ columns }: EventRow): string[] => [...Object.keys(columns), 'body'];

/**
 * JSON lines of events. A body that is an object on one line stands in its row as it is, and the engine keeps it to
 * the letter as text: to write it as a text would cost more than all the rest.
 */
function linesOf(events: readonly EventRow[]): string {
  return events
    .map(({ columns, body, isJson }) => {
      const isOneLine = body.startsWith('{') && body.endsWith('}') && !body.includes('\n');
      return isJson && isOneLine
        ? `${jsonLines([columns]).slice(0, -2)},"body":${body}}\n`
        : jsonLines([{ ...columns, body }]);
    })
    .join('');
}
