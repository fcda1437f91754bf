import { reasonOf } from '../../../infra/errors.ts';
import type { Ack, LogRecord, Store } from '../../../infra/ports.ts';
import type { DeadLetter } from '../../../ingest/log/dead-letters.ts';
import type { Alert, Outcome } from '../model/alert.ts';
import { ALERTS_TOPIC, decodeEvent, type EventHead, encodedHead, type ReplayHead } from '../model/event.ts';
import type { FoldRules } from '../model/rules.ts';
import type { Reduction } from '../reducer/reduce.ts';
import type { EventParser } from './parser.ts';
import { type DecodedEvent, ProjectStateCache } from './project-state-cache.ts';
import { replayProject } from './replay.ts';
import type { ResultChannel } from './result-channel.ts';
import { laggingProjects } from './stored-state.ts';
import type { AlertWriter, EventInsert } from './writer.ts';

interface ReducedEvent extends DecodedEvent {
  readonly reduction: Reduction;
}

/** An event that is durable, with the alerts that it changed. */
export interface StoredEvent {
  readonly head: EventHead;
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  readonly changed: readonly Alert[];
}

interface DecodedReplay {
  readonly order: ReplayHead;
  readonly record: LogRecord;
}

export interface AlertProcessorOptions {
  readonly store: Store;
  readonly writer: AlertWriter;
  readonly results: ResultChannel;
  readonly parser: EventParser;
  readonly rules: FoldRules;
  /** Most unresolved alerts of a project in memory. */
  readonly openAlertsMax: number;
}

const ATTEMPTS_AT_START = 3;

/**
 * Processes the events of the log one after another. Only their order and their content decide: a process that takes
 * over decides alike, and so does one that was replaced while it was paused and continues. Both write the same rows.
 */
export class AlertProcessor {
  readonly #options: AlertProcessorOptions;
  readonly #states: ProjectStateCache;
  /** Next offset of each partition; a record with another one means that another process was in between. */
  readonly #nextOffsets = new Map<number, number>();
  readonly #subscribers: ((events: readonly StoredEvent[]) => void)[] = [];
  #pendingBytes = 0;

  constructor(options: AlertProcessorOptions) {
    this.#options = options;
    this.#states = new ProjectStateCache(options);
  }

  /** Writes the alerts that lack their newest events, which a killed process had stored before the alerts. */
  async start(): Promise<void> {
    await this.#catchUp(await laggingProjects(this.#options.store), ATTEMPTS_AT_START);
  }

  /** Subscribes to events in their order once they are durable; after a kill some are published again. */
  onStored(subscriber: (events: readonly StoredEvent[]) => void): void {
    this.#subscribers.push(subscriber);
  }

  /** Bytes of the events that are reduced and not durable yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Processes a batch of the log. It is durable when the returned `durable` resolves. */
  async process(batch: readonly LogRecord[]): Promise<Ack> {
    await this.#reloadAfterGap(batch);
    const durable: Promise<void>[] = [];
    for (const part of splitAtReplays(batch.map((record) => this.#decode(record)))) {
      if ('order' in part) await this.#replay(part);
      else durable.push((await this.#processEvents(part)).durable);
    }
    return { durable: Promise.all(durable).then(() => undefined) };
  }

  /** Nothing may fail between the first reduction and the return: the log would deliver reduced events again. */
  async #processEvents(decoded: readonly DecodedEvent[]): Promise<Ack> {
    const { fresh, lagging } = await this.#states.load(decoded);
    const reduced = fresh.map((event): ReducedEvent => ({ ...event, reduction: this.#states.reduce(event) }));
    this.#advanceOffsets(decoded);
    // The log has the deliveries already, so their senders need not wait for the tables.
    this.#publishResults(reduced, 'delivery');
    const durable = this.#persist(reduced, lagging).then(() => {
      // The user who acts reads the alert next.
      this.#publishResults(reduced, 'action');
      this.#publishStored(reduced);
    });
    durable.catch(() => undefined);
    return { durable };
  }

  #decode(record: LogRecord): DecodedEvent | DecodedReplay {
    const { head, body } = decodeEvent(record.value);
    if (head.kind === 'replay') return { order: head, record };
    const { results, parser } = this.#options;
    const pending = results.pendingDelivery(head.id);
    return { ...(pending ? { head, delivery: pending } : parser.parse(head, body)), body, record };
  }

  async #persist(reduced: readonly ReducedEvent[], lagging: readonly Alert[]): Promise<void> {
    const { writer } = this.#options;
    if (reduced.length === 0 && lagging.length === 0) return writer.flush();
    const bytes = reduced.reduce((sum, { record }) => sum + record.value.length, 0);
    this.#pendingBytes += bytes;
    try {
      await writer.add({
        events: reduced.map(eventInsert),
        changed: [...lagging, ...reduced.flatMap(({ reduction }) => reduction.changed)],
        deadLetters: reduced.flatMap(deadLettersOf),
        isUrgent: reduced.some(({ head }) => head.kind === 'action'),
      });
    } finally {
      this.#pendingBytes -= bytes;
    }
    for (const { head, reduction } of reduced) this.#states.markDurable(head.project, reduction.position);
  }

  #publishResults(reduced: readonly ReducedEvent[], kind: EventHead['kind']): void {
    for (const { head, reduction } of reduced) {
      if (head.kind !== kind) continue;
      const { outcomes, created } = reduction;
      this.#options.results.publish(head, { outcomes, created });
    }
  }

  #publishStored(reduced: readonly ReducedEvent[]): void {
    const stored = reduced.map(
      ({ head, reduction: { position, outcomes, changed } }): StoredEvent => ({
        head,
        position,
        outcomes,
        changed,
      }),
    );
    for (const subscriber of this.#subscribers) subscriber(stored);
  }

  /** Carries out a replay while nothing waits to be written; a failure is the result of the order. */
  async #replay({ order, record }: DecodedReplay): Promise<void> {
    await this.#options.writer.flush();
    const replayed = await replayProject(this.#options, order).catch((error) => ({ fault: reasonOf(error) }));
    this.#options.results.publish(order, { outcomes: [], created: [], replayed });
    this.#states.clear();
    this.#advanceOffsets([{ record }]);
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
      if (changed) await this.#options.writer.add({ events: [], changed, deadLetters: [], isUrgent: true });
    }
  }
}

/** The runs of events between replay orders, which are processed in their place of the order. */
function* splitAtReplays(
  batch: readonly (DecodedEvent | DecodedReplay)[],
): Generator<readonly DecodedEvent[] | DecodedReplay> {
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

function eventInsert({ head, delivery, record, body, reduction }: ReducedEvent): EventInsert {
  const text = delivery?.text ?? '';
  const columns = {
    project: head.project,
    position: reduction.position,
    id: head.id,
    kind: head.kind,
    at: head.at,
    head: encodedHead(record.value),
    outcomes: reduction.outcomes,
    iids: reduction.iids,
    retry_keys: reduction.retryKeys,
    log_partition: record.partition,
    log_offset: record.offset,
  };
  return { columns, body: text || body.toString('utf8'), isJson: text !== '' };
}

function deadLettersOf({ head, delivery, body }: ReducedEvent): DeadLetter[] {
  return (delivery?.refused ?? []).map(({ item, reason }) => ({
    topic: ALERTS_TOPIC,
    source: 'alerts',
    origin: `project ${head.project}, delivery ${head.id}`,
    line: item,
    reason: `alerts[${item}]: ${reason}`,
    bytes: body,
  }));
}
