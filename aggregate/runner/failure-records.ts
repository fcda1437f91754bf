import type { Logger } from '../../infra/logger.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import type { MaterializedMetric } from '../metric.ts';
import { toKebabCase } from '../metric-name.ts';
import {
  type FailedMetric,
  type FailureTexts,
  type MetricAttempts,
  nextFailure,
  type ReadsByMetric,
  stalledMetrics,
  type WindowFailure,
  withDependents,
  writeFailedMetrics,
} from './failures.ts';
import { computedChains, laggingChains } from './ledger.ts';

interface FailureRecordsOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly attempts: MetricAttempts;
  readonly logger: Pick<Logger, 'info' | 'error'>;
}

/** Stores and logs failures of metrics and their recovery. */
export class FailureRecords {
  readonly #options: FailureRecordsOptions;
  readonly #reads: ReadsByMetric;

  constructor(options: FailureRecordsOptions, reads: ReadsByMetric) {
    this.#options = options;
    this.#reads = reads;
  }

  /** Stores the failed metrics of a round. `failures` existed before the round, which had all loads up to `loaded`. */
  async record(
    { loaded, failures }: { readonly loaded: bigint; readonly failures: readonly FailedMetric[] },
    failed: ReadonlyMap<string, WindowFailure & FailureTexts>,
  ): Promise<readonly FailedMetric[]> {
    if (failed.size === 0) return [];
    const { runtime, numbers, attempts, logger } = this.#options;
    const now = runtime.clock.now();
    const records = [...failed].map(([metric, { detail: _detail, ...failure }]) => {
      const previous = failures.find((one) => one.metric === metric);
      return nextFailure(previous, { metric, ...failure }, now, attempts);
    });
    const before = stalledMetrics(failures, this.#reads);
    const lagging = [...withDependents(failed.keys(), this.#reads)].filter((name) => !before.has(name));
    if (lagging.length > 0)
      await runtime.store.run(sql`INSERT INTO ${laggingChains} (metric, relay_chain, chain, as_of, sequence)
        SELECT arrayJoin(${lagging}), relay_chain, chain, as_of, ${loaded} FROM ${computedChains} FINAL`);
    await writeFailedMetrics({ store: runtime.store, numbers }, records);
    for (const record of records) {
      const advice =
        record.next_attempt_at === null
          ? `retries exhausted: fix the cause, then run \`chain-metrics rebuild ${toKebabCase(record.metric)}\``
          : 'this metric and the metrics that read it wait for the next attempt';
      logger.error({ ...record, detail: failed.get(record.metric)?.detail }, `a metric failed: ${advice}`);
    }
    return records;
  }

  /** Removes the failures of metrics that recovered. Returns the other failures, without those that are recorded again. */
  async end(
    failures: readonly FailedMetric[],
    done: readonly MaterializedMetric[],
    recorded: readonly FailedMetric[],
  ): Promise<readonly FailedMetric[]> {
    const { runtime, numbers, logger } = this.#options;
    const names = new Set(done.map(({ name }) => name));
    const ended = failures.filter((failure) => names.has(failure.metric));
    await writeFailedMetrics({ store: runtime.store, numbers }, ended, true);
    for (const { metric } of ended) logger.info({ metric }, 'the metric recovered');
    return failures.filter(
      (failure) => !ended.includes(failure) && !recorded.some(({ metric }) => metric === failure.metric),
    );
  }
}
