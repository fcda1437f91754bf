import { createHash } from 'node:crypto';
import { ProductError } from '../../infra/errors.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { relayOf } from '../../ingest/raw/canonical.ts';
import { RetentionReader } from '../../ingest/raw/retention.ts';
import { dependencies, type MaterializedMetric } from '../metric.ts';
import { type PlannedWindow, readsAllRows } from '../planner/plan.ts';
import { computeWindow, failureOf, ledgerEntry, ledgerPlace, readFacts, updateWindow } from './compute.ts';
import type { ComputeMeasures } from './compute-measures.ts';
import { type FailureTexts, type ReadsByMetric, readsOf, type WindowFailure } from './failures.ts';
import { factsByRelay } from './fold-lines.ts';
import type { ComputeLane } from './lanes.ts';
import type { LedgerEntry } from './ledger.ts';
import { Precedence } from './precedence.ts';
import { type EntityMetric, forgetEntities, refold } from './refold.ts';
import { Schedule } from './schedule.ts';
import { TableWriters } from './table-writers.ts';
import { WindowLocks } from './window-locks.ts';
import { partsOf } from './window-parts.ts';

export interface WindowExecutorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  /** Windows that this process computes at the same time; the store uses every core for each. */
  readonly concurrency: number;
  /** Time after which the lock of a process that died is free. */
  readonly leaseMs: number;
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
  /** Facts that several folds of a round read with the same statement, and how many of the folds still need them. */
  readonly #sharedFacts = new Map<string, { readers: number; facts?: Promise<Buffer> }>();

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
    for (const { name } of metrics.filter(isWholeFold))
      for (const relay of RELAY_CHAINS) await keyValue.delete(fingerprintKey(name, relay));
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
    return this.#locks.run(window, () => this.#computeTraced(window, lane, round));
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
    if (hasEntities(metric)) return this.#refold(metric, window);
    if (metric.keepsEqualRows) return this.#update(metric, window);
    return isWholeFold(metric) ? this.#foldChanged(metric, window, lane) : this.#replaceOpen(metric, window);
  }

  /**
   * Lets the folds of a round that read the same facts read them once. Facts that the other lane read before this round
   * began are no longer shared: this round may know of newer ones, and its rows must not be replaced by older ones.
   */
  protected shareFacts(windows: readonly PlannedWindow[], lane: ComputeLane): void {
    this.#sharedFacts.clear();
    for (const window of windows) {
      const metric = this.#metrics.get(window.metric);
      if (!metric || !isWholeFold(metric)) continue;
      const key = `${lane} ${metric.select(window).text}`;
      this.#sharedFacts.set(key, { readers: (this.#sharedFacts.get(key)?.readers ?? 0) + 1 });
    }
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
    const entry = await this.#replace(
      metric,
      { ...window, relays },
      Buffer.concat(changed.map(({ own }) => own)),
    );
    for (const { key, fingerprint } of changed) await keyValue.set(key, fingerprint);
    return entry;
  }

  async #readFacts(metric: MaterializedMetric, window: PlannedWindow, lane: ComputeLane): Promise<Buffer> {
    const read = () => readFacts(this.options.runtime.store, metric, window);
    const key = `${lane} ${metric.select(window).text}`;
    const shared = this.#sharedFacts.get(key);
    if (!shared) return read();
    shared.facts ??= read();
    // The facts may be large: they are freed with their last reader.
    if (--shared.readers === 0) this.#sharedFacts.delete(key);
    return shared.facts;
  }

  async #refold(metric: EntityMetric, window: PlannedWindow): Promise<LedgerEntry | null> {
    const { runtime, numbers, onComputed } = this.options;
    const { store, clock } = runtime;
    const started = clock.now();
    const version = await refold({ store, numbers, writers: this.#writers }, metric, window);
    if (version === null) return null;
    onComputed(metric.name, version);
    return ledgerEntry(metric, window, version, started, clock.now);
  }

  async #update(metric: MaterializedMetric, window: PlannedWindow): Promise<LedgerEntry> {
    const { runtime, numbers } = this.options;
    const started = runtime.clock.now();
    const version = await this.#writers.run(metric.name, async (isRepeated) => {
      const taken = await numbers.take(1);
      await updateWindow(runtime.store, metric, window, taken, isRepeated);
      return taken;
    });
    this.options.onComputed(metric.name, version);
    return ledgerEntry(metric, window, version, started, runtime.clock.now);
  }

  /** The days of a window that are not frozen: a plan may be older than that, and raw rows of the others may be gone. */
  async #replaceOpen(metric: MaterializedMetric, window: PlannedWindow): Promise<LedgerEntry | null> {
    if (!this.#outliving.has(metric.name)) return this.#replace(metric, window);
    const before = (await this.#retention.read())?.frozen.before ?? '';
    if (window.until <= before) return null;
    return this.#replace(metric, window.from < before ? { ...window, from: before } : window);
  }

  /** The version is taken right before the facts are read: a higher version never has older facts. */
  async #replace(metric: MaterializedMetric, window: PlannedWindow, facts?: Buffer): Promise<LedgerEntry> {
    const { runtime, numbers, onComputed } = this.options;
    const version = await numbers.take(1);
    const entry = await computeWindow(runtime.store, metric, window, version, runtime.clock.now, facts);
    onComputed(metric.name, version);
    return entry;
  }
}

const isTooLarge = (error: unknown) =>
  error instanceof ProductError && (error.code === 'store_memory' || error.code === 'store_exhausted');
const hasEntities = (metric: MaterializedMetric): metric is EntityMetric => metric.entities !== undefined;
const isWholeFold = (metric: MaterializedMetric) =>
  metric.materialized === 'whole' && metric.fold !== undefined && !hasEntities(metric);
const NO_FACTS = new Uint8Array();
const fingerprintKey = (metric: string, relayChain: string) => `folded/${metric}/${relayChain}`;
