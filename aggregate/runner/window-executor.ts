import { createHash } from 'node:crypto';
import { DATABASE, sql } from '../../infra/clickhouse/sql.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { relayOf, type Window } from '../../ingest/raw/canonical.ts';
import { RetentionReader } from '../../ingest/raw/retention.ts';
import { dependencies, type EntityId, type MaterializedMetric } from '../metric.ts';
import { type PlannedWindow, readsAllRows } from '../planner/plan.ts';
import { computeWindow, failureOf, ledgerEntry, ledgerPlace, readFacts, updateWindow } from './compute.ts';
import type { ComputeMeasures } from './compute-measures.ts';
import { type FailureTexts, type ReadsByMetric, readsOf, type WindowFailure } from './failures.ts';
import { factsByRelay, factsOfKinds } from './fold-lines.ts';
import type { ComputeLane } from './lanes.ts';
import type { LedgerEntry } from './ledger.ts';
import { Precedence } from './precedence.ts';
import {
  type EntityMetric,
  type EntityProgress,
  forgetEntities,
  RoundReads,
  readProgress,
  refold,
} from './refold.ts';
import { Schedule } from './schedule.ts';
import { SharedFacts } from './shared-facts.ts';
import { TableWriters } from './table-writers.ts';
import { WindowLocks } from './window-locks.ts';
import { partsOf } from './window-parts.ts';

interface WindowExecutorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  /** Windows that this process computes at the same time; the store uses every core for each. */
  readonly concurrency: number;
  /** Time after which the lock of a process that died is free. */
  readonly leaseMs: number;
  /** Called before rows of a metric are written, or of these entities of it. */
  readonly onWriting: (metric: string, entities?: readonly EntityId[]) => void;
  readonly onComputed: (metric: string, version: bigint) => void;
  readonly measures: ComputeMeasures;
}

/** What came of the windows of a round. */
export interface ComputedRound {
  readonly computed: number;
  /** By metric; the windows of those that read it were left out. */
  readonly failures: ReadonlyMap<string, WindowFailure & FailureTexts>;
}

export interface RoundOptions {
  readonly lane: ComputeLane;
  /** Called with the number of windows that are computed or left out. */
  readonly onDone: (windows: number) => void;
  readonly isStopped: () => boolean;
}

/** Computes the windows of a round. */
export interface WindowExecutor {
  /** The queues in which its windows wait. */
  readonly queues: readonly string[];
  start(): Promise<void>;
  /** Resolves when all windows are computed, save those of metrics that fail and of those that read them. */
  run(windows: readonly PlannedWindow[], options: RoundOptions): Promise<ComputedRound>;
  /** Deletes the fingerprints of the folded facts, so that the folds of these metrics run again. */
  forgetFolds(metrics: readonly MaterializedMetric[]): Promise<void>;
}

export const STOPPED = 'the process stops; what is left is computed at its next start';

/** What both executors share: computes a window under a new version. */
export abstract class BaseExecutor {
  readonly options: WindowExecutorOptions;
  readonly #metrics: ReadonlyMap<string, MaterializedMetric>;
  readonly #writers: TableWriters;
  readonly #reads: ReadsByMetric;
  readonly #locks: WindowLocks;
  /** Metrics whose rows outlive the raw rows that they are made of. */
  readonly #outliving: ReadonlySet<string>;
  readonly #retention: RetentionReader;
  protected readonly precedence = new Precedence();
  readonly #sharedFacts = new SharedFacts();
  /** Tables without a row, of metrics that were not computed here before; and all that this process has written to. */
  readonly #empty = new Set<string>();
  readonly #written = new Set<string>();
  /** How far entities were computed before the round of a lane; null before its first window asks. */
  readonly #progress = new Map<ComputeLane, Promise<EntityProgress> | null>();
  /** As with shared facts, of the lane that has begun a round last. */
  readonly #roundReads = new Map<ComputeLane, RoundReads>();

  constructor(options: WindowExecutorOptions) {
    this.options = options;
    this.#writers = new TableWriters({ ...options, keyValue: options.runtime.keyValue });
    this.#metrics = new Map(options.metrics.map((metric) => [metric.name, metric]));
    this.#reads = readsOf(options.metrics);
    this.#outliving = new Set(
      options.metrics.filter((one) => readsAllRows(dependencies(one))).map(({ name }) => name),
    );
    this.#retention = new RetentionReader(options.runtime.store);
    this.#locks = new WindowLocks(options.runtime.keyValue, options.leaseMs);
  }

  async forgetFolds(metrics: readonly MaterializedMetric[]): Promise<void> {
    const { keyValue, store } = this.options.runtime;
    await forgetEntities({ store, numbers: this.options.numbers }, metrics, RELAY_CHAINS);
    for (const lane of this.#progress.keys()) this.#progress.set(lane, null);
    for (const { name } of metrics.filter(isWholeFold))
      for (const relay of RELAY_CHAINS) await keyValue.delete(fingerprintKey(name, relay));
  }

  /** Finds which of these tables have no row, so that their first window has none to take away. */
  protected async findEmpty(metrics: readonly MaterializedMetric[]): Promise<void> {
    const names = metrics.map(({ name }) => name).filter((name) => !this.#written.has(name));
    if (names.length === 0) return;
    const rows = await this.options.runtime.store.rows<{ name: string }>(
      sql`SELECT name FROM system.tables WHERE database = ${DATABASE} AND name IN ${names} AND total_rows = 0`,
    );
    // What was written meanwhile is not empty.
    for (const { name } of rows) if (!this.#written.has(name)) this.#empty.add(name);
  }

  /** Notes that rows are written; returns whether they are the first ones of their table. */
  #beginWriting({ name }: MaterializedMetric, entities?: readonly EntityId[]): boolean {
    this.#written.add(name);
    this.options.onWriting(name, entities);
    return this.#empty.delete(name);
  }

  protected schedule(windows: readonly PlannedWindow[]): Schedule {
    return new Schedule(windows, this.#reads);
  }

  /** Computes a window when it is the turn of its lane and no other window that overlaps it is being computed. */
  protected async computeAlone(
    window: PlannedWindow,
    lane: ComputeLane,
    round?: Traceparent,
  ): Promise<LedgerEntry | null> {
    if (lane === 'backfill') await this.precedence.turn();
    return this.#locks.run(window, (locked) => this.#computeTraced(locked, lane, round));
  }

  /** As a span of its round, which is the active one in the process that planned it. */
  #computeTraced(
    window: PlannedWindow,
    lane: ComputeLane,
    round: Traceparent | undefined,
  ): Promise<LedgerEntry | null> {
    const { tracer } = this.options.runtime;
    if (!tracer.isOn) return this.#compute(window, lane);
    const { metric, relays, from, until } = window;
    const attributes = {
      'chain_metrics.metric': metric,
      'chain_metrics.lane': lane,
      'chain_metrics.relay_chains': relays.join(' '),
      'chain_metrics.from': from,
      'chain_metrics.until': until,
    };
    const options = { attributes, ...(round === undefined ? {} : { causes: [round] }) };
    return tracer.span(`compute ${metric}`, options, () => this.#compute(window, lane));
  }

  /** Computes one window; null when its facts are those of the last time. */
  async #compute(window: PlannedWindow, lane: ComputeLane): Promise<LedgerEntry | null> {
    const metric = this.#metrics.get(window.metric);
    if (!metric) throw new ProductError('unknown_metric', `${window.metric} is a metric of another version`);
    const { windowSeconds, failedWindows } = this.options.measures;
    const end = windowSeconds.startTimer({ lane });
    try {
      return await this.#computeFitting(metric, window, lane);
    } catch (error) {
      failedWindows.inc({ metric: metric.name, lane });
      throw failureOf(metric, window, error);
    } finally {
      end();
    }
  }

  /** A window that needs more memory than the store has is computed in parts, and these in theirs. */
  async #computeFitting(
    metric: MaterializedMetric,
    window: PlannedWindow,
    lane: ComputeLane,
  ): Promise<LedgerEntry | null> {
    const { store, clock } = this.options.runtime;
    const started = clock.now();
    try {
      return await this.#computeWhole(metric, window, lane);
    } catch (error) {
      const parts = isTooLarge(error) ? await partsOf(store, metric, window).catch(() => []) : [];
      if (parts.length < 2) throw error;
      let last: LedgerEntry | null = null;
      for (const part of parts) last = (await this.#computeFitting(metric, part, lane)) ?? last;
      return last && { ...last, ...ledgerPlace(window), milliseconds: Math.max(0, clock.now() - started) };
    }
  }

  async #computeWhole(
    metric: MaterializedMetric,
    window: PlannedWindow,
    lane: ComputeLane,
  ): Promise<LedgerEntry | null> {
    if (hasEntities(metric)) return this.#refold(metric, window, lane);
    if (metric.keepsEqualRows) return this.#update(metric, window);
    if (isWholeFold(metric)) return this.#foldChanged(metric, window, lane);
    return this.#replaceOpen(metric, window, lane);
  }

  /** Lets the folds of these windows, those of a round, share what they read. */
  protected shareReads(windows: readonly PlannedWindow[], lane: ComputeLane): void {
    const statements = windows.flatMap((window) => {
      const metric = this.#metrics.get(window.metric);
      return metric && foldsFacts(metric) ? [factsKey(metric, window, lane)] : [];
    });
    this.#sharedFacts.begin(statements);
    this.#progress.set(lane, null);
    this.#roundReads.clear();
    this.#roundReads.set(lane, new RoundReads());
  }

  /** Forgets what the windows of a round have shared. */
  protected endSharing(lane: ComputeLane): void {
    this.#roundReads.delete(lane);
  }

  /** A fold over the whole history runs only when its facts differ from those of its last run, in whatever process. */
  async #foldChanged(
    metric: MaterializedMetric,
    window: PlannedWindow,
    lane: ComputeLane,
  ): Promise<LedgerEntry | null> {
    const { keyValue } = this.options.runtime;
    const facts = await this.#readFacts(metric, window, lane);
    const byRelay = metric.foldsRelays ? factsByRelay(facts) : new Map([[relayOf(window), facts]]);
    const changed: { relay: string; key: string; fingerprint: string; own: Uint8Array }[] = [];
    for (const relay of window.relays) {
      const own = byRelay.get(relay) ?? NO_FACTS;
      const key = fingerprintKey(metric.name, relay);
      const fingerprint = createHash('sha256').update(own).digest('base64');
      if ((await keyValue.get(key)) !== fingerprint) changed.push({ relay, key, fingerprint, own });
    }
    if (changed.length === 0) return null;
    // When the replacement is interrupted, the table holds neither the old rows nor all of the new ones.
    for (const { key } of changed) await keyValue.delete(key);
    const relays = changed.map(({ relay }) => relay);
    const own = Buffer.concat(changed.map((one) => one.own));
    const entry = await this.#replace(metric, { ...window, relays }, async () => own);
    for (const { key, fingerprint } of changed) await keyValue.set(key, fingerprint);
    return entry;
  }

  /** The facts of a fold, without those that only others need which share the statement. */
  async #readFacts(metric: MaterializedMetric, window: PlannedWindow, lane: ComputeLane): Promise<Buffer> {
    const read = () => readFacts(this.options.runtime.store, metric, window);
    const facts = await this.#sharedFacts.read(factsKey(metric, window, lane), read);
    return metric.kinds ? factsOfKinds(facts, metric.kinds) : facts;
  }

  async #refold(metric: EntityMetric, window: PlannedWindow, lane: ComputeLane): Promise<LedgerEntry | null> {
    const { runtime, numbers, onComputed } = this.options;
    const { store, clock } = runtime;
    const started = clock.now();
    const progressOf = await this.#readProgress(lane);
    const beginWriting = (entities: readonly EntityId[]) => this.#beginWriting(metric, entities);
    const reads = this.#roundReads.get(lane) ?? new RoundReads();
    const isWritten = (table: string) => this.#metrics.has(table);
    const options = { store, reads, numbers, writers: this.#writers, isWritten, beginWriting, progressOf };
    const version = await refold(options, metric, window);
    if (version === null) return null;
    onComputed(metric.name, version);
    return ledgerEntry(metric, window, version, started, clock.now);
  }

  /**
   * The windows of a round share it, where this process computes all of them: the other lane may have come further
   * since, and what it has computed is computed once more.
   */
  #readProgress(lane: ComputeLane): Promise<EntityProgress> {
    const known = this.#progress.get(lane);
    if (known) return known;
    const read = readProgress(this.options.runtime.store);
    if (known === null) {
      this.#progress.set(lane, read);
      read.catch(() => this.#progress.set(lane, null));
    }
    return read;
  }

  async #update(metric: MaterializedMetric, window: PlannedWindow): Promise<LedgerEntry> {
    const { runtime, numbers } = this.options;
    const started = runtime.clock.now();
    const version = await this.#writers.run(metric.name, async (isRepeated) => {
      const taken = await numbers.take(1);
      this.#beginWriting(metric);
      await updateWindow(runtime.store, metric, window, taken, isRepeated);
      return taken;
    });
    this.options.onComputed(metric.name, version);
    return ledgerEntry(metric, window, version, started, runtime.clock.now);
  }

  /** The days of a window that are not frozen: a plan may be older than that, and raw rows of the others may be gone. */
  async #replaceOpen(
    metric: MaterializedMetric,
    window: PlannedWindow,
    lane: ComputeLane,
  ): Promise<LedgerEntry | null> {
    const isOutliving = this.#outliving.has(metric.name);
    const before = (isOutliving && (await this.#retention.read())?.frozen.before) || '';
    if (window.until <= before) return null;
    const open = window.from < before ? { ...window, from: before } : window;
    return this.#replace(metric, open, metric.fold && (() => this.#readFacts(metric, open, lane)));
  }

  /** The version is taken right before the facts are read: a higher version never has older facts. */
  async #replace(
    metric: MaterializedMetric,
    window: PlannedWindow,
    readFacts?: () => Promise<Buffer>,
  ): Promise<LedgerEntry> {
    const { runtime, numbers, onComputed } = this.options;
    const { store, clock } = runtime;
    const started = clock.now();
    const version = await numbers.take(1);
    const facts = await readFacts?.();
    const mayLoseRows = !this.#beginWriting(metric) && window.mayLoseRows;
    const own = { ...window, mayLoseRows, isAlone: !runtime.isShared };
    const entry = await computeWindow(store, metric, own, version, clock.now, facts);
    onComputed(metric.name, version);
    return { ...entry, milliseconds: Math.max(0, clock.now() - started) };
  }
}

const isTooLarge = (error: unknown) =>
  error instanceof ProductError && (error.code === 'store_memory' || error.code === 'store_exhausted');
const hasEntities = (metric: MaterializedMetric): metric is EntityMetric => metric.entities !== undefined;
const isWholeFold = (metric: MaterializedMetric) =>
  metric.materialized === 'whole' && metric.fold !== undefined && !hasEntities(metric);
/** Whether windows of the metric fold facts that they read, without comparing the rows with the stored ones. */
const foldsFacts = (metric: MaterializedMetric) =>
  metric.fold !== undefined && !hasEntities(metric) && !metric.keepsEqualRows;
const factsKey = (metric: MaterializedMetric, window: Window, lane: ComputeLane) =>
  `${lane} ${metric.select(window).text}`;
const NO_FACTS = new Uint8Array();
const fingerprintKey = (metric: string, relayChain: string) => `folded/${metric}/${relayChain}`;
