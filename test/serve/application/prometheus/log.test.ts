import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Lag } from '../../../../infra/ports.ts';
import { logSeries } from '../../../../serve/application/prometheus/log.ts';

const lagOf = (count: number): Lag => ({
  topic: 'blocks',
  group: 'load',
  messages: count,
  partitions: Array.from({ length: count }, (_, partition) => ({ partition, messages: 1 })),
});

test('the lag of a topic and of its partitions is read once for all scrapes of some seconds', async () => {
  const registry = new Registry();
  let reads = 0;
  const read = logSeries([registry], {
    lag: async () => {
      reads++;
      return [lagOf(2)];
    },
  });
  expect(await Promise.all([read(), read()])).toEqual([true, true]);
  expect(await read()).toBe(true);
  expect(reads).toBe(1);
  const text = await registry.metrics();
  expect(text).toContain('chain_metrics_log_lag_messages{topic="blocks",group="load"} 2\n');
  expect(text).toContain(
    'chain_metrics_log_partition_lag_messages{topic="blocks",group="load",partition="1"} 1\n',
  );
});

test('a topic has at most 1000 series, and all of its partitions in the sum', async () => {
  const registry = new Registry();
  await logSeries([registry], { lag: async () => [lagOf(5000)] })();
  const text = await registry.metrics();
  expect(text.match(/partition_lag_messages\{/g)).toHaveLength(1000);
  expect(text).toContain('chain_metrics_log_lag_messages{topic="blocks",group="load"} 5000\n');
});

test('a log that does not answer fails the scrape of its figures only', async () => {
  const read = logSeries([new Registry()], {
    lag: async () => {
      throw new Error('no broker answers');
    },
  });
  expect(await read()).toBe(false);
});
