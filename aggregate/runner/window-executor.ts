import { createHash } from 'node:crypto';
import type { Mutex } from '../../infra/coordination/lock.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { relayOf } from '../../ingest/raw/canonical.ts';
import type { MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { computeWindow, failureOf, ledgerEntry, readFacts, updateWindow } from './compute.ts';
import type { LedgerEntry } from './ledger.ts';
import { type EntityMetric, forgetEntities, refold } from './refold.ts';
import { TableWriters } from './table-writers.ts';

export interface WindowExecutorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  /** Locked while the loader of this process writes a batch. */
  readonly gate: Mutex;
  readonly metrics: readonly MaterializedMetric[];
  /** Windows that this process computes at the same time; the store uses every core for each. */
  readonly concurrency: number;
  /** Time after which the lock of a process that died is free. */
  readonly leaseMs: number;
  readonly onComputed: (metric: string, version: bigint) => void;
}

/** Computes the windows of one level. */
export interface WindowExecutor {
  /** The queues in which its windows wait. */
  readonly queues: readonly string[];
  start(): Promise<void>;
  /** Resolves when no window of an interrupted round is waiting or being computed. */
  clear(): Promise<void>;
  /** Resolves when all windows are computed; throws when one has failed for good. */
  run(windows: readonly PlannedWindow[], onDone: () => void, isStopped: () => boolean): Promise<void>;
  /** Deletes the fingerprints of the folded facts, so that the folds of these metrics run again. */
  forgetFolds(metrics: readonly MaterializedMetric[]): Promise<void>;
}

export const STOPPED = 'the process stops; what is left is computed at its next start';

/** What both executors share: computes a window under a new version. */
export abstract class BaseExecutor {
  readonly options: WindowExecutorOptions;
  readonly #metrics: ReadonlyMap<string, MaterializedMetric>;
  readonly #writers: TableWriters;
  /** Facts that several folds of one level read with the same statement, and how many of the folds still need them. */
  readonly #sharedFacts = new Map<string, { readers: number; facts?: Promise<Buffer> }>();

  constructor(options: WindowExecutorOptions) {
    this.options = options;
    this.#writers = new TableWriters({ ...options, keyValue: options.runtime.keyValue });
    this.#metrics = new Map(options.metrics.map((metric) => [metric.name, metric]));
  }

  async forgetFolds(metrics: readonly MaterializedMetric[]): Promise<void> {
    const { keyValue, store } = this.options.runtime;
    await forgetEntities({ store, numbers: this.options.numbers }, metrics, RELAY_CHAINS);
    for (const { name } of metrics.filter(isWholeFold))
      for (const relay of RELAY_CHAINS) await keyValue.delete(fingerprintKey(name, relay));
  }

  /** Computes one window; null when its facts are those of the last time. */
  protected async compute(window: PlannedWindow): Promise<LedgerEntry | null> {
    const metric = this.#metrics.get(window.metric);
    if (!metric) throw new ProductError('unknown_metric', `${window.metric} is a metric of another version`);
    try {
      if (hasEntities(metric)) return await this.#refold(metric, window);
      if (metric.keepsEqualRows) return await this.#update(metric, window);
      return await (isWholeFold(metric) ? this.#foldChanged(metric, window) : this.#replace(metric, window));
    } catch (error) {
      throw failureOf(metric, window, error);
    }
  }

  /** Lets the folds of one level that read the same facts read them once. */
  protected shareFacts(windows: readonly PlannedWindow[]): void {
    this.#sharedFacts.clear();
    for (const window of windows) {
      const metric = this.#metrics.get(window.metric);
      if (!metric || !isWholeFold(metric)) continue;
      const { text } = metric.select(window);
      this.#sharedFacts.set(text, { readers: (this.#sharedFacts.get(text)?.readers ?? 0) + 1 });
    }
  }

  /** A fold over the whole history runs only when its facts differ from those of its last run, in whatever process. */
  async #foldChanged(metric: MaterializedMetric, window: PlannedWindow): Promise<LedgerEntry | null> {
    const { keyValue } = this.options.runtime;
    const key = fingerprintKey(metric.name, relayOf(window));
    const facts = await this.#readFacts(metric, window);
    const fingerprint = createHash('sha256').update(facts).digest('base64');
    if ((await keyValue.get(key)) === fingerprint) return null;
    // When the replacement is interrupted, the table holds neither the old rows nor all of the new ones.
    await keyValue.delete(key);
    const entry = await this.#replace(metric, window, facts);
    await keyValue.set(key, fingerprint);
    return entry;
  }

  /** Reads the facts between two batches of the loader: a fold over half a batch would be repeated. */
  async #readFacts(metric: MaterializedMetric, window: PlannedWindow): Promise<Buffer> {
    const { runtime, gate } = this.options;
    const read = () => gate.run(() => readFacts(runtime.store, metric, window));
    const { text } = metric.select(window);
    const shared = this.#sharedFacts.get(text);
    if (!shared) return read();
    shared.facts ??= read();
    // The facts may be large: they are freed with their last reader.
    if (--shared.readers === 0) this.#sharedFacts.delete(text);
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

  /** The version is taken right before the facts are read: a higher version never has older facts. */
  async #replace(metric: MaterializedMetric, window: PlannedWindow, facts?: Buffer): Promise<LedgerEntry> {
    const { runtime, numbers, onComputed } = this.options;
    const version = await numbers.take(1);
    const entry = await computeWindow(runtime.store, metric, window, version, runtime.clock.now, facts);
    onComputed(metric.name, version);
    return entry;
  }
}

const hasEntities = (metric: MaterializedMetric): metric is EntityMetric => metric.entities !== undefined;
const isWholeFold = (metric: MaterializedMetric) =>
  metric.materialized === 'whole' && metric.fold !== undefined && !hasEntities(metric);
const fingerprintKey = (metric: string, relayChain: string) => `folded/${metric}/${relayChain}`;
