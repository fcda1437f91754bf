import type { Ack, LogRecord, Store } from '../../../infra/ports.ts';
import type { Alert, Outcome } from '../model/alert.ts';
import { ALERTS_TOPIC, decodeEvent, type EventHead, encodedHead, type ReplayHead } from '../model/event.ts';
import type { FoldRules } from '../model/rules.ts';
import type { Reduction } from '../reducer/project-state.ts';
import { type DecodedEvent, ProjectStateCache } from './project-state-cache.ts';
import { laggingProjects } from './stored-state.ts';
import type { AlertWriter, EventRow } from './writer.ts';

/** An event that is durable and shows in the store, for whoever acts on it. */
export interface StoredEvent {
  readonly head: EventHead;
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  readonly changed: readonly Alert[];
}

/** An event with the bytes of its body. */
export interface Opened {
  readonly event: DecodedEvent;
  readonly body: Buffer;
}

interface Arrived extends Opened {
  readonly placed: LogRecord;
}
interface Decided extends Arrived {
  readonly applied: Reduction;
}

export interface AlertProcessorOptions {
  readonly store: Store;
  readonly writer: AlertWriter;
  readonly rules: FoldRules;
  /** Unresolved alerts of a project that are kept in memory. */
  readonly openMax: number;
  /** Returns an event that this process published itself, so that nothing is read twice. */
  readonly own: (value: Buffer) => Opened | undefined;
  readonly read: (head: EventHead, body: Buffer) => DecodedEvent;
  /** Called with deliveries as soon as they are decided on, and with actions when every reader can see them. */
  readonly tell: (head: EventHead, applied: Reduction) => void;
  readonly onStored: (shown: readonly StoredEvent[]) => void;
  /** Carries out an order; nothing waits to be written then, and nothing is decided on meanwhile. */
  readonly replay: (order: ReplayHead) => Promise<void>;
}

const TRIES_AT_START = 3;

/**
 * Decides on events one after the other, in the order of the log. Nothing but that order and the events decides: who
 * takes over after a kill decides alike, and so does a process that was taken for dead and goes on for a moment. What
 * two of them write is the same.
 */
export class AlertProcessor {
  readonly #options: AlertProcessorOptions;
  readonly #states: ProjectStateCache;
  /** Offset that each partition goes on with; another one means that somebody else decided in between. */
  readonly #next = new Map<number, number>();
  /** Bytes of what is decided on and not written. */
  pendingBytes = 0;

  constructor(options: AlertProcessorOptions) {
    this.#options = options;
    this.#states = new ProjectStateCache(options);
  }

  /** Brings alerts up to the events that a killed process had written. */
  async start(): Promise<void> {
    await this.#catchUp(await laggingProjects(this.#options.store), TRIES_AT_START);
  }

  /** Decides on a batch. */
  async take(batch: readonly LogRecord[]): Promise<Ack> {
    await this.#takeOver(batch);
    const settled: Promise<void>[] = [];
    const decide = async (some: readonly Arrived[]) => {
      const writing = await this.#decide(some);
      settled.push(writing.durable);
    };
    let some: Arrived[] = [];
    for (const placed of batch) {
      const opened = this.#open(placed);
      if ('event' in opened) {
        some.push(opened);
        continue;
      }
      await decide(some);
      some = [];
      await this.#replay(opened.order, placed);
    }
    await decide(some);
    return { durable: Promise.all(settled).then(() => undefined) };
  }

  /** Nothing may fail between the first decision and the last: it would be decided on twice. */
  async #decide(arrived: readonly Arrived[]): Promise<Ack> {
    this.#states.trim();
    const { fresh, behind } = await this.#states.prepare(arrived);
    const decided = fresh.map((one): Decided => ({ ...one, applied: this.#states.apply(one.event) }));
    for (const { placed } of arrived) this.#next.set(placed.partition, placed.offset + 1);
    for (const { event, applied } of decided) {
      if (event.head.kind === 'delivery') this.#options.tell(event.head, applied);
    }
    const settled = this.#write(decided, behind);
    settled.catch(() => undefined);
    return { durable: settled };
  }

  async #replay(order: ReplayHead, { partition, offset }: LogRecord): Promise<void> {
    await this.#options.writer.flush();
    await this.#options.replay(order);
    this.#states.clear();
    this.#next.set(partition, offset + 1);
  }

  /** Reads anew what others decided on in between. */
  async #takeOver(batch: readonly LogRecord[]): Promise<void> {
    const next = new Map(this.#next);
    const taken = new Set<number>();
    for (const { partition, offset } of batch) {
      if (next.get(partition) !== offset) taken.add(partition);
      next.set(partition, offset + 1);
    }
    if (taken.size === 0) return;
    await this.#options.writer.flush();
    this.#states.clear();
    for (const partition of taken) await this.#catchUp(await laggingProjects(this.#options.store, partition));
  }

  async #catchUp(projects: readonly number[], tries?: number): Promise<void> {
    for (const project of projects) {
      const changed = await this.#states.catchUp(project, tries);
      if (changed) await this.#options.writer.add({ events: [], changed, letters: [], isAwaited: true });
    }
  }

  async #write(decided: readonly Decided[], behind: readonly Alert[]): Promise<void> {
    const { writer, tell, onStored } = this.#options;
    if (decided.length === 0 && behind.length === 0) return writer.flush();
    const bytes = decided.reduce((sum, { placed }) => sum + placed.value.length, 0);
    this.pendingBytes += bytes;
    try {
      await writer.add({
        events: decided.map(rowOf),
        changed: [...behind, ...decided.flatMap(({ applied }) => applied.changed)],
        letters: decided.flatMap(lettersOf),
        // Whoever acted waits until everybody can see it.
        isAwaited: decided.some(({ event }) => event.head.kind === 'action'),
      });
    } finally {
      this.pendingBytes -= bytes;
    }
    for (const { event, applied } of decided) this.#states.written(event.head.project, applied.position);
    for (const { event, applied } of decided) if (event.head.kind === 'action') tell(event.head, applied);
    onStored(decided.map(({ event: { head }, applied }) => ({ head, ...applied })));
  }

  #open(placed: LogRecord): Arrived | { readonly order: ReplayHead } {
    const own = this.#options.own(placed.value);
    if (own) return { ...own, placed };
    const { head, body } = decodeEvent(placed.value);
    if (head.kind === 'replay') return { order: head };
    return { event: this.#options.read(head, body), body, placed };
  }
}

function rowOf({ event: { head, read }, placed, body, applied }: Decided): EventRow {
  const text = read?.text ?? '';
  const columns = {
    project: head.project,
    position: applied.position,
    id: head.id,
    kind: head.kind,
    at: head.at,
    head: encodedHead(placed.value),
    outcomes: applied.outcomes,
    iids: applied.iids,
    retry_keys: applied.retryKeys,
    log_partition: placed.partition,
    log_offset: placed.offset,
  };
  return { columns, body: text || body.toString('utf8'), isJson: text !== '' };
}

function lettersOf({ event: { head, read }, body }: Decided) {
  return (read?.refused ?? []).map(({ item, reason }) => ({
    topic: ALERTS_TOPIC,
    source: 'alerts',
    origin: `project ${head.project}, delivery ${head.id}`,
    line: item,
    reason: `alerts[${item}]: ${reason}`,
    bytes: body,
  }));
}
