import { ignore } from '../../infra/ignore.ts';
import type { KeyValue, Runtime } from '../../infra/ports.ts';
import { readVersions } from './ledger.ts';

/** Changes with every computed window, so that one read tells a process whether any version has changed. */
const LAST_COMPUTED_KEY = 'computed';
const versionKey = (metric: string) => `version/${metric}`;
/** After this time the ledger is read too: keys of a key-value store may have been evicted. */
const LEDGER_MS = 2000;

/** Tells the other processes that a window of a metric has been computed. */
export async function publishVersion(keyValue: KeyValue, metric: string, version: string): Promise<void> {
  await keyValue.set(versionKey(metric), version);
  await keyValue.set(LAST_COMPUTED_KEY, `${metric} ${version}`);
}

/**
 * The version of every metric's table that this process knows. It is that of the window that was computed last,
 * which need not be the highest: windows of a metric are computed side by side.
 */
export class MetricVersions {
  readonly #runtime: Runtime;
  readonly #metrics: readonly string[];
  readonly #known = new Map<string, string>();
  #lastComputed: string | null = null;
  #ledgerReadAt = Number.NEGATIVE_INFINITY;

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

  /** Reads the versions that other processes have published. */
  async refresh(): Promise<void> {
    const { keyValue, store } = this.#runtime;
    // While the key-value store does not answer, the ledger tells.
    const lastComputed = await keyValue.get(LAST_COMPUTED_KEY).catch(ignore('versions', null));
    const isLedgerDue = performance.now() - this.#ledgerReadAt > LEDGER_MS;
    if (lastComputed === this.#lastComputed && !isLedgerDue) return;
    const published = await Promise.all(
      this.#metrics.map((metric) => keyValue.get(versionKey(metric)).catch(ignore('versions', null))),
    );
    const fromLedger = isLedgerDue && published.includes(null) ? await readVersions(store) : null;
    this.#metrics.forEach((metric, i) => {
      const version = published[i] ?? fromLedger?.get(metric);
      if (version !== undefined) this.set(metric, version);
    });
    this.#lastComputed = lastComputed;
    if (isLedgerDue) this.#ledgerReadAt = performance.now();
  }
}
