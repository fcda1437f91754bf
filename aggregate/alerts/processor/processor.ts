import { reasonOf } from '../../../infra/errors.ts';
import { partsOf } from '../../../infra/parts.ts';
import type { Ack, LogRecord, Store } from '../../../infra/ports.ts';
import type { Span, Tracer } from '../../../infra/tracing/tracer.ts';
import type { DeadLetterQueue } from '../../../ingest/log/dead-letter-queue.ts';
import { refusalOf } from '../formats/delivery.ts';
import type { Alert, Outcome } from '../model/alert.ts';
import { ALERTS_TOPIC, decodeEvent, type EventHead, type OrderHead } from '../model/event.ts';
import type { GroupingRules } from '../model/rules.ts';
import type { Reduction } from '../reducer/reduce.ts';
import { deleteOldEvents } from './deletion.ts';
import { deliveryLetter, eventInsert, type ReducedEvent } from './event-insert.ts';
import type { EventParser } from './parser.ts';
import type { PendingBytes } from './pending-bytes.ts';
import { type DecodedEvent, ProjectStateCache } from './project-state-cache.ts';
import { replayProject } from './replay.ts';
import type { EventResult, ResultChannel } from './result-channel.ts';
import { laggingProjects } from './stored-state.ts';
import { type AlertWrite, type AlertWriter, newestOf, OUTCOME_BYTES, ROW_BYTES, rowBytes } from './writer.ts';

/** Called with the projects of which alerts changed, once that is durable. */
export type ChangeListener = (projects: ReadonlySet<number>) => void;

interface DecodedOrder {
  readonly order: OrderHead;
  readonly record: LogRecord;
}

interface AlertProcessorOptions {
  readonly store: Store;
  readonly tracer: Tracer;
  readonly writer: AlertWriter;
  readonly results: ResultChannel;
  readonly parser: EventParser;
  readonly rules: GroupingRules;
  /** About how many bytes the states of projects may take. */
  readonly cacheBytes: number;
  readonly deadLetters: DeadLetterQueue;
  /** Counts what is reduced and not durable yet, beside what others of this process hold. */
  readonly pending: PendingBytes;
  /** Called when events cannot be processed, before they are processed again. */
  readonly onFailure: (error: unknown) => void;
}

const ATTEMPTS_AT_START = 3;
/** Bytes of events that are parsed at once. */
const PART_BYTES = 4 * 2 ** 20;
/** The log delivers a failed batch again before this time, unless its partition now belongs to another process. */
const REDELIVERY_MS_MAX = 60_000;
/** What an item of a delivery, or an alert that waits for the store, takes in memory beside its texts. */
const ITEM_BYTES = 1024;

/**
 * What an event takes in memory until it is decided on, and what its row and its alerts take after that: what was
 * accepted must not need more room later.
 */
export const heldBytes = (messageBytes: number, items: number): number =>
  messageBytes + ROW_BYTES + items * (ITEM_BYTES + OUTCOME_BYTES);

/**
 * Processes the events of the log one after another. Only their order and their content decide: a process that takes
 * over decides alike, and so does one that was replaced while it was paused and continues. Both write the same rows.
 */
export class AlertProcessor {
  readonly #options: AlertProcessorOptions;
  readonly #states: ProjectStateCache;
  /** Next offset of each partition; a record with another one means that another process was in between. */
  readonly #nextOffsets = new Map<number, number>();
  readonly #listeners: ChangeListener[] = [];
  /** When the batches came that are not durable yet, by `performance.now()`. */
  readonly #received = new Set<{ at: number }>();
  /** When a batch came that could not be processed so far, and when it was last tried. */
  #failing: { since: number; triedAt: number } | undefined;
  #isAtOrder = false;
  #outcomes: Partial<Record<Outcome, number>> = {};

  constructor(options: AlertProcessorOptions) {
    this.#options = options;
    this.#states = new ProjectStateCache(options);
  }

  /** Writes the alerts that lack their newest events, which a killed process had stored before the alerts. */
  async start(): Promise<void> {
    await this.#catchUp(await laggingProjects(this.#options.store), ATTEMPTS_AT_START);
  }

  /** Registers a listener for changes; after a kill some are told again. */
  onChanged(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Milliseconds for which the oldest event waits that came from the log and is not durable yet. */
  get oldestPendingMs(): number {
    if (this.#isAtOrder) return 0;
    const now = performance.now();
    let oldest = this.#failingSince ?? now;
    // Every request asks, and hundreds of batches may wait.
    for (const { at } of this.#received) if (at < oldest) oldest = at;
    return now - oldest;
  }

  /** About how many bytes the states of projects take. */
  get cachedBytes(): number {
    return this.#states.bytes;
  }

  /** What happened to the items of this process, counted since its start. */
  get outcomes(): Readonly<Partial<Record<Outcome, number>>> {
    return this.#outcomes;
  }

  /** Processes a batch of the log. It is durable when the returned `durable` resolves. */
  async process(batch: readonly LogRecord[]): Promise<Ack> {
    const received = { at: this.#failingSince ?? performance.now() };
    this.#received.add(received);
    try {
      await this.#reloadAfterGap(batch);
      const durable: Promise<void>[] = [];
      for (const records of partsOf(batch, PART_BYTES, ({ value }) => value.length)) {
        if (this.#options.pending.areTooMany) await this.#options.writer.flush();
        for (const part of splitAtOrders(records.map((record) => this.#decode(record)))) {
          if ('order' in part) await this.#carryOut(part);
          else durable.push((await this.#processEvents(part)).durable);
        }
      }
      this.#failing = undefined;
      const all = Promise.all(durable).then(() => void this.#received.delete(received));
      all.catch(() => undefined);
      return { durable: all };
    } catch (error) {
      this.#received.delete(received);
      this.#failing = { since: received.at, triedAt: performance.now() };
      this.#options.onFailure(error);
      throw error;
    }
  }

  get #failingSince(): number | undefined {
    const failing = this.#failing;
    return failing && performance.now() - failing.triedAt < REDELIVERY_MS_MAX ? failing.since : undefined;
  }

  /** Nothing may fail between the first reduction and the return: the log would deliver reduced events again. */
  async #processEvents(decoded: readonly DecodedEvent[]): Promise<Ack> {
    const { fresh, lagging } = await this.#states.load(decoded);
    const reduced = fresh.map((event): ReducedEvent => {
      const reduction = this.#states.reduce(event);
      return { ...event, reduction, ...this.#traced(event.head, reduction) };
    });
    this.#advanceOffsets(decoded);
    this.#record(reduced);
    // The log has the deliveries already, so their senders need not wait for the tables.
    this.#publishResults(reduced, 'delivery');
    const durable = this.#persist(reduced, lagging);
    durable.catch(() => undefined);
    return { durable };
  }

  /** What becomes of an event, as a span that follows from the request that it came with. */
  #traced({ traceparent }: EventHead, { position, outcomes }: Reduction): Pick<ReducedEvent, 'span'> {
    const { tracer } = this.#options;
    if (!tracer.isOn) return {};
    const attributes = {
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': ALERTS_TOPIC,
      'chain_metrics.alert.position': position,
      'chain_metrics.alert.items': outcomes.length,
      'chain_metrics.alert.created': outcomes.filter((outcome) => outcome === 'created').length,
    };
    const options = { kind: 'consumer', causes: [traceparent], attributes } as const;
    return { span: tracer.start(`process ${ALERTS_TOPIC}`, options) };
  }

  /** Counts outcomes, and keeps what was refused. */
  #record(reduced: readonly ReducedEvent[]): void {
    for (const { head, delivery, body, reduction } of reduced) {
      for (const outcome of reduction.outcomes) {
        this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
      }
      const isRetry = head.kind === 'delivery' && head.redelivers !== undefined;
      const reason = delivery && !isRetry && refusalOf(delivery);
      if (reason) this.#options.deadLetters.add(deliveryLetter(head, reason, body));
    }
  }

  #decode(record: LogRecord): DecodedEvent | DecodedOrder {
    const { head, body } = decodeEvent(record.value);
    if (head.kind === 'replay' || head.kind === 'deletion') return { order: head, record };
    return { ...this.#options.parser.parse(head, body), body, record };
  }

  /**
   * Of thousands of events that wait for the store only their rows are held, and each alert once: what lives that long
   * is copied by every collection of garbage, which would cost more than to parse it.
   */
  #persist(reduced: readonly ReducedEvent[], lagging: readonly Alert[]): Promise<void> {
    const { writer } = this.#options;
    if (reduced.length === 0 && lagging.length === 0) return writer.flush();
    const write = {
      events: reduced.map((event) => eventInsert(event, this.#options.parser)),
      changed: newestOf([...lagging, ...reduced.flatMap(({ reduction }) => reduction.changed)]),
      isUrgent: reduced.some(({ head }) => head.kind === 'action'),
      causes: reduced.flatMap(({ span }) => span?.traceparent ?? []),
    };
    return this.#written(write, {
      actions: reduced.filter(({ head }) => head.kind === 'action'),
      spans: reduced.flatMap(({ span }) => span ?? []),
    });
  }

  async #written(
    write: AlertWrite,
    { actions, spans }: { actions: readonly ReducedEvent[]; spans: readonly Span[] },
  ): Promise<void> {
    const { pending } = this.#options;
    const held = bytesByProject(write);
    for (const [project, bytes] of held) pending.add(project, bytes);
    try {
      await this.#options.writer.add(write);
    } catch (error) {
      for (const span of spans) span.fail(error);
      throw error;
    } finally {
      for (const span of spans) span.end();
      for (const [project, bytes] of held) pending.remove(project, bytes);
    }
    for (const { head, columns } of write.events) this.#states.markDurable(head.project, columns.position);
    // The user who acts reads the alert next.
    this.#publishResults(actions, 'action');
    const projects = new Set(write.changed.map(({ project }) => project));
    for (const listener of this.#listeners) listener(projects);
  }

  #publishResults(reduced: readonly ReducedEvent[], kind: EventHead['kind']): void {
    for (const { head, reduction } of reduced) {
      if (head.kind !== kind) continue;
      const { outcomes, created } = reduction;
      this.#options.results.publish(head, { outcomes, created });
    }
  }

  /** Carries out an order while nothing waits to be written; a failure is its result. */
  async #carryOut({ order, record }: DecodedOrder): Promise<void> {
    await this.#options.writer.flush();
    this.#isAtOrder = true;
    const result = await this.#resultOf(order);
    this.#isAtOrder = false;
    // The events behind the order had to wait for it.
    for (const received of this.#received) received.at = performance.now();
    this.#options.results.publish(order, { outcomes: [], created: [], ...result });
    this.#states.clear();
    this.#advanceOffsets([{ record }]);
  }

  async #resultOf(order: OrderHead): Promise<Pick<EventResult, 'replayed' | 'deleted' | 'fault'>> {
    try {
      if (order.kind === 'replay') return { replayed: await replayProject(this.#options, order) };
      return { deleted: await deleteOldEvents(this.#options.store, order) };
    } catch (error) {
      return { fault: reasonOf(error) };
    }
  }

  #advanceOffsets(processed: readonly { readonly record: LogRecord }[]): void {
    for (const { record } of processed) this.#nextOffsets.set(record.partition, record.offset + 1);
  }

  /** Drops the cached states when another process has processed records in between. */
  async #reloadAfterGap(batch: readonly LogRecord[]): Promise<void> {
    const next = new Map(this.#nextOffsets);
    const gaps = new Set<number>();
    for (const { partition, offset } of batch) {
      if (next.get(partition) !== offset) gaps.add(partition);
      next.set(partition, offset + 1);
    }
    if (gaps.size === 0) return;
    await this.#options.writer.flush();
    this.#states.clear();
    for (const partition of gaps) await this.#catchUp(await laggingProjects(this.#options.store, partition));
  }

  async #catchUp(projects: readonly number[], attempts?: number): Promise<void> {
    for (const project of projects) {
      const changed = await this.#states.catchUp(project, attempts);
      if (changed) await this.#options.writer.add({ events: [], changed, isUrgent: true });
    }
  }
}

/** What a write holds in memory until it is durable. */
function bytesByProject({ events, changed }: AlertWrite): ReadonlyMap<number, number> {
  const held = new Map<number, number>();
  const add = (project: number, bytes: number) => held.set(project, (held.get(project) ?? 0) + bytes);
  for (const event of events) add(event.head.project, rowBytes(event));
  for (const { project } of changed) add(project, ITEM_BYTES);
  return held;
}

/** The runs of events between orders, which are processed in their place of the order. */
function* splitAtOrders(
  batch: readonly (DecodedEvent | DecodedOrder)[],
): Generator<readonly DecodedEvent[] | DecodedOrder> {
  let events: DecodedEvent[] = [];
  for (const decoded of batch) {
    if (!('order' in decoded)) {
      events.push(decoded);
      continue;
    }
    if (events.length > 0) yield events;
    events = [];
    yield decoded;
  }
  if (events.length > 0) yield events;
}
