import { execFileSync } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { FollowedChain } from '../../../ingest/sources/source-measures.ts';
import { canRun } from '../../support/needed.ts';
import { Service } from '../alerts/service.ts';

const PROMTOOL = '/usr/bin/promtool';
const SAMPLE = new URL('../../../ingest/sample/westend.ndjson.gz', import.meta.url);
const PASSWORD = 'four quiet words suffice';

let service: Service;
let text: string;
beforeAll(async () => {
  service = await Service.open({ REVISION: 'abc123', SIGN_IN_ATTEMPTS: '2' });
  await useEverything(service);
  text = await scrape();
});
afterAll(() => service?.close());

const scrape = async () => (await service.app.inject({ url: '/metrics' })).body;

/** What each part of a server counts happens once at least. */
async function useEverything({ app, pipeline }: Service): Promise<void> {
  const { store } = pipeline.runtime;
  await pipeline.ingest(createReadStream(SAMPLE), { name: 'westend.ndjson.gz' });
  await pipeline.waitUntilComputed();
  const ann = await service.person('ann', PASSWORD);
  const source = await service.source(ann, await service.project(ann));
  await service.send(source, { title: 'Disk full' });
  for (const url of ['/api/daily-tps', '/api/daily-tps', '/no-such-page', '/health/ready']) {
    await app.inject({ url });
  }
  await app.inject({ method: 'SEARCH' as never, url: '/api/daily-tps' });
  await app.inject({ method: 'DELETE', url: '/api/daily-tps' });
  for (const password of [PASSWORD, 'wrong', 'wrong', 'wrong']) {
    await app.inject({
      method: 'POST',
      url: '/oauth/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ grant_type: 'password', username: 'ann', password }).toString(),
    });
  }
  await expect(store.rows(sql`SELECT throwIf(1)`)).rejects.toThrow();
  const followed = new FollowedChain(
    pipeline.measures.sources,
    { relay_chain: 'westend', chain: 'westend' },
    0,
  );
  followed.looked(20);
  followed.published(11);
}

/** The value of a sample, whose labels may be written in any order. */
function sampleOf(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const found = text.split('\n').find((line) => {
    const [, of, given = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    return (
      of === name &&
      value &&
      Object.entries(labels).every(([label, is]) => given.includes(`${label}="${is}"`))
    );
  });
  return found === undefined ? undefined : Number(found.split(' ').at(-1));
}

describe('the series of a server', () => {
  test.runIf(canRun(PROMTOOL))('follow the conventions of Prometheus, as promtool checks them', () => {
    expect(execFileSync(PROMTOOL, ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe('');
  });

  test('say what runs', () => {
    const [line] = text.split('\n').filter((one) => one.startsWith('chain_metrics_build_info'));
    expect(line).toMatch(
      /\{version="\d+\.\d+\.\d+",revision="abc123",profile="embedded",roles="ingest,load,serve,work",node="\d+[\d.]+",engine="\d+[\d.]+"\} 1$/,
    );
    expect(sampleOf('chain_metrics_ready')).toBe(1);
    expect(sampleOf('chain_metrics_service_up', { service: 'store' })).toBe(1);
  });

  test('count requests by method, route and status, and what is no route under one label', () => {
    const count = (labels: Record<string, string>) =>
      sampleOf('chain_metrics_http_request_duration_seconds_count', labels);
    expect(count({ method: 'GET', route: '/api/daily-tps', status: '200' })).toBe(2);
    expect(count({ method: 'DELETE', route: '/api/daily-tps', status: '405' })).toBe(1);
    expect(count({ method: 'GET', route: 'other', status: '404' })).toBe(1);
    expect(text).not.toMatch(/SEARCH|no-such-page/);
    const buckets = [...text.matchAll(/request_duration_seconds_bucket\{le="([\d.]+)"/g)].map(([, le]) =>
      Number(le),
    );
    expect(Math.max(...buckets)).toBe(60);
  });

  test('measure every stage from the source to the answer', () => {
    const counted = {
      chain_metrics_source_messages_total: { stream: 'blocks' },
      chain_metrics_log_published_messages_total: { topic: 'chain.blocks.v1' },
      chain_metrics_log_publish_duration_seconds_count: { topic: 'chain.blocks.v1' },
      chain_metrics_load_messages_total: {},
      chain_metrics_load_bytes_total: {},
      chain_metrics_load_batch_duration_seconds_count: {},
      chain_metrics_plan_dirty_dates: { lane: 'backfill' },
      chain_metrics_plan_windows_total: { lane: 'backfill' },
      chain_metrics_plan_duration_seconds_count: { lane: 'backfill' },
      chain_metrics_compute_window_duration_seconds_count: { lane: 'backfill' },
      chain_metrics_chain_newest_block_timestamp_seconds: { relay_chain: 'westend', chain: 'westend' },
      chain_metrics_store_disk_free_bytes: {},
      chain_metrics_store_disk_size_bytes: {},
    };
    for (const [name, labels] of Object.entries(counted))
      expect([name, sampleOf(name, labels)]).toEqual([name, expect.any(Number)]);
    expect(sampleOf('chain_metrics_source_messages_total', { stream: 'blocks' })).toBe(
      sampleOf('chain_metrics_load_messages_total'),
    );
    expect(sampleOf('chain_metrics_chain_computed_timestamp_seconds', { chain: 'westend' })).toBe(
      sampleOf('chain_metrics_chain_newest_block_timestamp_seconds', { chain: 'westend' }),
    );
    expect(sampleOf('chain_metrics_source_lag_blocks', { chain: 'westend' })).toBe(10);
  });

  test('count statements of the store by lane, and their errors by code', () => {
    expect(
      sampleOf('chain_metrics_store_statement_duration_seconds_count', { lane: 'readers', kind: 'query' }),
    ).toBeGreaterThan(0);
    expect(
      sampleOf('chain_metrics_store_statement_duration_seconds_count', { lane: 'work', kind: 'load' }),
    ).toBeGreaterThan(0);
    expect(sampleOf('chain_metrics_store_errors_total', { lane: 'work', code: 'store_failed' })).toBe(1);
  });

  test('count hits of the cache, alerts, sign-ins and tokens', () => {
    expect(sampleOf('chain_metrics_answer_cache_requests_total', { result: 'miss' })).toBe(1);
    expect(sampleOf('chain_metrics_answer_cache_requests_total', { result: 'hit' })).toBe(1);
    expect(sampleOf('chain_metrics_answer_cache_size_bytes')).toBeGreaterThan(0);
    expect(sampleOf('chain_metrics_alert_deliveries_accepted_total')).toBe(1);
    expect(sampleOf('chain_metrics_alert_outcomes_total', { outcome: 'created' })).toBe(1);
    expect(sampleOf('chain_metrics_alert_writer_failing')).toBe(0);
    expect(sampleOf('chain_metrics_webhook_receivers', { state: 'failing' })).toBe(0);
    const attempts = (result: string) =>
      sampleOf('chain_metrics_sign_in_attempts_total', { factor: 'password', result });
    expect([attempts('accepted'), attempts('wrong'), attempts('refused')]).toEqual([1, 2, 1]);
    expect(sampleOf('chain_metrics_oauth_tokens_issued_total', { grant: 'password' })).toBe(1);
    expect(sampleOf('chain_metrics_oauth_tokens_refused_total', { grant: 'password' })).toBe(3);
  });
});
