import { sql } from '../../infra/clickhouse/sql.ts';
import { type Lease, Locks } from '../../infra/coordination/lock.ts';
import { lowestOf, sequenceAt } from '../../infra/coordination/sequence.ts';
import type { KeyValue, Numbers, Store } from '../../infra/ports.ts';
import { daysOf, type Window } from '../../ingest/raw/canonical.ts';
import type { EntityId, MaterializedMetric } from '../metric.ts';
import type { KnownLedger } from '../runner/known-ledger.ts';
import { COMPUTE_LANES, type ComputeLane } from '../runner/lanes.ts';
import { TableWriters } from '../runner/table-writers.ts';
import { type Comparison, recordChanges, type Suspects, suspectsOf } from './record.ts';
import { isRecorded, slicingOf } from './slices.ts';
import { changeRuns, metricChanges } from './tables.ts';

interface ChangeRecorderOptions {
  readonly store: Store;
  readonly keyValue: KeyValue;
  readonly numbers: Numbers;
  readonly leaseMs: number;
  readonly isShared: boolean;
  readonly metrics: readonly MaterializedMetric[];
  readonly ledger: KnownLedger;
  /** Called when changes may have been recorded. */
  readonly onRecorded: (version: bigint) => Promise<void>;
}

/** A run of a lane, before its changes are recorded. */
interface Run {
  readonly number: bigint;
  /** Rows above this version may not be compared yet: those of this run, of one that was interrupted, and late ones. */
  readonly since: bigint;
  /** By metric; absent where a run before this one was interrupted and may have written anything. */
  readonly windows: ReadonlyMap<string, readonly Window[]> | undefined;
  /** The metrics of which this process may have written rows since it began, with their entities where they have some. */
  readonly written: Map<string, Set<EntityId>>;
}

/** A run that is recorded together with those that follow it. */
interface PutOff {
  /** When the first of them began, on the clock of `performance`. */
  readonly beganAt: number;
  readonly ended: PromiseWithResolvers<void>;
}

/** Numbers up to which changes may be told. */
export interface ChangeProgress {
  /** Every change up to it is visible, and no other one will be. */
  readonly visible: bigint;
  /** No change up to it comes later, also after clocks were set back: a higher number is stored. */
  readonly passed: bigint;
}

const NOTHING_VISIBLE: ChangeProgress = { visible: 0n, passed: 0n };

interface RunRow {
  readonly scope: string;
  readonly since: string;
  readonly is_open: 0 | 1;
  readonly version: string;
}

type StoredRun = Readonly<Record<keyof typeof changeRuns.columns, string | number>> & RunRow;

/** While one round follows another, what they have changed is recorded together, after no more than this. */
const PUT_OFF_MS_MAX = 5000;

/** Statements list them: more are found by the version of their rows. */
const ENTITIES_MAX = 500;

/** The scope of the runs that also compare what earlier versions of the product have computed. */
const FILLING: ComputeLane = 'backfill';

/**
 * Records which slices of the metrics a run has changed. That a run is open is stored before it computes: whatever
 * interrupts it, the next run of its lane compares all rows that were written since. Changes are numbered when their
 * rows are visible, by one process at a time.
 */
export class ChangeRecorder {
  readonly #options: ChangeRecorderOptions;
  readonly #metrics: readonly MaterializedMetric[];
  readonly #writers: TableWriters;
  readonly #locks: Locks;
  readonly #runs = new Map<ComputeLane, Run>();
  readonly #ends = new Set<PromiseWithResolvers<void>>();
  readonly #putOff = new Map<ComputeLane, PutOff>();
  /** What is stored of runs, where no other process writes it. */
  #known: Map<string, RunRow> | undefined;

  constructor(options: ChangeRecorderOptions) {
    this.#options = options;
    this.#metrics = options.metrics.filter(isRecorded);
    this.#writers = new TableWriters(options);
    this.#locks = new Locks(options.keyValue, { ttlMs: options.leaseMs });
  }

  /**
   * Runs work under the lock of a lane, and then records what its windows have changed; where other work of the lane is
   * sure to follow in this process, together with what that changes.
   */
  async during<T>(
    lane: ComputeLane,
    lease: Lease,
    work: () => Promise<T>,
    isFollowed: () => boolean = () => false,
  ): Promise<T> {
    const { beganAt, ended } = this.#continued(lane);
    let isPutOff = false;
    try {
      const result = await work();
      isPutOff = this.#runs.has(lane) && isFollowed() && performance.now() - beganAt < PUT_OFF_MS_MAX;
      if (isPutOff) this.#putOff.set(lane, { beganAt, ended });
      else await this.#end(lane, lease);
      return result;
    } finally {
      if (!isPutOff) this.#resolve(ended);
    }
  }

  /** The run that was put off, or what a new one begins with. */
  #continued(lane: ComputeLane): PutOff {
    const putOff = this.#putOff.get(lane);
    this.#putOff.delete(lane);
    if (putOff) return putOff;
    this.#runs.delete(lane);
    const ended = Promise.withResolvers<void>();
    this.#ends.add(ended);
    return { beganAt: performance.now(), ended };
  }

  #resolve(ended: PromiseWithResolvers<void>): void {
    this.#ends.delete(ended);
    ended.resolve();
  }

  /** Resolves when the runs of this process are recorded that have computed something by now. */
  async settled(): Promise<void> {
    await Promise.all([...this.#ends].map(({ promise }) => promise));
  }

  /** Nothing follows any more: the next start records what was put off. */
  stop(): void {
    for (const { ended } of this.#putOff.values()) this.#resolve(ended);
  }

  /** Opens the run of a lane that computes these windows. */
  async begin(lane: ComputeLane, windows: readonly (Window & { readonly metric: string })[]): Promise<void> {
    const byMetric = Map.groupBy(windows.map(daysOf), ({ metric }) => metric);
    const putOff = this.#runs.get(lane);
    if (putOff) {
      this.#runs.set(lane, { ...putOff, windows: joined(putOff.windows, byMetric) });
      return;
    }
    const number = await this.#options.numbers.take(1);
    const rows = await this.#readRows();
    const former = await this.#leftOver(rows, lane);
    const ended = BigInt(rows.find(({ scope }) => scope === lane)?.since ?? number);
    // Of one process, the run that has ended has compared its own rows, and the one of the other lane will.
    const since = former ?? (this.#options.isShared ? earlier(ended) : number);
    const open: StoredRun = { scope: lane, since: since.toString(), is_open: 1, version: number.toString() };
    const isNew = !hasFilling(rows) && (await this.#leftOver(rows, FILLING)) === null;
    await this.#write(isNew ? [NOTHING_TO_FILL, open] : [open]);
    const ofRun = former === null ? byMetric : undefined;
    this.#runs.set(lane, { number, since, windows: ofRun, written: new Map() });
  }

  /** A window of the metric writes rows, in whichever lane: all that it has, or those of these entities. */
  noteWriting(metric: string, entities: readonly EntityId[] = []): void {
    for (const { written } of this.#runs.values()) {
      const known = written.get(metric) ?? new Set();
      written.set(metric, known);
      for (const entity of entities) known.add(entity);
    }
  }

  /** Whether a run was interrupted, or has not ended. */
  async hasOpenRuns(): Promise<boolean> {
    const rows = await this.#readRows();
    const left = await Promise.all(COMPUTE_LANES.map((lane) => this.#leftOver(rows, lane)));
    return left.some((since) => since !== null);
  }

  /** Reads what may be told of the changes. */
  async progress(): Promise<ChangeProgress> {
    const { numbers } = this.#options;
    const visible = await this.#writers.visibleUpTo(await numbers.take(1), [metricChanges.name]);
    const rows = await this.#readRows();
    if (!isFilled(rows)) return NOTHING_VISIBLE;
    const [stored = 0n] = rows.map(({ version }) => BigInt(version)).sort((a, b) => (a > b ? -1 : 1));
    return { visible, passed: lowestOf([stored], visible) };
  }

  async #end(lane: ComputeLane, lease: Lease): Promise<void> {
    const { store, numbers, onRecorded } = this.#options;
    const rows = await this.#readRows();
    const run = this.#runs.get(lane) ?? (await this.#interrupted(rows, lane));
    if (run === null) return;
    const refilled = await this.#refilled(rows);
    await this.#locks.run(metricChanges.name, () =>
      this.#writers.run(metricChanges.name, async (isRepeated) => {
        const sequence = await numbers.take(1);
        const unconfirmedFrom = run.windows === undefined || isRepeated ? run.since : null;
        const comparisons = this.#comparisons(run, refilled);
        await recordChanges(store, { comparisons, run: run.number, sequence, unconfirmedFrom });
      }),
    );
    const version = await numbers.take(1);
    // Who holds the lock after this process opens its run under a higher version.
    await lease.ensure();
    await this.#write(
      [lane, ...refilled].map((scope) => ({
        scope,
        since: run.number.toString(),
        is_open: 0,
        version: version.toString(),
      })),
    );
    this.#runs.delete(lane);
    if (lane === FILLING || isFilled(rows)) await onRecorded(version);
  }

  /** What may have changed: a fold writes nothing where its facts are those of the last time. */
  #comparisons({ windows, since, written }: Run, refilled: readonly string[]): Comparison[] {
    const { isShared } = this.#options;
    return this.#metrics.flatMap((metric): Comparison[] => {
      if (refilled.includes(metric.name)) return [{ metric, suspects: { of: 'all' } }];
      if (windows === undefined) return [{ metric, suspects: { of: 'version', since } }];
      const own = windows.get(metric.name);
      const entities = isShared ? undefined : written.get(metric.name);
      if (!own || (!isShared && !entities)) return [];
      const suspects: Suspects =
        metric.entities?.column === slicingOf(metric).column && entities && entities.size <= ENTITIES_MAX
          ? { of: 'entities', entities: [...entities] }
          : suspectsOf(metric, own, since);
      return [{ metric, suspects }];
    });
  }

  async #interrupted(rows: readonly RunRow[], lane: ComputeLane): Promise<Run | null> {
    const since = await this.#leftOver(rows, lane);
    return since === null
      ? null
      : { number: await this.#options.numbers.take(1), since, windows: undefined, written: new Map() };
  }

  /** The version above which a run that did not end may have written rows; null when the last one ended. */
  async #leftOver(rows: readonly RunRow[], lane: ComputeLane): Promise<bigint | null> {
    const row = rows.find(({ scope }) => scope === lane);
    if (row) return row.is_open ? BigInt(row.since) : null;
    if (lane !== FILLING || (await this.#options.ledger.read()).marks.size === 0) return null;
    return 0n;
  }

  /** Metrics that were emptied and are computed again, so that a slice without rows has lost them. */
  async #refilled(rows: readonly RunRow[]): Promise<string[]> {
    const emptied = this.#metrics.filter(({ name }) => rows.some((row) => row.scope === name && row.is_open));
    if (emptied.length === 0) return [];
    const { marks } = await this.#options.ledger.read();
    return emptied.map(({ name }) => name).filter((name) => (marks.get(name)?.all ?? 0n) > 0n);
  }

  async #readRows(): Promise<readonly RunRow[]> {
    const { store, isShared } = this.#options;
    if (isShared || !this.#known) {
      const rows = await store.rows<RunRow>(
        sql`SELECT scope, toString(run.since) AS since, is_open, toString(run.version) AS version
          FROM ${changeRuns} AS run FINAL`,
      );
      this.#known = new Map(rows.map((row) => [row.scope, row]));
    }
    return [...this.#known.values()];
  }

  async #write(rows: readonly StoredRun[]): Promise<void> {
    try {
      await this.#options.store.insert(changeRuns, rows);
    } catch (error) {
      // It may be stored all the same.
      this.#known = undefined;
      throw error;
    }
    for (const row of rows) this.#known?.set(row.scope, row);
  }
}

/** The windows of both by metric; unknown where those of the first are. */
function joined(first: Run['windows'], second: NonNullable<Run['windows']>): Run['windows'] {
  if (first === undefined) return undefined;
  const windows = new Map(first);
  for (const [metric, more] of second) windows.set(metric, [...(windows.get(metric) ?? []), ...more]);
  return windows;
}

const hasFilling = (rows: readonly RunRow[]) => rows.some(({ scope }) => scope === FILLING);
/** Of a store in which nothing was computed before: any run of the lane has a higher version. */
const NOTHING_TO_FILL: StoredRun = { scope: FILLING, since: '1', is_open: 0, version: '1' };

/**
 * A window that was queued by a process that died is computed outside a run, and may take so long. Where no other
 * process computes, a run ends after its windows.
 */
const LATE_MS = 3_600_000;
const earlier = (number: bigint): bigint => {
  const before = number - sequenceAt(LATE_MS);
  return before > 1n ? before : 1n;
};

/** Whether what was computed before changes were recorded is compared. */
const isFilled = (rows: readonly RunRow[]): boolean =>
  rows.some(({ scope, since, is_open }) => scope === FILLING && (!is_open || since !== '0'));
