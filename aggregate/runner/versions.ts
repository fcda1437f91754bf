import type { KeyValue, Runtime } from '../../infra/ports.ts';
import { readVersions as versionsInLedger } from './ledger.ts';

/** Changes with every computation, so that looking at it often costs next to nothing. */
const MARK = 'computed';
const keyOf = (metric: string) => `version/${metric}`;
/** After so long the ledger is asked too: short-lived facts may have been forgotten. */
const LEDGER_MS = 2000;

/** Tells every process that a metric has been computed anew. */
export async function publishVersion(keyValue: KeyValue, metric: string, version: string): Promise<void> {
  await keyValue.set(keyOf(metric), version);
  await keyValue.set(MARK, `${metric} ${version}`);
}

/**
 * The newest version of every metric's table, as far as this process has heard of it. It is that of the computation
 * that ended last, which need not be the highest: windows of a metric are computed side by side.
 */
export class MetricVersions {
  readonly #runtime: Runtime;
  readonly #metrics: readonly string[];
  readonly #known = new Map<string, string>();
  #mark: string | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime, metrics: readonly string[]) {
    this.#runtime = runtime;
    this.#metrics = metrics;
  }

  of(metric: string): string {
    return this.#known.get(metric) ?? '0';
  }

  set(metric: string, version: string): void {
    this.#known.set(metric, version);
  }

  /** Hears of what other processes have computed. */
  async refresh(): Promise<void> {
    const { keyValue, store } = this.#runtime;
    const mark = await keyValue.get(MARK);
    const isLate = performance.now() - this.#askedAt > LEDGER_MS;
    if (mark === this.#mark && !isLate) return;
    const told = await Promise.all(this.#metrics.map((metric) => keyValue.get(keyOf(metric))));
    const ledger = isLate && told.includes(null) ? await versionsInLedger(store) : new Map<string, string>();
    this.#metrics.forEach((metric, i) => {
      const version = told[i] ?? ledger.get(metric);
      if (version !== undefined) this.set(metric, version);
    });
    this.#mark = mark;
    if (isLate) this.#askedAt = performance.now();
  }
}
