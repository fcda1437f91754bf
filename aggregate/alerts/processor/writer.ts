import { chunkBySize } from '../../../infra/chunk.ts';
import { Batcher } from '../../../infra/coordination/batcher.ts';
import { retry } from '../../../infra/coordination/retry.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import type { Store, Traceparent } from '../../../infra/ports.ts';
import { inSpan, withoutSpan } from '../../../infra/tracing/spans.ts';
import type { DeadLetterQueue } from '../../../ingest/dead-letters/dead-letter-queue.ts';
import { type Alert, alertBytes, withoutTexts } from '../model/alert.ts';
import { alertEvents, alerts } from '../model/tables.ts';
import { columnsOf, deliveryLetter, type EventInsert, linesOf, replacementsOf } from './event-insert.ts';

/** The rows of one batch of events. */
export interface AlertWrite {
  readonly events: readonly EventInsert[];
  readonly changed: readonly Alert[];
  /** Whether a user waits for the write. */
  readonly isUrgent: boolean;
  /** Trace contexts of the events. */
  readonly causes?: readonly Traceparent[];
}

const EVENTS_PER_INSERT = 20_000;
const BYTES_PER_INSERT = 16 * 2 ** 20;
/** Time for which the writer collects rows after a statement, so that a busy store gets few large inserts. */
const LINGER_MS = 250;
/** The same for urgent writes. */
const LINGER_URGENT_MS = 20;
const RETRY_MS = 100;
const RETRY_MS_MAX = 5000;
/** A row that exceeds the store's memory is retried for this long, because other statements may use the memory. */
const EXHAUSTED_SECONDS_MAX = 3;

interface AlertWriterOptions {
  readonly store: Store;
  readonly deadLetters: DeadLetterQueue;
  /** Called with the error before a write is retried, and after a part of a row was removed. */
  readonly onFailure: (error: unknown) => void;
}

/** Inserts rows of a table, and replaces a row that the store refuses. */
interface Rows<Row> {
  readonly insert: (rows: readonly Row[]) => Promise<void>;
  readonly replacements: (row: Row) => Row[];
  readonly onReplaced: (row: Row, by: Row, error: unknown) => void;
}

/**
 * Writes events and then the alerts that they changed, in order, many batches in one statement. While the store is down, a
 * write is retried until it succeeds or the writer stops; repeated rows have the same keys and replace each other. Rows
 * with content that the store refuses are written one by one: the refused part becomes a dead letter, so that no sender
 * can block the writer.
 */
export class AlertWriter {
  readonly #options: AlertWriterOptions;
  readonly #batcher = new Batcher<AlertWrite>((writes) => this.#writeTraced(writes), {
    limits: [
      { max: EVENTS_PER_INSERT, of: ({ events }) => events.length },
      { max: BYTES_PER_INSERT, of: ({ events }) => events.reduce((sum, event) => sum + rowBytes(event), 0) },
      {
        max: BYTES_PER_INSERT,
        of: ({ changed }) => changed.reduce((sum, alert) => sum + alertBytes(alert), 0),
      },
    ],
    lingerMs: ({ isUrgent }) => (isUrgent ? LINGER_URGENT_MS : LINGER_MS),
  });
  readonly #events: Rows<EventInsert>;
  readonly #alerts: Rows<Alert>;
  #setAside = 0;
  #isFailing = false;
  #isStopped = false;

  constructor(options: AlertWriterOptions) {
    this.#options = options;
    const { store } = options;
    this.#events = {
      insert: async (rows) => {
        for (const part of chunkBySize(rows, BYTES_PER_INSERT, rowBytes)) {
          await store.insertLines(alertEvents, columnsOf(part[0] as EventInsert), linesOf(part));
        }
      },
      replacements: replacementsOf,
      onReplaced: (row, by, error) => this.#setEventAside(row, by, error),
    };
    this.#alerts = {
      insert: (rows) => store.insert(alerts, rows as never),
      replacements: (alert) => [withoutTexts(alert)],
      onReplaced: ({ project, iid }, _by, error) =>
        this.#report(`the texts of alert ${iid} of project ${project}`, error),
    };
  }

  /** Number of events and alerts that were stored without a part that the store refused. */
  get setAside(): number {
    return this.#setAside;
  }

  /** Whether the last attempt to write failed. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Resolves when the rows are durable. Rejects with the error of the store if the writer stops first. */
  add(write: AlertWrite): Promise<void> {
    return this.#batcher.add(write);
  }

  /** Resolves when all earlier writes are durable. */
  flush(): Promise<void> {
    return this.#batcher.isIdle ? Promise.resolve() : this.add({ ...EMPTY, isUrgent: true });
  }

  /** Writes the queue. A batch that fails from now on is not retried. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#batcher.drain();
  }

  /** Writes in a span that is linked to all events of the batch. */
  #writeTraced(writes: readonly AlertWrite[]): Promise<[]> {
    const write = () => this.#writeUntilDurable(writes);
    const causes = writes.flatMap(({ causes: own = [] }) => own);
    return causes.length === 0 ? withoutSpan(write) : inSpan('write alerts', { causes }, write);
  }

  async #writeUntilDurable(writes: readonly AlertWrite[]): Promise<[]> {
    await this.#insert(
      this.#events,
      writes.flatMap((write) => write.events),
    );
    // After the events, because no alert may show a change whose event is not stored.
    await this.#insertAlerts(writes.map(({ changed }) => changed));
    return [];
  }

  /**
   * Writes all alerts in one atomic statement, because the newest position among the stored alerts shows which events they
   * include. If the store refuses it, splits it between batches, so that each half has all changes of its events.
   */
  async #insertAlerts(batches: readonly (readonly Alert[])[]): Promise<void> {
    const rows = newestOf(batches.flat());
    if (batches.length <= 1) return this.#insert(this.#alerts, rows);
    try {
      await this.#whileAway(async () => {
        if (rows.length > 0) await this.#alerts.insert(rows);
      }, isAboutRows);
    } catch (error) {
      if (!isAboutRows(error)) throw error;
      const half = batches.length >> 1;
      await this.#insertAlerts(batches.slice(0, half));
      await this.#insertAlerts(batches.slice(half));
    }
  }

  /** Halves a refused insert, in order, until the refused row is alone. */
  async #insert<Row>(kind: Rows<Row>, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    try {
      await this.#whileAway(() => kind.insert(rows), isAboutRows);
    } catch (error) {
      if (!isAboutRows(error)) throw error;
      if (rows.length === 1) return this.#insertRefused(kind, rows[0] as Row, error);
      const half = rows.length >> 1;
      await this.#insert(kind, rows.slice(0, half));
      await this.#insert(kind, rows.slice(half));
    }
  }

  /** Tries the replacements of a row. Starts over with the whole row if the store refuses even the last one. */
  async #insertRefused<Row>(kind: Rows<Row>, row: Row, refused: unknown): Promise<void> {
    await this.#whileAway(async () => {
      let failure = refused;
      if (isExhausted(failure)) {
        const again = await this.#whileExhausted(() => kind.insert([row]));
        if (again === null) return;
        failure = again;
      }
      for (const replacement of kind.replacements(row)) {
        const error = await errorOf(kind.insert([replacement]));
        if (error === null) return kind.onReplaced(row, replacement, failure);
        if (!isAboutRows(error)) throw error;
        failure = error;
      }
      throw failure;
    });
  }

  async #whileAway(
    work: () => Promise<void>,
    isFinal: (error: unknown) => boolean = () => false,
  ): Promise<void> {
    const attempt = async () => {
      try {
        await work();
        this.#isFailing = false;
      } catch (error) {
        this.#isFailing = !isFinal(error);
        if (this.#isFailing) this.#options.onFailure(error);
        throw error;
      }
    };
    await retry(attempt, {
      waitMs: RETRY_MS,
      waitMsMax: RETRY_MS_MAX,
      isFinal: (error) => this.#isStopped || isFinal(error),
    });
  }

  /** Returns the last error, or null when the insert succeeded. */
  #whileExhausted(insert: () => Promise<void>): Promise<unknown> {
    return errorOf(
      retry(insert, {
        waitMs: RETRY_MS,
        waitMsMax: RETRY_MS_MAX,
        secondsMax: EXHAUSTED_SECONDS_MAX,
        isFinal: (error) => this.#isStopped || !isExhausted(error),
      }),
    );
  }

  #setEventAside(event: EventInsert, by: EventInsert, error: unknown): void {
    // A replacement with the same body only quotes it.
    if (by.body.equals(event.body)) return;
    const { id, project, kind } = event.head;
    this.#report(`the body of the ${kind} ${id} of project ${project}`, error);
    const reason = `the store refuses the body: ${reasonOf(error)}`;
    this.#options.deadLetters.add(deliveryLetter(event.head, reason, event.body));
  }

  #report(part: string, error: unknown): void {
    this.#setAside++;
    this.#options.onFailure(
      new ProductError('store_refused', `the store refused ${part}; the rest was stored`, detailOf(error)),
    );
  }
}

const EMPTY: AlertWrite = { events: [], changed: [], isUrgent: false };

/** The last version of each alert. */
export function newestOf(changed: readonly Alert[]): Alert[] {
  const projects = new Map<number, Map<number, Alert>>();
  for (const alert of changed) {
    const alerts = projects.get(alert.project);
    if (alerts) alerts.set(alert.iid, alert);
    else projects.set(alert.project, new Map([[alert.iid, alert]]));
  }
  return [...projects.values()].flatMap((alerts) => [...alerts.values()]);
}

/** Size of a row without its texts, and of each of its items. */
export const ROW_BYTES = 500;
export const OUTCOME_BYTES = 200;

/** Estimates the memory of an event's row until it is durable. */
export const rowBytes = ({ headJson, body, columns }: EventInsert): number =>
  body.length + headJson.length + OUTCOME_BYTES * columns.outcomes.length + ROW_BYTES;

const isExhausted = (error: unknown): boolean =>
  error instanceof ProductError && error.code === 'store_exhausted';
/** Whether the store refused these rows, and may accept fewer or other rows. */
const isAboutRows = (error: unknown): boolean =>
  isExhausted(error) || (error instanceof ProductError && error.code === 'store_refused');

const detailOf = (error: unknown): string =>
  error instanceof ProductError ? (error.detail ?? error.message) : reasonOf(error);

const errorOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error) => error);
