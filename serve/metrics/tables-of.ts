import type { Metric } from '../../aggregate/metric.ts';
import { chainDay } from '../../aggregate/metrics/activity/chain-day.ts';

const tables = new Map<Metric, readonly string[]>();

/** The tables that the answers of a metric are read from; for a view also that of chain days, which tells of all loads. */
export function tablesOf(metric: Metric): readonly string[] {
  const known = tables.get(metric);
  if (known) return known;
  const read =
    metric.materialized === false
      ? [chainDay.name, ...metric.select({ relay_chain: 'polkadot', chain: 'polkadot' }).tables]
      : [metric.name, ...(metric.served?.(undefined).tables ?? [])];
  tables.set(metric, read);
  return read;
}
