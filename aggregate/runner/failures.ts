import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Numbers, Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import { dependencies, type MaterializedMetric } from '../metric.ts';
import { toKebabCase } from '../metric-name.ts';

const time = "DateTime64(3, 'UTC')";

export const failedMetrics = table({
  name: 'failed_metrics',
  doc: 'Failed metrics with the window, the error and the next attempt.',
  columns: {
    metric: 'LowCardinality(String)',
    relay_chains: 'Array(String)',
    from_day: 'String',
    until_day: 'String',
    reason: 'String',
    failed_since: time,
    tried_at: time,
    attempts: 'UInt32',
    // Null when retries are exhausted.
    next_attempt_at: `Nullable(${time})`,
    version: 'UInt64',
    is_deleted: 'UInt8',
  },
  engine: 'ReplacingMergeTree(version, is_deleted)',
  orderBy: ['metric'],
});

/** A metric whose windows fail. */
export interface FailedMetric {
  readonly metric: string;
  /** The window that failed. */
  readonly relay_chains: readonly string[];
  readonly from_day: string;
  readonly until_day: string;
  readonly reason: string;
  readonly failed_since: string;
  readonly tried_at: string;
  readonly attempts: number;
  /** Null when retries are exhausted. */
  readonly next_attempt_at: string | null;
}

/** The window that failed and why. */
export type WindowFailure = Pick<FailedMetric, 'relay_chains' | 'from_day' | 'until_day' | 'reason'>;

/** The public text of an error, and its detail for the log. */
export interface FailureTexts {
  readonly reason: string;
  readonly detail?: string | undefined;
}

export const failureTexts = (error: unknown): FailureTexts => ({
  reason: reasonOf(error),
  detail: error instanceof ProductError ? error.detail : undefined,
});

export const readFailedMetrics = (store: Pick<Store, 'rows'>): Promise<readonly FailedMetric[]> =>
  store.rows<FailedMetric>(
    sql`SELECT * EXCEPT (version, is_deleted) FROM ${failedMetrics} FINAL ORDER BY metric`,
  );

/** Stores failures, or removes them if `isOver`. */
export async function writeFailedMetrics(
  { store, numbers }: { readonly store: Store; readonly numbers: Numbers },
  failures: readonly FailedMetric[],
  isOver = false,
): Promise<void> {
  if (failures.length === 0) return;
  const version = String(await numbers.take(1));
  await store.insert(
    failedMetrics,
    failures.map((failure) => ({ ...failure, version, is_deleted: isOver ? 1 : 0 })),
  );
}

export interface MetricAttempts {
  /** Attempts before a metric waits for `rebuild`. */
  readonly attemptsMax: number;
  /** The longest wait between two attempts. */
  readonly waitMsMax: number;
}

const WAIT_MS = 1000;

/** The failure after one more attempt. The wait doubles; half of it is random, so that retries spread out. */
export function nextFailure(
  previous: FailedMetric | undefined,
  failed: WindowFailure & Pick<FailedMetric, 'metric'>,
  now: number,
  { attemptsMax, waitMsMax }: MetricAttempts,
  random: () => number = Math.random,
): FailedMetric {
  const attempts = (previous?.attempts ?? 0) + 1;
  const limit = Math.min(waitMsMax, WAIT_MS * 2 ** Math.min(attempts - 1, 30));
  const wait = Math.round(limit * (0.5 + random() / 2));
  return {
    ...failed,
    failed_since: previous?.failed_since ?? new Date(now).toISOString(),
    tried_at: new Date(now).toISOString(),
    attempts,
    next_attempt_at: attempts >= attemptsMax ? null : new Date(now + wait).toISOString(),
  };
}

/** True if a round may retry the metric, also if the clock was set back since the last attempt. */
export const isDue = ({ next_attempt_at, tried_at }: FailedMetric, now: number): boolean =>
  next_attempt_at !== null && (now >= Date.parse(next_attempt_at) || now < Date.parse(tried_at));

/** The tables that each metric reads. */
export type ReadsByMetric = ReadonlyMap<string, ReadonlySet<string>>;

/** These metrics and all that read them, directly or through others. */
export function withDependents(names: Iterable<string>, reads: ReadsByMetric): Set<string> {
  const reached = new Set(names);
  for (let size = -1; size !== reached.size; ) {
    size = reached.size;
    for (const [reader, tables] of reads) {
      if ([...tables].some((table) => reached.has(table))) reached.add(reader);
    }
  }
  return reached;
}

/** The metrics that a round skips: failed ones, unless `isTried`, and all metrics that read them. */
export const stalledMetrics = (
  failures: readonly FailedMetric[],
  reads: ReadsByMetric,
  isTried: (failure: FailedMetric) => boolean = () => false,
): Set<string> =>
  withDependents(
    failures.filter((failure) => !isTried(failure)).map(({ metric }) => metric),
    reads,
  );

/** The failed metrics that a metric reads, itself included. */
export const failuresBehind = (
  metric: string,
  failures: readonly FailedMetric[],
  reads: ReadsByMetric,
): FailedMetric[] => failures.filter((failure) => withDependents([failure.metric], reads).has(metric));

/**
 * The earliest time at which a failed metric is retried, in milliseconds since the epoch. A metric waits for the metrics
 * that it reads. Null if all retries are exhausted.
 */
export function nextAttemptAt(failures: readonly FailedMetric[], reads: ReadsByMetric): number | null {
  const attempts = failures.map(({ metric }) => {
    const times = failuresBehind(metric, failures, reads).map(({ next_attempt_at: at }) =>
      at === null ? Infinity : Date.parse(at),
    );
    return Math.max(...times);
  });
  const first = Math.min(...attempts);
  return first === Infinity ? null : first;
}

export const readsByMetric = (metrics: readonly MaterializedMetric[]): ReadsByMetric =>
  new Map(metrics.map((metric) => [metric.name, dependencies(metric)]));

export function describeFailures(failures: readonly FailedMetric[]): string {
  const texts = failures.map(({ metric, reason, next_attempt_at: at }) => {
    const name = toKebabCase(metric);
    return `${name} (${at === null ? `retries exhausted: fix the cause, then run \`chain-metrics rebuild ${name}\`` : `next attempt at ${at}`}): ${reason}`;
  });
  return `these metrics failed, all others are computed: ${texts.join('; ')}`;
}

/** Resets the attempts of these failures, so that the next round retries them. */
export const retryNow = (
  ports: { readonly store: Store; readonly numbers: Numbers },
  failures: readonly FailedMetric[],
): Promise<void> =>
  writeFailedMetrics(
    ports,
    failures.map((failure) => ({ ...failure, attempts: 0, next_attempt_at: failure.tried_at })),
  );
