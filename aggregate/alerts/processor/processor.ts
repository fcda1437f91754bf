import type { Span } from '@opentelemetry/api';
import { chunkBySize } from '../../../infra/chunk.ts';
import { markHandled } from '../../../infra/ignore.ts';
import type { Ack, LogRecord, Store } from '../../../infra/ports.ts';
import { failSpan, traceparentOf } from '../../../infra/tracing/spans.ts';
import type { DeadLetterQueue } from '../../../ingest/dead-letters/dead-letter-queue.ts';
import { refusalOf } from '../formats/delivery.ts';
import type { Alert, Outcome } from '../model/alert.ts';
import { decodeEvent, type EventHead } from '../model/event.ts';
import type { GroupingRules } from '../model/rules.ts';
import { Backlog } from './backlog.ts';
import { type DecodedCommand, runCommand, splitAtCommands } from './commands.ts';
import { deliveryLetter, eventInsert, type ReducedEvent } from './event-insert.ts';
import { startEventSpan } from './event-span.ts';
import { estimateWriteBytes } from './memory-estimates.ts';
import type { EventParser } from './parser.ts';
import type { PendingBytes } from './pending-bytes.ts';
import { type DecodedEvent, ProjectStateCache } from './project-state-cache.ts';
import type { ResultChannel } from './result-channel.ts';
import { laggingProjects } from './stored-state.ts';
import { type AlertWrite, type AlertWriter, newestOf } from './writer.ts';

/** Called with the projects whose alerts changed, when the change is durable. */
export type ChangeListener = (projects: ReadonlySet<number>) => void;

interface AlertProcessorOptions {
  readonly store: Store;
  readonly writer: AlertWriter;
  readonly results: ResultChannel;
  readonly parser: EventParser;
  readonly rules: GroupingRules;
  /** Limit of the estimated size of all states. */
  readonly cacheBytes: number;
  readonly deadLetters: DeadLetterQueue;
  /** Counts reduced events until they are durable. Shared with other parts of this process. */
  readonly pending: PendingBytes;
  /** Called with an error before the events are processed again. */
  readonly onFailure: (error: unknown) => void;
}

const ATTEMPTS_AT_START = 3;
/** Size of the events that are parsed at once. */
const PART_BYTES = 4 * 2 ** 20;

/**
 * Processes the events of the log, in its order: decode → load state → reduce → publish the results of deliveries →
 * persist → publish the results of actions.
 *
 * Results depend only on the order and the content of the events. A process that takes over gets the same results, and so
 * does one that was replaced while it was paused: both write the same rows. An offset moves only when the row of its
 * event, and after it the changed alerts, are stored. A kill
 *
 * - before the event is stored leaves no rows. The log delivers the event again, and its result is the same. The sender of
 *   a delivery may have the answer already.
 * - between the event and its alerts leaves a lagging project: `start`, or the process that gets the partition, reduces
 *   the stored events again, with the same alert numbers, and writes the alerts.
 * - after the alerts, before the offset moves: the log delivers the event again, and `load` drops it by its id.
 * - within a command leaves the command in the log. It runs again from its beginning.
 *
 * Listeners may be called twice or, after a kill, not at all. They must read the stored state.
 */
export class AlertProcessor {
  readonly #options: AlertProcessorOptions;
  readonly #states: ProjectStateCache;
  /** Next offset of each partition. A record with another offset means that another process owned it in between. */
  readonly #nextOffsets = new Map<number, number>();
  readonly #listeners: ChangeListener[] = [];
  readonly #backlog = new Backlog();
  #outcomes: Partial<Record<Outcome, number>> = {};

  constructor(options: AlertProcessorOptions) {
    this.#options = options;
    this.#states = new ProjectStateCache(options);
  }

  /** Writes alerts whose newest events a killed process had stored without them. */
  async start(): Promise<void> {
    await this.#catchUp(await laggingProjects(this.#options.store), ATTEMPTS_AT_START);
  }

  /** Registers a listener for changes. */
  onChanged(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /** Milliseconds for which the oldest event of the log has waited to be durable. */
  get oldestPendingMs(): number {
    return this.#backlog.oldestMs;
  }

  /** Estimated size of all states. */
  get cachedBytes(): number {
    return this.#states.bytes;
  }

  /** Outcomes of this process since its start. */
  get outcomes(): Readonly<Partial<Record<Outcome, number>>> {
    return this.#outcomes;
  }

  /** Processes a batch of the log. It is durable when `durable` resolves. */
  async process(batch: readonly LogRecord[]): Promise<Ack> {
    try {
      return await this.#backlog.process(() => this.#processBatch(batch));
    } catch (error) {
      this.#options.onFailure(error);
      throw error;
    }
  }

  async #processBatch(batch: readonly LogRecord[]): Promise<Ack> {
    await this.#reloadAfterGap(batch);
    const durable: Promise<void>[] = [];
    for (const records of chunkBySize(batch, PART_BYTES, ({ value }) => value.length)) {
      if (this.#options.pending.isOverLimit) await this.#options.writer.flush();
      for (const part of splitAtCommands(records.map((record) => this.#decode(record)))) {
        if ('order' in part) await this.#carryOut(part);
        else durable.push((await this.#processEvents(part)).durable);
      }
    }
    return { durable: Promise.all(durable).then(() => undefined) };
  }

  /**
   * Nothing may throw after the first reduction: the log would deliver the batch again, and `load` would drop the reduced
   * events by their ids, although they are not stored.
   */
  async #processEvents(decoded: readonly DecodedEvent[]): Promise<Ack> {
    const { fresh, lagging } = await this.#states.load(decoded);
    const reduced = fresh.map((event): ReducedEvent => {
      const reduction = this.#states.reduce(event);
      return { ...event, reduction, span: startEventSpan(event.head, reduction) };
    });
    this.#advanceOffsets(decoded);
    this.#record(reduced);
    // The log has the deliveries already, so their senders need not wait for the tables.
    this.#publishResults(reduced, 'delivery');
    return { durable: markHandled(this.#persist(reduced, lagging)) };
  }

  /** Counts outcomes, and stores refused items as dead letters. */
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

  #decode(record: LogRecord): DecodedEvent | DecodedCommand {
    const { head, body } = decodeEvent(record.value);
    if (head.kind === 'replay' || head.kind === 'deletion') return { order: head, record };
    return { ...this.#options.parser.parse(head, body), body, record };
  }

  /**
   * Keeps only the rows of events, and the newest version of each alert, because thousands of events may wait for the
   * store. Every garbage collection copies objects that live that long, which costs more than parsing them again.
   */
  #persist(reduced: readonly ReducedEvent[], lagging: readonly Alert[]): Promise<void> {
    const { writer } = this.#options;
    if (reduced.length === 0 && lagging.length === 0) return writer.flush();
    const write = {
      events: reduced.map((event) => eventInsert(event, this.#options.parser)),
      changed: newestOf([...lagging, ...reduced.flatMap(({ reduction }) => reduction.changed)]),
      isUrgent: reduced.some(({ head }) => head.kind === 'action'),
      causes: reduced.flatMap(({ span }) => traceparentOf(span) ?? []),
    };
    return this.#written(write, {
      actions: reduced.filter(({ head }) => head.kind === 'action'),
      spans: reduced.map(({ span }) => span),
    });
  }

  async #written(
    write: AlertWrite,
    { actions, spans }: { actions: readonly ReducedEvent[]; spans: readonly Span[] },
  ): Promise<void> {
    const { pending } = this.#options;
    const bytesOf = estimateWriteBytes(write);
    for (const [project, bytes] of bytesOf) pending.add(project, bytes);
    try {
      await this.#options.writer.add(write);
    } catch (error) {
      for (const span of spans) failSpan(span, error);
      throw error;
    } finally {
      for (const span of spans) span.end();
      for (const [project, bytes] of bytesOf) pending.remove(project, bytes);
    }
    for (const { head, columns } of write.events) this.#states.markDurable(head.project, columns.position);
    // The user reads the alert next, so the result waits for the tables.
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

  /** Runs a command when no write is pending. */
  async #carryOut({ order, record }: DecodedCommand): Promise<void> {
    await this.#options.writer.flush();
    const result = await this.#backlog.runCommand(() => runCommand(this.#options, order));
    this.#options.results.publish(order, { outcomes: [], created: [], ...result });
    this.#states.clear();
    this.#advanceOffsets([{ record }]);
  }

  #advanceOffsets(processed: readonly { readonly record: LogRecord }[]): void {
    for (const { record } of processed) this.#nextOffsets.set(record.partition, record.offset + 1);
  }

  /** Drops cached states if another process has processed records in between. */
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
