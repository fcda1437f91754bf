import { ignore } from '../../infra/ignore.ts';
import type { KeyValue, Runtime } from '../../infra/ports.ts';
import { readVersions } from './ledger.ts';

/** Changes with every computed window, so that one read shows a process that some version changed. */
const LAST_COMPUTED_KEY = 'computed';
const versionKey = (metric: string) => `version/${metric}`;
/** Reads the ledger at this interval, because a key-value store may evict keys. */
const LEDGER_MS = 2000;

export async function publishVersion(keyValue: KeyValue, metric: string, version: string): Promise<void> {
  await keyValue.set(versionKey(metric), version);
  await keyValue.set(LAST_COMPUTED_KEY, `${metric} ${version}`);
}

/**
 * The latest version of each metric, as this process knows it: the version of the window that was computed last. It need
 * not be the highest, because windows of a metric run in parallel. After a kill, stored rows may be newer until the next
 * round computes their window again.
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

  /** Reads the versions of other processes. */
  async refresh(): Promise<void> {
    const { keyValue, store } = this.#runtime;
    // If the key-value store does not answer, the ledger is read.
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
