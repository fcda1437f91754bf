import { Gauge, type Registry } from 'prom-client';
import { memoizeFor } from '../../../infra/coordination/memoize-for.ts';
import { withTimeout } from '../../../infra/coordination/with-timeout.ts';
import type { Log } from '../../../infra/ports.ts';

/** Longest age of the lag, and longest wait of a scrape for it. */
const LAG_MS_MAX = 5000;
const WAIT_MS_MAX = 5000;
/** Partitions of a topic that have a series of their own. */
const PARTITIONS_MAX = 1000;

/**
 * Registers the gauges of unread messages. Every process that reaches the log exports them, so they exist while no process
 * loads. The returned function resolves to false if the log does not answer in time; the gauges then keep their values.
 */
export function logSeries(registers: Registry[], log: Pick<Log, 'lag'>): () => Promise<boolean> {
  const unread = new Gauge({
    name: 'chain_metrics_log_lag_messages',
    help: 'Messages of a topic that the group has not consumed.',
    labelNames: ['topic', 'group'],
    registers,
  });
  const unreadOfPartition = new Gauge({
    name: 'chain_metrics_log_partition_lag_messages',
    help: `Messages of a partition that the group has not consumed; only the first ${PARTITIONS_MAX} partitions of a topic.`,
    labelNames: ['topic', 'group', 'partition'],
    registers,
  });
  const read = memoizeFor(LAG_MS_MAX, async () => {
    const lags = await withTimeout(WAIT_MS_MAX, log.lag());
    for (const { topic, group, messages, partitions } of lags) {
      unread.set({ topic, group }, messages);
      for (const { partition, messages } of partitions) {
        if (partition < PARTITIONS_MAX)
          unreadOfPartition.set({ topic, group, partition: String(partition) }, messages);
      }
    }
  });
  return () =>
    read().then(
      () => true,
      () => false,
    );
}
