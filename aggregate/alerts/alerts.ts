import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../infra/config.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { applySchema } from '../../infra/kernel/schema.ts';
import { sql } from '../../infra/kernel/sql.ts';
import { Mutex } from '../../infra/mutex.ts';
import type { Handed, Placed, Runtime } from '../../infra/runtime.ts';
import type { Alert, Outcome } from './alert.ts';
import { Collector } from './collector.ts';
import {
  type ActionHead,
  ALERTS_TOPIC,
  type DeliveryHead,
  type EventHead,
  type ReadDelivery,
  readDelivery,
  readEvent,
  writeEvent,
} from './delivery.ts';
import type { Applied } from './fold.ts';
import { projectsWithEvents, type Replayed, type ReplayOrder, replayProject } from './replay.ts';
import { deliveryRules, foldRules } from './rules.ts';
import { type ReadEvent, States } from './states.ts';
import { laggingProjects } from './stored.ts';
import { alertEvents, alertTables } from './tables.ts';
import { Writer } from './writer.ts';

/** What became of an event, for whoever sent it. */
export interface Answer {
  readonly outcomes: readonly Outcome[];
  readonly created: readonly { readonly iid: number; readonly title: string }[];
}

/** An event that is durable and shows in the store, for whoever acts on it. */
export interface Shown {
  readonly head: EventHead;
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  readonly changed: readonly Alert[];
}

interface Waiter {
  readonly answered: PromiseWithResolvers<Answer>;
}

interface Decided {
  readonly event: ReadEvent;
  readonly placed: Placed;
  readonly body: Buffer;
  readonly applied: Applied;
}

const GROUP = 'grouping';
const ANSWER_TTL_MS = 60_000;
/** How long the answer of this process is waited for before that of another one is looked for, and how often then. */
const LOCAL_ANSWER_MS = 50;
const BETWEEN_LOOKS_MS = 20;

/**
 * The way of an alert: events are kept by the log, decided on one after the other in its order, and written to the
 * store with what they did. As nothing but that order and the events decides, what a kill interrupts is decided
 * again and alike.
 */
export class Alerts {
  readonly #runtime: Runtime;
  readonly #config: Config;
  readonly #states: States;
  readonly #writer: Writer;
  readonly #publisher: Collector;
  /** Name of this process for those that decide for it. */
  readonly #name = randomUUID();
  readonly #waiters = new Map<string, Waiter>();
  /** Events of this process, by their bytes, so that nothing is read twice. */
  readonly #own = new WeakMap<Buffer, { readonly event: ReadEvent; readonly body: Buffer }>();
  readonly #listeners: ((shown: readonly Shown[]) => void)[] = [];
  /** Offset that each partition goes on with; another one means that somebody else decided in between. */
  readonly #next = new Map<number, number>();
  /** Offsets up to which events may be known to the store already. */
  readonly #known = new Map<number, number>();
  /** Held while something is decided on. */
  readonly #turn = new Mutex();
  #pendingBytes = 0;
  onFailure: (error: unknown) => void = () => {};

  private constructor(runtime: Runtime, config: Config) {
    this.#runtime = runtime;
    this.#config = config;
    this.#writer = new Writer(runtime.store, config.DEAD_LETTER_BYTES_MAX);
    this.#writer.onFailure = (error) => this.onFailure(error);
    this.#publisher = new Collector((messages) => runtime.log.publish(ALERTS_TOPIC, messages));
    this.#states = new States({
      store: runtime.store,
      rules: foldRules(config),
      openMost: config.ALERT_OPEN_CACHED,
      read: (head, body) => this.#readAgain(head, body),
    });
  }

  /** Finishes what a killed process had begun, then decides on what the log brings. */
  static async start(runtime: Runtime, config: Config): Promise<Alerts> {
    const alerts = new Alerts(runtime, config);
    const fsync = config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
    await applySchema(runtime.store, { tables: alertTables, derived: [], views: [] }, fsync);
    await alerts.#catchUp();
    await runtime.log.follow(ALERTS_TOPIC, GROUP, (batch) => alerts.#turn.run(() => alerts.#take(batch)));
    return alerts;
  }

  /** Whether so much waits that nothing more should be accepted for now. */
  get isOverloaded(): boolean {
    return this.#pendingBytes > this.#config.ALERT_PENDING_BYTES_MAX;
  }

  /** Called with events in their order once they are durable; after a kill some are told of again. */
  onShown(listener: (shown: readonly Shown[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads a body; throws `BodyError` when nothing in it can be taken. */
  read(head: Omit<DeliveryHead, 'id' | 'from' | 'at'>, body: Buffer): ReadDelivery {
    return readDelivery({ ...head, id: '', from: '', at: 0 }, body, deliveryRules(this.#config));
  }

  /** Returns what a delivery did; it is durable by then. `read` is what its body was read as. */
  async deliver(
    head: Omit<DeliveryHead, 'id' | 'from' | 'at' | 'kind'>,
    body: Buffer,
    read: ReadDelivery,
  ): Promise<Answer> {
    return this.#submit({ ...head, kind: 'delivery', ...this.#stamp() }, body, read);
  }

  /** Returns what an action did, once every reader can see it. */
  async act(head: Omit<ActionHead, 'id' | 'from' | 'at' | 'kind'>): Promise<Answer> {
    return this.#submit({ ...head, kind: 'action', ...this.#stamp() }, Buffer.alloc(0), null);
  }

  /** Resolves when everything that this process decided on can be read. */
  settle(): Promise<void> {
    return this.#writer.settle();
  }

  /** Decides on all events of projects anew, by the rules of today, while nothing new is decided on. */
  async replay({ projects, dryRun }: ReplayOrder): Promise<Replayed[]> {
    return this.#turn.run(async () => {
      await this.#writer.settle();
      const { store } = this.#runtime;
      const tools = {
        store,
        rules: foldRules(this.#config),
        read: (head: EventHead, body: Buffer) => this.#readAgain(head, body),
      };
      const replayed: Replayed[] = [];
      for (const project of projects.length > 0 ? projects : await projectsWithEvents(store)) {
        replayed.push(await replayProject(tools, project, dryRun));
      }
      if (!dryRun) this.#states.clear();
      return replayed;
    });
  }

  /** Writes what was decided on, and gives up what the store will not take: the log hands that over again. */
  stop(): Promise<void> {
    return this.#writer.stop();
  }

  #stamp() {
    return { id: randomUUID(), from: this.#name, at: this.#runtime.clock.now() };
  }

  async #submit(head: EventHead, body: Buffer, read: ReadDelivery | null): Promise<Answer> {
    const value = writeEvent(head, body);
    this.#own.set(value, { event: { head, read }, body });
    const waiter = { answered: Promise.withResolvers<Answer>() };
    this.#waiters.set(head.id, waiter);
    this.#pendingBytes += value.length;
    try {
      await this.#publisher.add({ key: String(head.project), value });
      return await this.#answerOf(head, waiter);
    } finally {
      this.#pendingBytes -= value.length;
      this.#waiters.delete(head.id);
    }
  }

  /** From this process, or else from the one that decides on the project. */
  async #answerOf(head: EventHead, { answered }: Waiter): Promise<Answer> {
    const timer = setTimeout(() => void this.#lookElsewhere(head, answered), LOCAL_ANSWER_MS);
    try {
      return await answered.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  async #lookElsewhere(head: EventHead, answered: PromiseWithResolvers<Answer>): Promise<void> {
    const until = performance.now() + this.#config.ALERT_ANSWER_SECONDS_MAX * 1000;
    while (this.#waiters.has(head.id) && performance.now() < until) {
      const told = await this.#runtime.keyValue.take(answerKey(head.id)).catch(() => null);
      if (told !== null) return answered.resolve(JSON.parse(told) as Answer);
      await pause(BETWEEN_LOOKS_MS);
    }
    if (head.kind === 'delivery') return answered.resolve(UNDECIDED);
    answered.reject(
      new ProductError('store_failed', 'the change is kept, but nobody has carried it out yet'),
    );
  }

  async #catchUp(): Promise<void> {
    for (const project of await laggingProjects(this.#runtime.store)) {
      const changed = await this.#states.catchUp(project);
      await this.#writer.add({ events: [], changed, letters: [] });
    }
  }

  /** Decides on a batch. Nothing may fail between the first decision and the last: it would be decided on twice. */
  async #take(batch: readonly Placed[]): Promise<Handed> {
    this.#states.trim();
    const fresh = await this.#unknownOf(batch);
    const events = fresh.map((placed) => ({ placed, ...this.#open(placed) }));
    const behind = await this.#states.prepare(events.map(({ event }) => event));
    const decided = events.map((one): Decided => ({ ...one, applied: this.#states.apply(one.event) }));
    const last = batch.at(-1) as Placed;
    this.#next.set(last.partition, last.offset + 1);
    for (const one of decided) if (one.event.head.kind === 'delivery') this.#tell(one);
    return { settled: this.#write(decided, behind) };
  }

  async #write(decided: readonly Decided[], behind: readonly Alert[]): Promise<void> {
    if (decided.length === 0) return this.#writer.settle();
    const bytes = decided.reduce((sum, { placed }) => sum + placed.value.length, 0);
    this.#pendingBytes += bytes;
    try {
      await this.#writer.add({
        events: decided.map(rowOf),
        changed: [...behind, ...decided.flatMap(({ applied }) => applied.changed)],
        letters: decided.flatMap(lettersOf),
      });
    } finally {
      this.#pendingBytes -= bytes;
    }
    for (const { event, applied } of decided) this.#states.written(event.head.project, applied.position);
    for (const one of decided) if (one.event.head.kind === 'action') this.#tell(one);
    const shown = decided.map(({ event: { head }, applied }) => ({ head, ...applied }));
    for (const listener of this.#listeners) listener(shown);
  }

  /** Those of a batch that the store does not know: after a kill or a change of hands some come twice. */
  async #unknownOf(batch: readonly Placed[]): Promise<readonly Placed[]> {
    const [first] = batch;
    if (first === undefined) return batch;
    const { partition, offset } = first;
    if (this.#next.get(partition) !== offset) await this.#takeOver(partition);
    if (offset > (this.#known.get(partition) ?? -1)) return batch;
    const rows = await this.#runtime.store.rows<{ id: string }>(
      sql`SELECT id FROM ${alertEvents} WHERE log_partition = ${partition}
        AND log_offset BETWEEN ${offset} AND ${(batch.at(-1) as Placed).offset}`,
    );
    // Offsets alone prove nothing: a log that was made anew counts from the beginning.
    const known = new Set(rows.map(({ id }) => id));
    return batch.filter(({ value }) => !known.has(readEvent(value).head.id));
  }

  async #takeOver(partition: number): Promise<void> {
    await this.#writer.settle();
    this.#states.clear();
    const [row] = await this.#runtime.store.rows<{ newest: number | null }>(
      sql`SELECT if(count() = 0, NULL, max(log_offset)) AS newest FROM ${alertEvents} WHERE log_partition = ${partition}`,
    );
    this.#known.set(partition, row?.newest ?? -1);
    await this.#catchUp();
  }

  #open(placed: Placed): { event: ReadEvent; body: Buffer } {
    const own = this.#own.get(placed.value);
    if (own) return own;
    const { head, body } = readEvent(placed.value);
    return { event: this.#readAgain(head, body), body };
  }

  /** What cannot be read is kept as an event that did nothing: it was read before it was accepted. */
  #readAgain(head: EventHead, body: Buffer): ReadEvent {
    if (head.kind === 'action') return { head, read: null };
    try {
      return { head, read: readDelivery(head, body, deliveryRules(this.#config)) };
    } catch (error) {
      this.onFailure(error);
      return { head, read: { text: '', items: [], refused: [{ item: 0, reason: reasonOf(error) }] } };
    }
  }

  #tell({ event: { head }, applied: { outcomes, created } }: Decided): void {
    const answer: Answer = { outcomes, created };
    if (head.from === this.#name) {
      this.#waiters.get(head.id)?.answered.resolve(answer);
      return;
    }
    this.#runtime.keyValue
      .set(answerKey(head.id), JSON.stringify(answer), { ttlMs: ANSWER_TTL_MS })
      .catch((error) => this.onFailure(error));
  }
}

/** Durable, but nobody said in time what it did. */
const UNDECIDED: Answer = { outcomes: [], created: [] };

const answerKey = (id: string) => `alerts/answer/${id}`;

function rowOf({ event: { head, read }, placed, body, applied }: Decided) {
  return {
    project: head.project,
    position: applied.position,
    id: head.id,
    kind: head.kind,
    at: head.at,
    head: JSON.stringify(head),
    body: read?.text || body.toString('utf8'),
    outcomes: applied.outcomes,
    iids: applied.iids,
    retry_keys: applied.retryKeys,
    log_partition: placed.partition,
    log_offset: placed.offset,
  };
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
