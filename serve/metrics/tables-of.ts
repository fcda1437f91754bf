import type { Metric } from '../../aggregate/metric.ts';
import { blockDays } from '../../aggregate/metrics/index.ts';

/** The tables that the answers of a metric are read from; for a view also that of chain days, which tells of all loads. */
export const tablesOf = (metric: Metric): readonly string[] =>
  metric.materialized === false
    ? [blockDays.name, ...metric.select({ relay_chain: 'polkadot', chain: 'polkadot' }).tables]
    : [metric.name, ...(metric.served?.(undefined).tables ?? [])];
