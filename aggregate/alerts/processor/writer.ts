import { jsonLines } from '../../../infra/clickhouse/settings.ts';
import { Batcher } from '../../../infra/coordination/batcher.ts';
import { retry } from '../../../infra/coordination/retry.ts';
import type { Store } from '../../../infra/ports.ts';
import { type DeadLetter, writeDeadLetters } from '../../../ingest/log/dead-letters.ts';
import type { Alert } from '../model/alert.ts';
import { alertEvents, alerts } from '../model/tables.ts';

/** A row of `alert_events`; the body is separate from the other columns. */
export interface EventInsert {
  readonly columns: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Whether the body is known to be valid JSON. */
  readonly isJson: boolean;
}

/** The rows of one batch of events. */
export interface AlertWrite {
  readonly events: readonly EventInsert[];
  readonly changed: readonly Alert[];
  readonly deadLetters: readonly DeadLetter[];
  /** Whether a user waits for it. */
  readonly isUrgent: boolean;
}

const EVENTS_PER_INSERT = 20_000;
const BYTES_PER_INSERT = 32 * 2 ** 20;
/** How long the writer collects more rows after a statement, so that a busy store gets few large inserts. */
const LINGER_MS = 250;
/** The same when a write is urgent. */
const LINGER_URGENT_MS = 20;
const RETRY_MS = 100;
const RETRY_MS_MAX = 5000;

/**
 * Writes events and then the alerts that they changed, in order, many batches in one statement. A failed write is
 * repeated until it succeeds or the writer stops; repeated rows have the same keys and replace each other.
 */
export class AlertWriter {
  readonly #store: Store;
  readonly #deadLetterBytes: number;
  readonly #onFailure: (error: unknown) => void;
  readonly #batcher = new Batcher<AlertWrite>((writes) => this.#writeUntilDurable(writes), {
    limits: [
      { max: EVENTS_PER_INSERT, of: ({ events }) => events.length },
      { max: BYTES_PER_INSERT, of: ({ events }) => events.reduce((sum, { body }) => sum + body.length, 0) },
    ],
    lingerMs: ({ isUrgent }) => (isUrgent ? LINGER_URGENT_MS : LINGER_MS),
  });
  #isStopped = false;

  /**
   * `deadLetterBytes` is the number of bytes that a dead letter stores of its body; `onFailure` is called with the
   * error before a write is repeated.
   */
  constructor(store: Store, deadLetterBytes: number, onFailure: (error: unknown) => void) {
    this.#store = store;
    this.#deadLetterBytes = deadLetterBytes;
    this.#onFailure = onFailure;
  }

  /** Resolves when the rows are durable; rejects with the store's error when the writer stops before. */
  add(write: AlertWrite): Promise<void> {
    return this.#batcher.add(write);
  }

  /** Resolves when everything that was added before is durable. */
  flush(): Promise<void> {
    return this.#batcher.isIdle ? Promise.resolve() : this.add({ ...EMPTY, isUrgent: true });
  }

  /** Writes what is queued; a batch that fails from now on is not repeated. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#batcher.drain();
  }

  async #writeUntilDurable(writes: readonly AlertWrite[]): Promise<[]> {
    const attempt = () =>
      this.#write(writes).catch((error) => {
        this.#onFailure(error);
        throw error;
      });
    await retry(attempt, { waitMs: RETRY_MS, waitMsMax: RETRY_MS_MAX, isFinal: () => this.#isStopped });
    return [];
  }

  async #write(writes: readonly AlertWrite[]): Promise<void> {
    const events = writes.flatMap((write) => write.events);
    if (events[0]) await this.#store.insertLines(alertEvents, columnsOf(events[0]), linesOf(events));
    // After the events: no alert may show a change whose event is not stored.
    await this.#store.insert(alerts, newestOf(writes.flatMap((write) => write.changed)) as never);
    const deadLetters = writes.flatMap((write) => write.deadLetters);
    await writeDeadLetters(this.#store, deadLetters, Date.now(), this.#deadLetterBytes);
  }
}

const EMPTY: AlertWrite = { events: [], changed: [], deadLetters: [], isUrgent: false };

/** Each alert once, with its last change. */
function newestOf(changed: readonly Alert[]): Alert[] {
  const projects = new Map<number, Map<number, Alert>>();
  for (const alert of changed) {
    const known = projects.get(alert.project);
    if (known) known.set(alert.iid, alert);
    else projects.set(alert.project, new Map([[alert.iid, alert]]));
  }
  return [...projects.values()].flatMap((alerts) => [...alerts.values()]);
}

const columnsOf = ({ columns }: EventInsert): string[] => [...Object.keys(columns), 'body'];

/**
 * JSON lines of events. A body that is a JSON object on one line is inserted without quotes, and the engine stores its
 * text unchanged in the string column: to quote it would cost more than everything else.
 */
function linesOf(events: readonly EventInsert[]): string {
  return events
    .map(({ columns, body, isJson }) => {
      const isOneLine = body.startsWith('{') && body.endsWith('}') && !body.includes('\n');
      return isJson && isOneLine
        ? `${jsonLines([columns]).slice(0, -2)},"body":${body}}\n`
        : jsonLines([{ ...columns, body }]);
    })
    .join('');
}
