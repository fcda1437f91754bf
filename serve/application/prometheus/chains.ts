import { Gauge, type Registry } from 'prom-client';
import { blockDays } from '../../../aggregate/metrics/index.ts';
import type { Aggregator } from '../../../aggregate/runner/aggregator.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { LABELLED_CHAINS_MAX, type LabelledChain, labelChains } from '../../../ingest/chains/chain-labels.ts';
import { countSkippedHeights } from '../../../ingest/sources/skipped-heights.ts';

const FOLDED = `only the first ${LABELLED_CHAINS_MAX} chains by name have a series of their own, the rest share chain="other"`;

/** Registers the gauges of chains; the returned function reads them. */
export function chainSeries(
  registers: Registry[],
  aggregator: Pick<Aggregator, 'chainsAsOf'>,
): (store: Pick<Store, 'rows'>) => Promise<void> {
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help: `${help}; ${FOLDED}.`, labelNames: ['relay_chain', 'chain'], registers });
  const newest = gauge(
    'chain_metrics_chain_newest_block_timestamp_seconds',
    'Time of the newest stored block of a chain',
  );
  const computed = gauge(
    'chain_metrics_chain_computed_timestamp_seconds',
    'Time of the newest block of a chain that is included in the metrics',
  );
  const skipped = gauge(
    'chain_metrics_skipped_heights',
    'Missing heights of a chain that its sources did not serve',
  );
  const set = <Row extends LabelledChain>(
    gauge: Gauge,
    rows: readonly Row[],
    read: (row: Row) => number,
    combine: Combine,
  ) => {
    gauge.reset();
    for (const { labels, value } of labelChains(rows, read, combine)) gauge.set(labels, value);
  };
  return async (store) => {
    const stored = await store.rows<LabelledChain & { newest: number }>(
      sql`SELECT relay_chain, chain, toUnixTimestamp64Milli(max(last_time)) AS newest
        FROM ${blockDays} FINAL GROUP BY relay_chain, chain`,
    );
    set(newest, stored, (row) => row.newest / 1000, oldest);
    set(computed, await aggregator.chainsAsOf(store), (row) => row.as_of / 1000, oldest);
    set(skipped, await countSkippedHeights(store), (row) => row.heights, sum);
  };
}

/** Combines the values of all chains that share a series. */
type Combine = (values: readonly number[]) => number;
const oldest: Combine = (values) => Math.min(...values);
const sum: Combine = (values) => values.reduce((all, value) => all + value, 0);
