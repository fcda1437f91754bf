import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import type { MaterializedMetric } from '../metric.ts';
import { type FailedMetric, readsByMetric, stalledMetrics } from './failures.ts';
import { computedChains, laggingChains } from './ledger.ts';

/** The newest block of a chain in the rows of the metrics. */
export interface ChainAsOf {
  readonly relay_chain: string;
  readonly chain: string;
  /** Milliseconds since the epoch, for metrics that are not in `lagging`. */
  readonly as_of: number;
  /** The same time for each failed metric and each metric that reads one; null if its rows may hold no block. */
  readonly lagging: ReadonlyMap<string, number | null>;
}

export async function readChainsAsOf(
  store: Pick<Store, 'rows'>,
  {
    metrics,
    failures,
  }: { readonly metrics: readonly MaterializedMetric[]; readonly failures: readonly FailedMetric[] },
): Promise<readonly ChainAsOf[]> {
  const names = [...stalledMetrics(failures, readsByMetric(metrics))];
  const asOf = sql`relay_chain, chain, toUnixTimestamp64Milli(as_of) AS time`;
  const rows = await store.rows<{ metric: string; relay_chain: string; chain: string; time: number }>(
    names.length === 0
      ? sql`SELECT '' AS metric, ${asOf} FROM ${computedChains} FINAL`
      : sql`SELECT '' AS metric, ${asOf} FROM ${computedChains} FINAL
          UNION ALL SELECT toString(metric), ${asOf} FROM ${laggingChains} FINAL WHERE metric IN ${names}`,
  );
  return rows
    .filter(({ metric }) => metric === '')
    .map(({ relay_chain, chain, time: as_of }) => {
      const ownOf = (name: string) =>
        rows.find((row) => row.metric === name && row.relay_chain === relay_chain && row.chain === chain);
      const lagging = new Map(names.map((name) => [name, ownOf(name)?.time ?? null]));
      return { relay_chain, chain, as_of, lagging };
    });
}
