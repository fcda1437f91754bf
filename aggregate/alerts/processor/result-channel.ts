import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { withTimeout } from '../../../infra/coordination/with-timeout.ts';
import { ProductError } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { KeyValue, Store } from '../../../infra/ports.ts';
import type { ParsedDelivery } from '../formats/delivery.ts';
import type { Outcome } from '../model/alert.ts';
import type { CommandHead, EventHead } from '../model/event.ts';
import { type CreatedAlert, createdBy } from '../reducer/reduce.ts';
import type { Replayed } from './replay.ts';
import { outcomesOf, type StoredOutcome } from './stored-state.ts';

/** The result of an event, for the process that accepted it. */
export interface EventResult {
  readonly outcomes: readonly Outcome[];
  readonly created: readonly CreatedAlert[];
  /** Only for a command: its result, or the error. */
  readonly replayed?: Replayed;
  readonly deleted?: number;
  readonly fault?: string;
}

type Head = EventHead | CommandHead;

interface ResultChannelOptions {
  readonly keyValue: KeyValue;
  readonly store: Store;
  /** Longest time that a request waits for its result. */
  readonly waitSecondsMax: number;
  readonly onFailure: (error: unknown) => void;
}

const RESULT_TTL_MS = 60_000;
/** After this the key-value store is polled, because another process may publish the result. */
const LOCAL_RESULT_MS = 50;
const POLL_MS = 20;
const POLL_MS_MAX = 250;
/** After this the tables are queried too, because the other process may have died or Redis may have lost the result. */
const STORED_RESULT_MS = 1000;
const BETWEEN_QUERIES_MS = 500;
/** A command reads all events of a project. */
const ORDER_SECONDS_MAX = 600;

/** An event for the log. `delivery` is its parsed body. */
interface PublishedEvent {
  readonly head: Head;
  readonly delivery: ParsedDelivery | null;
}

interface PendingRequest extends PublishedEvent {
  readonly result: PromiseWithResolvers<EventResult>;
  /** When the log stored the event, by `performance.now()`; infinite before. */
  storedAt: number;
}

/** Passes the result of an event to the process that accepted it. */
export class ResultChannel {
  /** Identifies this process in the heads of its events. */
  readonly processId = randomUUID();
  readonly #options: ResultChannelOptions;
  readonly #pending = new Map<string, PendingRequest>();
  #querying: Promise<void> | undefined;

  constructor(options: ResultChannelOptions) {
    this.#options = options;
  }

  /**
   * Publishes an event of this process and waits for its result. If the result is late, throws `service_unreachable` for a
   * delivery with an idempotency key, and `store_failed` for an action or a command.
   */
  async request({ head, delivery }: PublishedEvent, publish: () => Promise<void>): Promise<EventResult> {
    const result = Promise.withResolvers<EventResult>();
    const request: PendingRequest = { head, delivery, result, storedAt: Number.POSITIVE_INFINITY };
    this.#pending.set(head.id, request);
    let polling: NodeJS.Timeout | undefined;
    try {
      await publish();
      request.storedAt = performance.now();
      polling = setTimeout(() => void this.#poll(request), LOCAL_RESULT_MS);
      return await result.promise;
    } finally {
      clearTimeout(polling);
      this.#pending.delete(head.id);
    }
  }

  /** Publishes a result. Called by the process that processed the event. */
  publish(head: Head, result: EventResult): void {
    if (head.from === this.processId) {
      this.#pending.get(head.id)?.result.resolve(result);
      return;
    }
    const { keyValue, onFailure } = this.#options;
    keyValue.set(keyOf(head.id), JSON.stringify(result), { ttlMs: RESULT_TTL_MS }).catch(onFailure);
  }

  /** Polls for the result of another process, until the request is answered or too late. */
  async #poll(request: PendingRequest): Promise<void> {
    const { head, result, storedAt } = request;
    const isEvent = head.kind === 'delivery' || head.kind === 'action';
    const seconds = isEvent ? this.#options.waitSecondsMax : ORDER_SECONDS_MAX;
    const deadline = storedAt + seconds * 1000;
    for (let wait = POLL_MS; this.#pending.has(head.id); wait = Math.min(wait * 1.2, POLL_MS_MAX)) {
      if (performance.now() > deadline) return endLate(request);
      if (performance.now() - storedAt > STORED_RESULT_MS) this.#querying ??= this.#queryStored();
      // `take` removes the result from Redis, so its answer is used even after the timeout below.
      const taken = this.#options.keyValue.take(keyOf(head.id)).then((found) => {
        if (found !== null) result.resolve(JSON.parse(found) as EventResult);
      });
      // `take` waits while Redis is unreachable. The tables have the result then.
      await withTimeout(STORED_RESULT_MS, taken).catch(ignore('alerts.result'));
      await pause(wait);
    }
  }

  /** Reads late results from the tables, with one query for each project. */
  async #queryStored(): Promise<void> {
    const late = [...this.#pending.values()].filter(
      ({ storedAt }) => performance.now() - storedAt > STORED_RESULT_MS,
    );
    for (const [project, requests] of Map.groupBy(late, ({ head }) => head.project)) {
      const ids = requests.map(({ head }) => head.id);
      const stored = await outcomesOf(this.#options.store, project, ids).catch(
        () => new Map<string, StoredOutcome>(),
      );
      for (const { head, delivery, result } of requests) {
        const found = stored.get(head.id);
        if (found === undefined) continue;
        const { outcomes, iids } = found;
        result.resolve({ outcomes, created: createdBy(delivery?.items ?? [], outcomes, iids) });
      }
    }
    await pause(BETWEEN_QUERIES_MS);
    this.#querying = undefined;
  }
}

/**
 * Ends a request whose event is in the log but whose result is late. A delivery with an idempotency key can be retried, so
 * it fails. A retry of any other delivery would count twice, so its answer is an empty list. An action fails, because its
 * user must not believe that it is done.
 */
function endLate({ head, result }: PendingRequest): void {
  if (head.kind === 'delivery' && head.idempotency_key === '') {
    result.resolve({ outcomes: [], created: [] });
    return;
  }
  const reason = 'the event is stored in the log, but no server has processed it yet';
  result.reject(new ProductError(head.kind === 'delivery' ? 'service_unreachable' : 'store_failed', reason));
}

const keyOf = (id: string) => `alerts/answer/${id}`;
