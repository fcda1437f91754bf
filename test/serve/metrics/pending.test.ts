import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resetWatermark } from '../../../aggregate/runner/ledger.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { LocalClient } from '../../../serve/application/operations/client.ts';
import { openOperationSocket } from '../../../serve/application/operations/socket-server.ts';
import { History } from '../../generator/history.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { runHere } from '../application/cli/run-here.ts';

const { lines } = new History(5, { blocks: 60 });
const half = Math.floor(lines.length / 2);

let opened: TestPipeline;
let app: FastifyInstance;
beforeAll(async () => {
  opened = await openTestPipeline();
  app = await buildServer(opened.pipeline);
});
afterAll(async () => {
  await app.close();
  await opened.close();
});

async function told(url: string) {
  const { headers, body } = await app.inject({ url });
  const { 'x-data-as-of': asOf, 'x-coverage': coverage, 'x-pending-reason': reason } = headers;
  return { asOf, coverage, reason, body };
}

it('an answer tells why loaded data are not in its rows, from the first load to a failure', async () => {
  const { aggregator, runtime } = opened.pipeline;
  const metrics = async () => (await app.inject({ url: '/metrics' })).body;
  await aggregator.pauseComputation(async () => {
    await ingestLines(opened.pipeline, lines.slice(0, half));
    expect(await told('/api/daily-tps')).toMatchObject({
      asOf: undefined,
      coverage: 'partial',
      reason: 'never_computed',
    });
    const client = new LocalClient(opened.pipeline);
    const { DATA_DIR } = opened.pipeline.config;
    const socket = await openOperationSocket(client, DATA_DIR, app.log);
    using place = temporaryDirectory();
    const output = join(place.path, 'tps.csv');
    const { code, stderr } = await runHere(['export', 'daily-tps', '--output', output], { DATA_DIR });
    await socket.close();
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/daily-tps is incomplete from \d{4}-\d{2}-\d{2} on \(never computed\); see/),
    ]);
    const lacks = (more: object) =>
      client.call('pendingRows', { metric: 'daily-tps', format: 'csv', ...more });
    expect(await lacks({})).toEqual({
      begins: null,
      pending: { from: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/), reason: 'never_computed' },
    });
    expect(await lacks({ from: '2015-01-01', until: '2015-01-02' })).toEqual({ begins: null, pending: null });
    // The figures of a scrape are kept for a second.
    await expect
      .poll(metrics, { timeout: 10_000 })
      .toMatch(/chain_metrics_pending_metrics\{reason="never_computed"\} [1-9]/);
  });
  await aggregator.waitUntilComputed();
  const first = await told('/api/daily-tps');
  expect(first.asOf).toBeDefined();
  expect(first.reason).toBeUndefined();
  const { store } = runtime;
  const { run } = store;
  store.run = (statement) => {
    const text = typeof statement === 'string' ? statement : statement.text;
    if (text.startsWith('INSERT INTO chain_metrics.daily_tps ')) throw new Error('refused');
    return run.call(store, statement);
  };
  try {
    await aggregator.pauseComputation(async () => {
      await ingestLines(opened.pipeline, lines.slice(half));
      // The cached answer, with other headers.
      expect(await told('/api/daily-tps')).toEqual({ ...first, coverage: 'partial', reason: 'loaded' });
    });
    await expect.poll(async () => (await told('/api/daily-tps')).reason, { timeout: 60_000 }).toBe('failed');
    expect((await told('/api/daily-tps')).asOf).toBe(first.asOf);
  } finally {
    store.run = run;
  }
  // It is tried again by itself.
  await expect.poll(() => aggregator.waitForFailures(), { timeout: 60_000 }).toEqual([]);
  expect((await told('/api/daily-tps')).reason).toBeUndefined();
});

it('rows that an upgrade has deleted are told as pending, and folded again although the facts are the same', async () => {
  const { aggregator, runtime } = opened.pipeline;
  const url = '/api/gov-voter-history';
  const before = await told(url);
  expect(JSON.parse(before.body)).not.toEqual([]);
  await aggregator.pauseComputation(async () => {
    await runtime.store.run('TRUNCATE TABLE chain_metrics.gov_voter_history SYNC');
    await resetWatermark(runtime.store, 'gov_voter_history');
    await aggregator.requestRound();
    expect(await told(url)).toMatchObject({ asOf: undefined, reason: 'recipe_changed' });
  });
  await aggregator.waitUntilComputed();
  expect(JSON.parse((await told(`${url}?limit=10000`)).body)).toEqual(JSON.parse(before.body));
});
