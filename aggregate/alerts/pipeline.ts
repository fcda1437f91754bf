import { randomUUID } from 'node:crypto';
import { applySchema } from '../../infra/clickhouse/schema.ts';
import type { InfraSettings } from '../../infra/config/settings.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Runtime } from '../../infra/ports.ts';
import type { IngestSettings } from '../../ingest/settings.ts';
import { type ParsedDelivery, parseDelivery } from './formats/delivery.ts';
import {
  type ActionHead,
  ALERTS_TOPIC,
  type DeliveryRequest,
  type EventHead,
  encodeEvent,
  type ReplayHead,
} from './model/event.ts';
import { eventRules, foldRules, type parsingRules } from './model/rules.ts';
import { alertTables } from './model/tables.ts';
import { AlertProcessor, type Opened, type StoredEvent } from './processor/processor.ts';
import type { DecodedEvent } from './processor/project-state-cache.ts';
import { LogPublisher } from './processor/publisher.ts';
import {
  projectsWithEvents,
  type ReplayOrder,
  type ReplayResult,
  replayProject,
} from './processor/replay.ts';
import { type EventResult, ResultChannel } from './processor/result-channel.ts';
import { AlertWriter } from './processor/writer.ts';
import type { AlertSettings } from './settings.ts';

const GROUP = 'grouping';

export type AlertPipelineSettings = AlertSettings &
  Pick<IngestSettings, 'DEAD_LETTER_BYTES_MAX'> &
  Pick<InfraSettings, 'STORE_FSYNC'>;

/**
 * The way of an alert: events are kept by the log, decided on one after the other in its order, and written to the
 * store with what they did. As nothing but that order and the events decides, what a kill interrupts is decided
 * again and alike.
 */
export class AlertPipeline {
  readonly #runtime: Runtime;
  readonly #config: AlertPipelineSettings;
  readonly #writer: AlertWriter;
  readonly #publisher: LogPublisher;
  readonly #follower: AlertProcessor;
  readonly #answers: ResultChannel;
  readonly #rules: ReturnType<typeof eventRules>;
  /** Events of this process, by their bytes, so that nothing is read twice. */
  readonly #own = new WeakMap<Buffer, Opened>();
  readonly #listeners: ((shown: readonly StoredEvent[]) => void)[] = [];
  #pendingBytes = 0;
  onFailure: (error: unknown) => void = () => {};

  private constructor(runtime: Runtime, config: AlertPipelineSettings) {
    this.#runtime = runtime;
    this.#config = config;
    this.#rules = eventRules(config);
    const onFailure = (error: unknown) => this.onFailure(error);
    this.#writer = new AlertWriter(runtime.store, config.DEAD_LETTER_BYTES_MAX);
    this.#writer.onFailure = onFailure;
    this.#publisher = new LogPublisher(
      (messages) => runtime.log.publish(ALERTS_TOPIC, messages),
      config.ALERT_LOG_SECONDS_MAX * 1000,
    );
    this.#publisher.onAway = onFailure;
    this.#answers = new ResultChannel({ ...runtime, secondsMax: config.ALERT_ANSWER_SECONDS_MAX, onFailure });
    this.#follower = new AlertProcessor({
      store: runtime.store,
      writer: this.#writer,
      rules: foldRules(config),
      openMax: config.ALERT_OPEN_CACHED,
      own: (value) => this.#own.get(value),
      read: (head, body) => this.#readAgain(head, body),
      tell: (head, { outcomes, created }) => this.#answers.tell(head, { outcomes, created }),
      onStored: (shown) => {
        for (const listener of this.#listeners) listener(shown);
      },
      replay: (order) => this.#carryOut(order),
    });
  }

  /**
   * Finishes what a killed process had begun, then decides on what the log brings; a process that does not follow
   * leaves both to others.
   */
  static async start(
    runtime: Runtime,
    config: AlertPipelineSettings,
    follows = true,
  ): Promise<AlertPipeline> {
    const alerts = new AlertPipeline(runtime, config);
    const fsync = config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
    await applySchema(runtime.store, { tables: alertTables, derived: [], views: [] }, fsync);
    if (!follows) return alerts;
    await alerts.#follower.start();
    await runtime.log.consume(ALERTS_TOPIC, GROUP, (batch) => alerts.#follower.take(batch));
    return alerts;
  }

  /** Whether so much waits that nothing more should be accepted for now. */
  get isOverloaded(): boolean {
    return this.#pendingBytes + this.#follower.pendingBytes > this.#config.ALERT_PENDING_BYTES_MAX;
  }

  /** Called with events in their order once they are durable; after a kill some are told of again. */
  onStored(listener: (shown: readonly StoredEvent[]) => void): void {
    this.#listeners.push(listener);
  }

  /** Reads a body; throws `BodyError` when nothing in it can be taken. */
  parse(head: DeliveryRequest, body: Buffer): ParsedDelivery {
    return parseDelivery(head, body, this.#rules);
  }

  /**
   * Returns what a delivery did; it is durable by then. `read` is what its body was read as. Throws
   * `service_unreachable` when the log does not take it in time.
   */
  async deliver(given: DeliveryRequest, body: Buffer, read: ParsedDelivery): Promise<EventResult> {
    return this.#submit({ ...given, kind: 'delivery', rules: this.#rules, ...this.#stamp() }, body, read);
  }

  /** Returns what an action did, once every reader can see it. Throws like `deliver`. */
  async applyAction(given: Omit<ActionHead, 'id' | 'from' | 'at' | 'kind'>): Promise<EventResult> {
    return this.#submit({ ...given, kind: 'action', ...this.#stamp() }, Buffer.alloc(0), null);
  }

  /** Resolves when everything that this process decided on can be read. */
  waitUntilWritten(): Promise<void> {
    return this.#writer.flush();
  }

  /**
   * Has all events of projects decided on anew, by the rules of this process. The order goes the way of every event,
   * so whoever decides on a project carries it out, and nothing new is decided on meanwhile.
   */
  async replay({ projects, dryRun }: ReplayOrder): Promise<ReplayResult[]> {
    const replayed: ReplayResult[] = [];
    for (const project of projects.length > 0 ? projects : await projectsWithEvents(this.#runtime.store)) {
      const rules = this.#rules;
      const head: ReplayHead = { kind: 'replay', project, dry_run: dryRun, rules, ...this.#stamp() };
      const message = { key: String(project), value: encodeEvent(head) };
      const answer = await this.#answers.of(head, null, () => this.#publisher.add(message));
      if (!answer.replayed || 'fault' in answer.replayed) {
        throw new ProductError('store_failed', `project ${project} was not replayed`, answer.replayed?.fault);
      }
      replayed.push(answer.replayed);
    }
    return replayed;
  }

  /** Writes what was decided on, and gives up what the store will not take: the log hands that over again. */
  stop(): Promise<void> {
    return this.#writer.stop();
  }

  async #carryOut(order: ReplayHead): Promise<void> {
    const { rules: carried, project, dry_run } = order;
    const tools = {
      store: this.#runtime.store,
      rules: { ...foldRules(this.#config), ...carried },
      carried,
      read: (head: EventHead, body: Buffer) => this.#readBy(carried, head, body),
    };
    // Who ordered it may order it again; the events of others must not wait for that.
    const replayed = await replayProject(tools, project, dry_run).catch((error) => ({
      fault: reasonOf(error),
    }));
    this.#answers.tell(order, { outcomes: [], created: [], replayed });
  }

  #stamp() {
    return { id: randomUUID(), from: this.#answers.name, at: this.#runtime.clock.now() };
  }

  async #submit(head: EventHead, body: Buffer, read: ParsedDelivery | null): Promise<EventResult> {
    const value = encodeEvent(head, body);
    this.#own.set(value, { event: { head, read }, body });
    this.#pendingBytes += value.length;
    try {
      const message = { key: String(head.project), value };
      return await this.#answers.of(head, read, () => this.#publisher.add(message));
    } finally {
      this.#pendingBytes -= value.length;
    }
  }

  #readAgain(head: EventHead, body: Buffer): DecodedEvent {
    const rules = head.kind === 'delivery' ? head.rules : undefined;
    return this.#readBy(rules ?? this.#rules, head, body);
  }

  /** What cannot be read is kept as an event that did nothing: it was read before it was accepted. */
  #readBy(rules: ReturnType<typeof parsingRules>, head: EventHead, body: Buffer): DecodedEvent {
    if (head.kind === 'action') return { head, read: null };
    try {
      return { head, read: parseDelivery(head, body, rules) };
    } catch (error) {
      this.onFailure(error);
      return { head, read: { text: '', items: [], refused: [{ item: 0, reason: reasonOf(error) }] } };
    }
  }
}
