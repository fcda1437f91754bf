import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Numbers, Runtime, Traceparent } from '../../infra/ports.ts';
import { inSpan } from '../../infra/tracing/spans.ts';
import { daysOf, type Window } from '../../ingest/raw/canonical.ts';
import { RetentionReader } from '../../ingest/raw/retention.ts';
import { dependencies, hasEntities, type MaterializedMetric } from '../metric.ts';
import { type PlannedWindow, readsAllRows } from '../planner/plan.ts';
import type { Claims } from './claims.ts';
import { computeChangedEntities } from './compute-entities.ts';
import type { LedgerEntry } from './ledger.ts';
import type { RunnerMetrics } from './runner-metrics.ts';
import { splitWindow } from './split-window.ts';
import { VERSIONS_PER_WINDOW, writeRows } from './write-rows.ts';

interface WindowComputerOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly claims: Claims;
  readonly metrics: readonly MaterializedMetric[];
  readonly runnerMetrics: RunnerMetrics;
}

interface Computation {
  readonly metric: MaterializedMetric;
  readonly window: PlannedWindow;
  readonly writesEqualRows: boolean;
  /** Shared by the attempts of a claim. `since`: the version above which the first looked for changes. */
  readonly attempt: { since?: bigint };
}

/** Computes windows, and writes the rows that differ from the stored ones. */
export class WindowComputer {
  readonly #options: WindowComputerOptions;
  readonly #metrics: ReadonlyMap<string, MaterializedMetric>;
  /** Metrics whose rows outlive their raw rows. */
  readonly #outliving: ReadonlySet<string>;
  readonly #retention: RetentionReader;

  constructor(options: WindowComputerOptions) {
    const { metrics, runtime } = options;
    this.#options = options;
    this.#metrics = new Map(metrics.map((metric) => [metric.name, metric]));
    this.#outliving = new Set(
      metrics.filter((one) => readsAllRows(dependencies(one))).map(({ name }) => name),
    );
    this.#retention = new RetentionReader(runtime.store);
  }

  /**
   * Computes a window as a span of its round; returns null if there was nothing to compute. Throws `unknown_metric`, or
   * the error of the store with the window in its message.
   */
  async compute(window: PlannedWindow, round?: Traceparent): Promise<LedgerEntry | null> {
    const { claims } = this.#options;
    const attributes = {
      'chain_metrics.metric': window.metric,
      'chain_metrics.relay_chains': window.relays.join(' '),
      'chain_metrics.from': window.from,
      'chain_metrics.until': window.until,
    };
    const options = { attributes, ...(round === undefined ? {} : { causes: [round] }) };
    const attempt: Computation['attempt'] = {};
    return claims.run(window, (writesEqualRows) =>
      inSpan(`compute ${window.metric}`, options, () => this.#observed({ window, writesEqualRows, attempt })),
    );
  }

  async #observed(task: Omit<Computation, 'metric'>): Promise<LedgerEntry | null> {
    const { window } = task;
    const { runnerMetrics, runtime } = this.#options;
    const metric = this.#metrics.get(window.metric);
    if (!metric)
      throw new ProductError(
        'unknown_metric',
        `this version has no metric ${window.metric}: another version of the product planned its window`,
      );
    const end = runnerMetrics.windowSeconds.startTimer();
    const started = runtime.clock.now();
    try {
      const version = await this.#computeFitting({ ...task, metric });
      if (version === null) return null;
      const milliseconds = Math.max(0, runtime.clock.now() - started);
      const computed_at = new Date(started + milliseconds).toISOString();
      return {
        metric: metric.name,
        ...placeOf(window),
        version: version.toString(),
        computed_at,
        milliseconds,
      };
    } catch (error) {
      runnerMetrics.failedWindows.inc({ metric: metric.name });
      throw failureOf(metric, window, error);
    } finally {
      end();
    }
  }

  /** Splits a window that needs more memory than the store has, and its parts again if needed. */
  async #computeFitting(computation: Computation): Promise<bigint | null> {
    const { metric, window } = computation;
    try {
      return await this.#computeUnfrozen(computation);
    } catch (error) {
      const parts = isTooLarge(error) ? await splitWindow(this.#options.runtime.store, metric, window) : [];
      if (parts.length < 2) throw error;
      let last: bigint | null = null;
      for (const part of parts) last = (await this.#computeFitting({ ...computation, window: part })) ?? last;
      return last;
    }
  }

  /** Skips frozen days, whose raw rows may be deleted: the plan may be older than the freeze. */
  async #computeUnfrozen(computation: Computation): Promise<bigint | null> {
    const { metric, window } = computation;
    if (!this.#outliving.has(metric.name)) return this.#computeAtOnce(computation);
    const before = (await this.#retention.read())?.frozen.before ?? '';
    if (window.until <= before) return null;
    const open = window.from < before ? { ...window, from: before } : window;
    return this.#computeAtOnce({ ...computation, window: open });
  }

  /** Returns the version of the rows; null if no entity changed. */
  async #computeAtOnce({ metric, window, writesEqualRows, attempt }: Computation): Promise<bigint | null> {
    const { runtime, numbers, claims } = this.#options;
    const { store } = runtime;
    const version = await numbers.take(VERSIONS_PER_WINDOW);
    const writing = { version, writesEqualRows };
    const newest = version + BigInt(VERSIONS_PER_WINDOW - 1);
    if (hasEntities(metric)) {
      const isWritten = (table: string) => this.#metrics.has(table);
      const { isChanged, since } = await computeChangedEntities(
        { store, claims, isWritten },
        { metric, window, ...attempt },
        writing,
      );
      attempt.since = since;
      return isChanged ? newest : null;
    }
    await writeRows(store, { metric, window }, writing);
    return newest;
  }
}

const isTooLarge = (error: unknown) =>
  error instanceof ProductError && (error.code === 'store_memory' || error.code === 'store_exhausted');

/** The columns of the ledger that identify a window. */
const placeOf = (window: Window) => ({
  relay_chain: window.relays.join(' '),
  from_day: daysOf(window).from,
  until_day: daysOf(window).until,
});

/** Adds the failed window to the error of the store, which only shows a generated statement. */
function failureOf(
  metric: MaterializedMetric,
  { relays, from, until }: Window,
  error: unknown,
): ProductError {
  const cause = error instanceof ProductError ? error : undefined;
  const text = `${metric.name} of ${relays.join(', ')}, ${from} to ${until}: ${reasonOf(error)}`;
  return new ProductError(cause?.code ?? 'store_failed', text, cause?.detail);
}
