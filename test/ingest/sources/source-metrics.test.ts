import { type Metric, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { LABELLED_CHAINS_MAX } from '../../../ingest/chains/chain-labels.ts';
import { createSourceMetrics, FollowMetrics } from '../../../ingest/sources/source-metrics.ts';

const KUSAMA = { relay_chain: 'kusama', chain: 'kusama' };
const LABELS = '{relay_chain="kusama",chain="kusama"}';

function followed(index = 0) {
  const registry = new Registry();
  const metrics = createSourceMetrics();
  for (const metric of Object.values<Metric>(metrics)) registry.registerMetric(metric);
  return { chain: new FollowMetrics(metrics, KUSAMA, index), text: () => registry.metrics() };
}

test('a followed chain tells whether its source answers and how many blocks are left', async () => {
  const { chain, text } = followed();
  chain.recordProgress(101);
  chain.recordHead(110);
  expect(await text()).toContain(`chain_metrics_source_lag_blocks${LABELS} 10\n`);
  chain.recordError();
  chain.recordProgress(111);
  const lines = (await text()).split('\n');
  expect(lines).toContain(`chain_metrics_source_up${LABELS} 0`);
  expect(lines).toContain(`chain_metrics_source_errors_total${LABELS} 1`);
  expect(lines).toContain(`chain_metrics_source_lag_blocks${LABELS} 0`);
});

test('a chain that another process follows has no gauges here', async () => {
  const { chain, text } = followed();
  chain.recordProgress(1);
  chain.recordHead(1);
  chain.clear();
  expect(await text()).not.toContain(LABELS);
});

test('chains beyond those with labels of their own share one series', async () => {
  const { chain, text } = followed(LABELLED_CHAINS_MAX);
  chain.recordHead(1);
  expect(await text()).toContain('chain_metrics_source_up{relay_chain="other",chain="other"} 1\n');
});
