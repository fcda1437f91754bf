import { randomUUID } from 'node:crypto';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Runtime } from '../../infra/ports.ts';
import { messagingAttributes } from '../../infra/tracing/messages.ts';
import { activeTraceparent, inSpan, withoutSpan } from '../../infra/tracing/spans.ts';
import { DeadLetterQueue } from '../../ingest/dead-letters/dead-letter-queue.ts';
import type { RedeliveryResult } from '../../ingest/dead-letters/dead-letter-retry.ts';
import { DEAD_LETTER_BYTES_MAX } from '../../ingest/dead-letters/dead-letters.ts';
import { type ParsedDelivery, parseBody, parseDelivery, refusalOf } from './formats/delivery.ts';
import type { Outcome } from './model/alert.ts';
import {
  type ActionRequest,
  ALERTS_GROUP,
  ALERTS_TOPIC,
  type CommandHead,
  type DeletionHead,
  type DeliveryRequest,
  type EventHead,
  encodeEvent,
  type ReplayHead,
} from './model/event.ts';
import { type EventRules, eventRules, groupingRules } from './model/rules.ts';
import type { AlertSettings } from './model/settings.ts';
import { deliveryLetter } from './processor/event-insert.ts';
import { estimateEventBytes } from './processor/memory-estimates.ts';
import { EventParser } from './processor/parser.ts';
import { PendingBytes } from './processor/pending-bytes.ts';
import { AlertProcessor, type ChangeListener } from './processor/processor.ts';
import { LogPublisher } from './processor/publisher.ts';
import { refusedPart } from './processor/redelivery.ts';
import { projectsWithEvents, type ReplayOrder, type ReplayResult } from './processor/replay.ts';
import { type EventResult, ResultChannel } from './processor/result-channel.ts';
import { AlertWriter } from './processor/writer.ts';

/** Longest time that an accepted alert waits for the store. After that the process is not ready and requests get 503. */
const PENDING_MS_MAX = 30_000;

export interface AlertFigures {
  /** Deliveries that the log has acknowledged for this process. */
  readonly accepted: number;
  /** Items of deliveries, and actions, that this process has processed, by outcome. */
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  /** Events and alerts that were stored without a part that the store refused. */
  readonly setAside: number;
  readonly deadLettersLost: number;
  /** Whether the last attempt to store events failed. */
  readonly isWriterFailing: boolean;
  readonly cachedBytes: number;
  readonly pendingBytes: number;
  readonly oldestPendingSeconds: number;
}

/** Called with errors that are retried or that no caller gets. */
type OnFailure = (error: unknown) => void;

/**
 * Accepts alert events, publishes them to the log and returns their results. Each partition of the log has one consumer,
 * which processes its events in order.
 */
export class AlertPipeline {
  readonly #runtime: Runtime;
  /** Bytes of events that wait for their result, and of events that wait for the store. */
  readonly #pending: PendingBytes;
  readonly #rules: EventRules;
  readonly #deadLetters: DeadLetterQueue;
  readonly #writer: AlertWriter;
  readonly #publisher: LogPublisher;
  readonly #results: ResultChannel;
  readonly #processor: AlertProcessor;
  readonly #sending: Attributes;
  #accepted = 0;

  private constructor(runtime: Runtime, settings: AlertSettings, onFailure: OnFailure) {
    const { store, log, keyValue, clock } = runtime;
    this.#runtime = runtime;
    this.#pending = new PendingBytes(settings.ALERT_PENDING_BYTES_MAX);
    this.#rules = eventRules(settings);
    this.#deadLetters = new DeadLetterQueue({ store, clock, bytesMax: DEAD_LETTER_BYTES_MAX, onFailure });
    this.#writer = new AlertWriter({ store, deadLetters: this.#deadLetters, onFailure });
    this.#publisher = new LogPublisher(
      (messages) => log.publish(ALERTS_TOPIC, messages),
      settings.ALERT_LOG_SECONDS_MAX * 1000,
      onFailure,
    );
    const waitSecondsMax = settings.ALERT_ANSWER_SECONDS_MAX;
    this.#results = new ResultChannel({ keyValue, store, waitSecondsMax, onFailure });
    this.#sending = messagingAttributes(runtime, 'send', ALERTS_TOPIC, 1);
    this.#processor = new AlertProcessor({
      store,
      writer: this.#writer,
      results: this.#results,
      parser: new EventParser(onFailure),
      rules: groupingRules(settings),
      cacheBytes: settings.ALERT_CACHE_BYTES,
      deadLetters: this.#deadLetters,
      pending: this.#pending,
      onFailure,
    });
  }

  /**
   * Completes the writes of a killed process and consumes the log. With `processes: false` the process only accepts
   * events.
   */
  static async start(
    runtime: Runtime,
    settings: AlertSettings,
    { processes = true, onFailure }: { readonly processes?: boolean; readonly onFailure: OnFailure },
  ): Promise<AlertPipeline> {
    const pipeline = new AlertPipeline(runtime, settings, onFailure);
    if (!processes) return pipeline;
    await pipeline.#processor.start();
    await runtime.log.consume(ALERTS_TOPIC, ALERTS_GROUP, (batch) =>
      // Each event has the trace context of its own request, so it must not inherit the active one.
      withoutSpan(() => pipeline.#processor.process(batch)),
    );
    return pipeline;
  }

  /**
   * Whether requests of a project must be refused: it has used its share of ALERT_PENDING_BYTES_MAX, or an event has
   * been pending for longer than PENDING_MS_MAX.
   */
  isOverloaded(project: number): boolean {
    return this.#pending.isFull(project) || this.#isLate;
  }

  /** Throws `store_failed` while a project is overloaded. */
  requireRoom(project: number): void {
    if (this.isOverloaded(project))
      throw new ProductError('store_failed', 'too many events wait for the store; try again later');
  }

  /** Throws `store_failed` if accepted events cannot be stored. */
  checkStoring(): void {
    if (!this.#isLate && !this.#writer.isFailing) return;
    throw new ProductError('store_failed', 'accepted alert events cannot be stored');
  }

  /** Figures for Prometheus. */
  get figures(): AlertFigures {
    return {
      accepted: this.#accepted,
      outcomes: this.#processor.outcomes,
      setAside: this.#writer.setAside,
      deadLettersLost: this.#deadLetters.lost,
      isWriterFailing: this.#writer.isFailing,
      cachedBytes: this.#processor.cachedBytes,
      pendingBytes: this.#pending.total,
      oldestPendingSeconds: this.#processor.oldestPendingMs / 1000,
    };
  }

  get #isLate(): boolean {
    return this.#processor.oldestPendingMs > PENDING_MS_MAX;
  }

  /**
   * Registers a listener for projects whose alerts changed. Called when the change is durable, perhaps twice or, after a
   * kill, not at all.
   */
  onChanged(listener: ChangeListener): void {
    this.#processor.onChanged(listener);
  }

  /** The JSON in a body. Throws `BodyError` if it is not JSON or nested too deep. */
  payloadIn(body: Buffer): unknown {
    return parseBody(body, this.#rules).payload;
  }

  /** Parses the body of a delivery. Throws `BodyError` if all items are refused. */
  parse(request: DeliveryRequest, body: Buffer): ParsedDelivery {
    return parseDelivery(request, body, this.#rules);
  }

  /**
   * Accepts a delivery whose body was parsed by `parse`. Returns its result when the log has stored the delivery.
   * Throws `service_unreachable` if the log does not store it in time, or if it has an idempotency key and its result is
   * late.
   */
  async deliver(request: DeliveryRequest, body: Buffer, delivery: ParsedDelivery): Promise<EventResult> {
    return this.#request(this.#deliveryOf(request), body, delivery);
  }

  /** Retries the refused items of the delivery in a dead letter. Repeating the call has no effect. */
  async redeliver(letter: { readonly origin: string }): Promise<RedeliveryResult> {
    const retry = await refusedPart(this.#runtime.store, letter.origin);
    if (typeof retry === 'string') return { refused: retry };
    const { request, body } = retry;
    try {
      const parsed = this.parse(request, body);
      const head = this.#deliveryOf(request);
      await this.#request(head, body, parsed);
      const refused = refusalOf(parsed);
      return refused === null ? { refused } : { refused, rest: deliveryLetter(head, refused, body) };
    } catch (error) {
      return { refused: reasonOf(error) };
    }
  }

  /**
   * Accepts a user's action. Returns its result when every reader can see the change. Throws `service_unreachable` if the
   * log does not store it in time, `store_failed` if its result is late.
   */
  async applyAction(request: ActionRequest): Promise<EventResult> {
    return this.#request({ ...request, kind: 'action', ...this.#stamp() });
  }

  /** Resolves when all events that this process has processed are stored. */
  waitUntilWritten(): Promise<void> {
    return this.#writer.flush();
  }

  /**
   * Reduces all events of projects again, by the settings of this process. The command is published like an event, so the
   * process that owns the project runs it, and processes no event meanwhile. A project that fails does not stop the others.
   */
  async replay({ projects, dryRun }: ReplayOrder): Promise<ReplayResult[]> {
    const results: ReplayResult[] = [];
    for (const project of projects.length > 0 ? projects : await projectsWithEvents(this.#runtime.store)) {
      const rules = this.#rules;
      const head: ReplayHead = { kind: 'replay', project, dry_run: dryRun, rules, ...this.#stamp() };
      const { replayed, fault } = await this.#request(head);
      const nothing = { project, events: 0, alerts: 0, differing: 0, differences: [] };
      const refused = replayed ? null : (fault ?? 'no result came');
      results.push({ ...(replayed ?? nothing), refused });
    }
    return results;
  }

  /**
   * Deletes events of a project that were accepted before a time, up to a position that every consumer has passed.
   * Returns their number. The command is published like a replay. Throws `store_failed`.
   */
  async deleteEvents(range: Pick<DeletionHead, 'project' | 'before' | 'until'>): Promise<number> {
    const { deleted, fault } = await this.#request({ kind: 'deletion', ...range, ...this.#stamp() });
    if (deleted !== undefined) return deleted;
    throw new ProductError('store_failed', `events of project ${range.project} were not deleted: ${fault}`);
  }

  /** Stores processed events. The log delivers all others to the next process. */
  async stop(): Promise<void> {
    await this.#writer.stop();
    await this.#deadLetters.stop();
  }

  async #request(
    head: EventHead | CommandHead,
    body: Buffer = Buffer.alloc(0),
    delivery: ParsedDelivery | null = null,
  ): Promise<EventResult> {
    const message = { key: String(head.project), value: encodeEvent(head, body) };
    const bytes = estimateEventBytes(message.value.length, delivery?.items.length ?? 0);
    this.#pending.add(head.project, bytes);
    try {
      return await this.#results.request({ head, delivery }, async () => {
        const options = { kind: SpanKind.PRODUCER, attributes: this.#sending };
        await inSpan(`send ${ALERTS_TOPIC}`, options, () => this.#publisher.add(message));
        if (head.kind === 'delivery') this.#accepted++;
      });
    } finally {
      this.#pending.remove(head.project, bytes);
    }
  }

  #deliveryOf(request: DeliveryRequest) {
    return { ...request, kind: 'delivery' as const, rules: this.#rules, ...this.#stamp() };
  }

  #stamp() {
    const { clock } = this.#runtime;
    const stamp = { id: randomUUID(), from: this.#results.processId, at: clock.now() };
    const traceparent = activeTraceparent();
    return traceparent === undefined ? stamp : { ...stamp, traceparent };
  }
}
