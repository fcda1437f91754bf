import { ignore } from '../../infra/ignore.ts';
import type { KeyValue, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import { readVersions } from './ledger.ts';

/** Changes with every computed window, so that one read tells a process whether any version has changed. */
const LAST_COMPUTED_KEY = 'computed';
const versionKey = (metric: string) => `version/${metric}`;
const traceKey = (metric: string) => `computed-in/${metric}`;
/** Nobody looks for the trace of older rows. */
const TRACE_MS = 86_400_000;
/** After this time the ledger is read too: keys of a key-value store may have been evicted. */
const LEDGER_MS = 2000;

/** Tells the other processes that a window of a metric has been computed. */
export async function publishVersion(
  keyValue: KeyValue,
  metric: string,
  version: string,
  traceparent?: Traceparent,
): Promise<void> {
  if (traceparent !== undefined) await keyValue.set(traceKey(metric), traceparent, { ttlMs: TRACE_MS });
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
  /** The rounds that computed these versions, where they are traced. */
  readonly #traces = new Map<string, Traceparent | undefined>();
  #lastComputed: string | null = null;
  #ledgerReadAt = Number.NEGATIVE_INFINITY;

  constructor(runtime: Runtime, metrics: readonly string[]) {
    this.#runtime = runtime;
    this.#metrics = metrics;
  }

  of(metric: string): string {
    return this.#known.get(metric) ?? '0';
  }

  /** The round that computed the version, where it is known. */
  traceOf(metric: string): Traceparent | undefined {
    return this.#traces.get(metric);
  }

  set(metric: string, version: string, traceparent?: Traceparent): void {
    this.#known.set(metric, version);
    this.#traces.set(metric, traceparent);
  }

  /** Reads the versions that other processes have published. */
  async refresh(): Promise<void> {
    const { keyValue, store, tracer } = this.#runtime;
    // While the key-value store does not answer, the ledger tells.
    const lastComputed = await keyValue.get(LAST_COMPUTED_KEY).catch(ignore('versions', null));
    const isLedgerDue = performance.now() - this.#ledgerReadAt > LEDGER_MS;
    if (lastComputed === this.#lastComputed && !isLedgerDue) return;
    const published = await Promise.all(
      this.#metrics.map((metric) => keyValue.get(versionKey(metric)).catch(ignore('versions', null))),
    );
    const fromLedger = isLedgerDue && published.includes(null) ? await readVersions(store) : null;
    const changed = this.#metrics.filter((metric, i) => {
      const version = published[i] ?? fromLedger?.get(metric);
      const isNew = version !== undefined && version !== this.of(metric);
      if (isNew) this.set(metric, version);
      return isNew;
    });
    this.#lastComputed = lastComputed;
    if (isLedgerDue) this.#ledgerReadAt = performance.now();
    if (tracer.isOn) await Promise.all(changed.map((metric) => this.#readTrace(metric)));
  }
  async #readTrace(metric: string): Promise<void> {
    // An answer without its round is not linked to it.
    const traceparent = await this.#runtime.keyValue.get(traceKey(metric)).catch(ignore('versions', null));
    if (traceparent !== null) this.#traces.set(metric, traceparent);
  }
}
