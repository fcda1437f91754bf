import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { dailyTps } from '../../../../aggregate/metrics/activity/daily-tps.ts';
import { EmbeddedStore } from '../../../../infra/embedded/store.ts';
import { readConfig } from '../../../../serve/settings/settings.ts';
import { readyDirectory } from '../../../support/pipeline.ts';
import type { TemporaryDirectory } from '../../../support/temporary-directory.ts';
import { run, serve } from './program.ts';
import { runHere } from './run-here.ts';

// A metric whose table refuses every row, as an operator meets it.

const KUSAMA = fileURLToPath(new URL('../../../../ingest/sample/kusama.ndjson.gz', import.meta.url));
const { table } = dailyTps;
let directory: TemporaryDirectory;
let env: Record<string, string>;

async function alterTable(change: string): Promise<void> {
  const store = await EmbeddedStore.open(readConfig(env));
  await store.run(`ALTER TABLE chain_metrics.${table.name} ${change}`);
  await store.close();
}

beforeAll(async () => {
  directory = await readyDirectory();
  env = { DATA_DIR: directory.path, METRIC_ATTEMPTS: '1' };
  await alterTable('ADD CONSTRAINT none CHECK 0');
});
afterAll(() => directory[Symbol.dispose]());

test('ingest computes everything else, names the metric and what to do, and exits with 1', async () => {
  const { code, stdout, stderr } = await run(['ingest', KUSAMA], { env });
  expect(code).toBe(1);
  expect(`${stdout}${stderr}`).toMatch(/^FAILED daily-tps, and the metrics that depend on it: /m);
});

test('status and the gauge tell it, and answers say that they lack it', async () => {
  const { stdout } = await runHere(['status'], env);
  expect(stdout).toMatch(/^daily-fees +\d{10,} /m);
  expect(stdout).toMatch(/^daily-tps +0 +never /m);
  expect(stdout).toMatch(
    /^FAILING +daily-tps, first \d+ s ago, 1 attempt; retries exhausted: fix the cause, then run `chain-metrics rebuild daily-tps`$/m,
  );
  const server = await serve([], env);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toMatch(/^chain_metrics_failed_metric_seconds\{metric="daily_tps"\} [\d.]+$/m);
  expect(metrics).toMatch(/^chain_metrics_pending_metrics\{reason="failed"\} [1-9]/m);
  const answer = await fetch(`${server.url}/api/daily-tps?relay_chain=kusama`);
  expect([answer.status, answer.headers.get('x-pending-reason')]).toEqual([200, 'failed']);
  await server.end('SIGTERM');
});

test('rebuild fails with the cause while it lasts, and ends the failure after it', async () => {
  const args = ['rebuild', 'daily-tps'];
  expect((await runHere(args, env)).code).toBe(1);
  await alterTable('DROP CONSTRAINT none');
  expect((await runHere(args, env)).code).toBe(0);
  expect((await runHere(['status'], env)).stdout).not.toContain('FAILING');
});
