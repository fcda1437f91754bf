import type { Metric } from '../../aggregate/metric.ts';
import { blockDays } from '../../aggregate/metrics/index.ts';

/**
 * The tables that a metric is read from. A metric that is computed on each request also depends on `chain_day`, because
 * every computation of new blocks writes it.
 */
export const sourceTables = (metric: Metric): readonly string[] =>
  metric.materialized === false
    ? [blockDays.name, ...metric.select({ relay_chain: 'polkadot', chain: 'polkadot' }).tables]
    : [metric.name, ...(metric.servedRows?.(undefined).tables ?? [])];
