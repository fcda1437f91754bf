import { sql } from '../infra/kernel/sql.ts';
import { Mutex } from '../infra/mutex.ts';
import type { FailedJob, Runtime } from '../infra/runtime.ts';
import type { Sequence } from '../infra/sequence.ts';
import { RELAY_CHAINS } from '../ingest/chains/registry.ts';
import {
  ANY_PALLET,
  blocks,
  calls,
  events,
  extrinsics,
  prices,
  snapshots,
  touched,
} from '../ingest/streams/raw.ts';
import { compute, factsOf, failureOf, fingerprintOf } from './compute.ts';
import { type LedgerEntry, windows as ledgerWindows, settled, settledUpTo, versions } from './ledger.ts';
import { dependencies, type KeptMetric } from './metric.ts';
import { chainDay } from './metrics/chain-day.ts';
import { keptMetrics } from './metrics/index.ts';
import {
  type PlanInput,
  type PlannedWindow,
  palletsIn,
  plan,
  type StreamTables,
  type Touch,
} from './plan.ts';

export const STREAM_TABLES: StreamTables = {
  blocks: [blocks.name, extrinsics.name, events.name, calls.name],
  snapshots: [snapshots.name],
  prices: [prices.name],
};

const QUEUE = 'compute';
const MOST_DAYS = 92;
/** What one statement may look at: the ranks of so many blocks are a few tens of megabytes. */
const MOST_BLOCKS = 500_000;

/** One round of computation: all that was touched up to `upTo`, or windows that an operator asked for. */
interface Round {
  readonly since: string;
}

/** Windows of the computation that runs; of none when nothing does. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}
const NOTHING: Progress = { done: 0, total: 0 };
const STOPPED = 'the process stops; what is left is computed at its next start';

/**
 * Keeps the metrics up to date: finds what was touched since the last round, plans the windows and computes them
 * level by level. A touch that lands during a round makes one more.
 */
export class Aggregator {
  readonly #runtime: Runtime;
  readonly #sequence: Sequence;
  readonly #gate: Mutex;
  readonly #metrics: readonly KeptMetric[];
  /** Of which pallets touches matter to any metric. */
  readonly #pallets: readonly string[];
  readonly #versions = new Map<string, string>();
  /** What the last fold of everything was given, per metric and relay chain; lost with the process, and then folded once more. */
  readonly #foldedFacts = new Map<string, string>();
  /** Rounds and rebuilds never run side by side: an older window must not land after a newer one. */
  readonly #turn = new Mutex();
  /** Who waits for a round that has not begun yet. */
  readonly #settling: { done: () => void; failed: (error: Error) => void }[] = [];
  #progress: Progress = NOTHING;
  #roundsHeld = 0;
  #isStopped = false;

  constructor(
    runtime: Runtime,
    sequence: Sequence,
    gate: Mutex,
    metrics: readonly KeptMetric[] = keptMetrics,
  ) {
    this.#runtime = runtime;
    this.#sequence = sequence;
    this.#gate = gate;
    this.#metrics = metrics;
    this.#pallets = [
      '',
      ANY_PALLET,
      ...new Set(metrics.flatMap((metric) => palletsIn(dependencies(metric)))),
    ];
  }

  async start(): Promise<void> {
    for (const [metric, version] of await versions(this.#runtime.store)) this.#versions.set(metric, version);
    await this.#runtime.queue.process<Round>(QUEUE, 1, () => this.#turn.run(() => this.#round()));
    await this.touch();
  }

  /** Says that something was touched; the round collapses with one that waits already. */
  async touch(): Promise<void> {
    if (this.#roundsHeld === 0) await this.#askForRound();
  }

  async #askForRound(): Promise<void> {
    await this.#runtime.queue.add<Round>(QUEUE, { id: 'touched', data: { since: '' }, priority: 1 });
  }

  /** Computes nothing while a bulk load runs: its days are touched many times and computed once. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#roundsHeld++;
    try {
      return await work();
    } finally {
      this.#roundsHeld--;
      await this.touch();
    }
  }

  /** Resolves when everything that was touched before is computed, whatever comes meanwhile; throws what could not be. */
  async settle(): Promise<void> {
    const round = new Promise<void>((done, failed) => this.#settling.push({ done, failed }));
    await this.#askForRound();
    await Promise.race([round, this.#runtime.queue.idle(QUEUE)]);
    const [failure] = await this.#runtime.queue.failed(QUEUE);
    if (failure) throw new Error(`computation failed after ${failure.attempts} attempts: ${failure.reason}`);
  }

  /** Makes the windows of some metrics anew, whatever the ledger says, and returns how many there were. */
  rebuild(metrics: readonly KeptMetric[], from: string, until: string): Promise<number> {
    const named = new Set(metrics.map((metric) => metric.name));
    return this.#turn.run(async () => {
      this.#foldedFacts.clear();
      const calendar = await this.#calendar();
      const touches = await this.#runtime.store.rows<Touch>(
        sql`SELECT DISTINCT stream, ${ANY_PALLET} AS pallet, relay_chain, chain, toString(day) AS day FROM ${touched}
          WHERE touched.day >= ${from} AND touched.day < ${until} AND touched.pallet IN ('', ${ANY_PALLET})`,
      );
      const windows = this.#plan(touches, calendar).filter((window) => named.has(window.metric));
      await this.#compute(windows);
      return windows.length;
    });
  }

  /** Lets go between two windows; the next start finds in the ledger what is left. */
  stop(): void {
    this.#isStopped = true;
    for (const { failed } of this.#settling.splice(0)) failed(new Error(STOPPED));
  }

  get held(): boolean {
    return this.#roundsHeld > 0;
  }

  async jobs(): Promise<{ waiting: number; failed: FailedJob[] }> {
    const { queue } = this.#runtime;
    return { waiting: await queue.waiting(QUEUE), failed: await queue.failed(QUEUE) };
  }

  /** Changes with every recomputation of a metric's table. */
  version(metric: string): string {
    return this.#versions.get(metric) ?? '0';
  }

  get progress(): Progress {
    return this.#progress;
  }

  async #round(): Promise<void> {
    const settling = this.#settling.splice(0);
    try {
      await this.#computeTouched();
    } catch (error) {
      // They wait for the next try.
      this.#settling.unshift(...settling);
      throw error;
    }
    for (const { done } of settling) done();
  }

  async #computeTouched(): Promise<void> {
    const { store } = this.#runtime;
    const done = await settledUpTo(store);
    const oldest = this.#metrics.reduce(
      (least, metric) => min(least, done.get(metric.name) ?? 0n),
      1n << 63n,
    );
    // Between two batches, so that none of them is seen half loaded and then taken for settled.
    const touches = await this.#gate.run(() =>
      store.rows<Touch & { sequence: string }>(
        sql`SELECT stream, pallet, relay_chain, chain, toString(day) AS day, toString(max(touched.sequence)) AS sequence
        FROM ${touched} WHERE touched.sequence > ${oldest} AND pallet IN ${this.#pallets}
        GROUP BY stream, pallet, relay_chain, chain, day`,
      ),
    );
    if (touches.length === 0) return;
    const calendar = await this.#calendar();
    const newest = touches.reduce((most, touch) => max(most, BigInt(touch.sequence)), 0n);
    const windows = new Map<string, PlannedWindow>();
    // Metrics of one age share a plan; a metric that is new to this store gets its whole history.
    for (const age of new Set(this.#metrics.map((metric) => done.get(metric.name) ?? 0n))) {
      const fresh = touches.filter((touch) => BigInt(touch.sequence) > age);
      for (const window of this.#plan(fresh, calendar)) {
        if ((done.get(window.metric) ?? 0n) === age) windows.set(JSON.stringify(window), window);
      }
    }
    await this.#compute([...windows.values()]);
    await store.insert(
      settled,
      this.#metrics.map((metric) => ({ metric: metric.name, sequence: newest.toString() })),
    );
  }

  #plan(touches: readonly Touch[], calendar: Calendar): PlannedWindow[] {
    return plan({
      touches,
      metrics: this.#metrics,
      streams: STREAM_TABLES,
      ...calendar,
      relays: RELAY_CHAINS,
    });
  }

  async #computeOne(metric: KeptMetric, window: PlannedWindow): Promise<LedgerEntry | null> {
    const isWholeFold = metric.kept === 'whole' && metric.fold !== undefined;
    return isWholeFold ? this.#foldWhole(metric, window) : this.#replace(metric, window);
  }

  /** A fold over everything is run only when its facts are others than the last time. */
  async #foldWhole(metric: KeptMetric, window: PlannedWindow): Promise<LedgerEntry | null> {
    const { store } = this.#runtime;
    const name = `${metric.name}/${window.relay_chain}`;
    // Between two batches: half a batch must not be folded under the fingerprint of the whole.
    const changed = await this.#gate.run(async () => {
      const fingerprint = await fingerprintOf(store, metric, window);
      if (this.#foldedFacts.get(name) === fingerprint) return null;
      return { fingerprint, facts: await factsOf(store, metric, window) };
    });
    if (!changed) return null;
    // Stopped half-way, the table says neither the old nor the new.
    this.#foldedFacts.delete(name);
    const entry = await this.#replace(metric, window, changed.facts);
    this.#foldedFacts.set(name, changed.fingerprint);
    return entry;
  }

  async #replace(metric: KeptMetric, window: PlannedWindow, facts?: Buffer): Promise<LedgerEntry> {
    const { store, clock } = this.#runtime;
    const version = this.#sequence.take(1);
    const entry = await compute(store, metric, window, version, clock.now, facts);
    this.#versions.set(metric.name, version.toString());
    return entry;
  }

  async #compute(windows: readonly PlannedWindow[]): Promise<void> {
    const byName = new Map(this.#metrics.map((metric) => [metric.name, metric]));
    const levels = [...new Set(windows.map((window) => window.level))].sort((a, b) => a - b);
    this.#progress = { done: 0, total: windows.length };
    try {
      for (const level of levels) {
        const waiting = windows.filter((window) => window.level === level);
        const entries: LedgerEntry[] = [];
        const worker = async () => {
          for (let window = waiting.shift(); window; window = waiting.shift()) {
            if (this.#isStopped) throw new Error(STOPPED);
            const metric = byName.get(window.metric) as KeptMetric;
            const entry = await this.#computeOne(metric, window).catch((error) => {
              // The other worker stops too: the next try must not overtake what it still writes.
              waiting.length = 0;
              throw failureOf(metric, window, error);
            });
            if (entry) entries.push(entry);
            this.#progress = { ...this.#progress, done: this.#progress.done + 1 };
          }
        };
        const ends = await Promise.allSettled(Array.from({ length: WORKERS }, worker));
        await this.#runtime.store.insert(ledgerWindows, entries);
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    } finally {
      this.#progress = NOTHING;
    }
  }

  async #calendar(): Promise<Calendar> {
    const { store } = this.#runtime;
    const days = sql`arrayMap(d -> toString(d), groupArray(day)) AS days`;
    const [withBlocks, stated, [size]] = await Promise.all([
      store.rows<DaysOf>(sql`SELECT concat(relay_chain, '/', chain) AS key, ${days}
        FROM (SELECT relay_chain, chain, date AS day FROM ${chainDay.table} FINAL) GROUP BY key`),
      store.rows<DaysOf>(sql`SELECT relay_chain AS key, ${days}
        FROM (SELECT DISTINCT relay_chain, day FROM ${touched} WHERE stream = 'snapshots' AND pallet = '') GROUP BY key`),
      // The same height loaded twice counts twice until its rows are merged: an estimate is enough here.
      store.rows<{ blocks: number; days: number }>(sql`SELECT (SELECT count() FROM ${blocks}) AS blocks,
        (SELECT uniqExact(relay_chain, day) FROM ${touched} WHERE stream = 'blocks' AND pallet = '') AS days`),
    ]);
    const blocksADay = Math.max(1, (size?.blocks ?? 0) / Math.max(1, size?.days ?? 0));
    const mostDays = Math.min(MOST_DAYS, Math.max(1, Math.floor(MOST_BLOCKS / blocksADay)));
    return { days: byKey(withBlocks), stated: byKey(stated), mostDays };
  }
}

type Calendar = Pick<PlanInput, 'days' | 'stated' | 'mostDays'>;
type DaysOf = { readonly key: string; readonly days: string[] };
const byKey = (rows: readonly DaysOf[]) => new Map(rows.map(({ key, days }) => [key, days]));

/** Statements of one level that run side by side; the engine itself uses every core for each. */
const WORKERS = 2;

const min = (a: bigint, b: bigint) => (a < b ? a : b);
const max = (a: bigint, b: bigint) => (a > b ? a : b);
