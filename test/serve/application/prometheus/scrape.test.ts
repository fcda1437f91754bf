import { execFileSync } from 'node:child_process';
import { createReadStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYaml } from '@redocly/openapi-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeFailedMetrics } from '../../../../aggregate/runner/failures.ts';
import { sql } from '../../../../infra/sql.ts';
import { noteSkippedHeights } from '../../../../ingest/sources/skipped-heights.ts';
import { FollowMetrics } from '../../../../ingest/sources/source-metrics.ts';
import { canRun } from '../../../support/needed.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { Service } from '../../alerts/service.ts';
import { dashboardShape } from './dashboard-shape.ts';
import { seriesOf } from './promql.ts';

const PROMTOOL = '/usr/bin/promtool';
const SAMPLE = new URL('../../../../ingest/sample/westend.ndjson.gz', import.meta.url);
const WESTEND = { relay_chain: 'westend', chain: 'westend' };
const PASSWORD = 'four quiet words suffice';

const INFRA = fileURLToPath(new URL('../../../../infra/', import.meta.url));

let service: Service;
let text: string;
beforeAll(async () => {
  service = await Service.open({ REVISION: 'abc123', SIGN_IN_ATTEMPTS: '2' });
  await useEverything(service);
  text = await scrape();
});
afterAll(() => service?.close());

const scrape = async () => (await service.app.inject({ url: '/metrics' })).body;

/** What each part of a server counts happens once at least, and what can be missing or fail is or does. */
async function useEverything({ app, pipeline }: Service): Promise<void> {
  const { store, clock, log } = pipeline.runtime;
  // As Kafka says it: the embedded log has no lag.
  log.lag = async () => [
    { topic: 'chain.blocks.v1', group: 'load', messages: 3, partitions: [{ partition: 0, messages: 3 }] },
  ];
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
  await noteSkippedHeights({ store, clock }, WESTEND, [{ number: 1, reason: 'answered 404' }], 10);
  const failure = { metric: 'daily_tps', attempts: 1, reason: 'refused' };
  const window = { relay_chains: ['westend'], from_day: '2026-01-01', until_day: '2026-01-02' };
  const at = '2026-01-02T00:00:00.000Z';
  const times = { failed_since: at, tried_at: at, next_attempt_at: null };
  await writeFailedMetrics({ store, numbers: { take: () => 1n } }, [{ ...failure, ...window, ...times }]);
  pipeline.processMetrics.computation.failedWindows.inc({ metric: 'daily_tps' });
  const followed = new FollowMetrics(pipeline.processMetrics.sources, WESTEND, 0);
  followed.recordError();
  followed.recordHead(20);
  followed.recordProgress(11);
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
      chain_metrics_plan_dirty_dates: {},
      chain_metrics_plan_windows_total: {},
      chain_metrics_plan_duration_seconds_count: {},
      chain_metrics_compute_window_duration_seconds_count: {},
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

/** The series of a scrape with the labels of their samples, under every name that Prometheus gives them. */
function liveSeries(): Map<string, Set<string>> {
  const live = new Map<string, Set<string>>();
  for (const [, name = ''] of text.matchAll(/^# TYPE (\w+)/gm)) live.set(name, new Set());
  for (const [, name = '', given = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const labels = live.get(name) ?? new Set<string>();
    for (const [, label = ''] of given.matchAll(/(\w+)="(?:\\.|[^"\\])*"/g)) labels.add(label);
    live.set(name, labels);
  }
  return live;
}

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const rules = (
  parseYaml(readFileSync(join(INFRA, 'prometheus/alerts.yaml'), 'utf8')) as {
    groups: { name: string; rules: Rule[] }[];
  }
).groups.flatMap((group) => group.rules);

/** What Prometheus adds itself. */
const OWN_SERIES = new Map([
  ['up', new Set(['job'])],
  ['ALERTS', new Set(['alertname', 'alertstate'])],
]);
const TARGET_LABELS = ['job', 'instance'];

/** What a query names that neither a server nor a recording rule has. */
function unknownIn(query: string): string[] {
  const recorded = rules.flatMap(({ record, expr }): [string, Set<string>][] =>
    record === undefined ? [] : [[record, new Set(seriesOf(expr).grouped)]],
  );
  const known = new Map([...liveSeries(), ...OWN_SERIES, ...recorded]);
  const { series, matched, grouped } = seriesOf(query);
  const labelsOf = (name: string) => new Set([...TARGET_LABELS, ...(known.get(name) ?? [])]);
  const labels = new Set([...series].flatMap((name) => [...labelsOf(name)]));
  return [
    ...[...series].filter((name) => !known.has(name)),
    ...[...matched].flatMap(([name, own]) =>
      [...own].filter((label) => !labelsOf(name).has(label)).map((label) => `${name}{${label}}`),
    ),
    ...[...grouped].filter((label) => !labels.has(label)),
  ];
}

describe('the alert rules', () => {
  const alerts = rules.filter(({ alert }) => alert !== undefined);

  test('name only series and labels that a server has', () => {
    const unknown = rules.map(({ alert, record, expr }) => [alert ?? record, unknownIn(expr)]);
    expect(unknown.filter(([, names]) => names?.length)).toEqual([]);
  });

  test('say how bad it is, what it is and what to do, and how long it lasts before they fire', () => {
    expect(alerts.length).toBeGreaterThan(20);
    for (const { alert, labels, annotations, for: lasts } of alerts) {
      expect(alert).toMatch(/^ChainMetrics[A-Z]\w+$/);
      expect([alert, labels?.severity]).toEqual([alert, expect.stringMatching(/^(critical|warning)$/)]);
      expect([alert, lasts]).toEqual([alert, expect.stringMatching(/^\d+m$/)]);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/\w/),
        description: expect.stringMatching(/\w.*\.$/),
        action: expect.stringMatching(/\w.*\.$/),
      });
    }
  });

  test('are each tested with series that let it fire', () => {
    const tested = readFileSync(join(INFRA, 'prometheus/alerts.test.yaml'), 'utf8');
    expect(alerts.filter(({ alert }) => !tested.includes(`alertname="${alert}"`))).toEqual([]);
  });

  test.runIf(canRun(PROMTOOL))('fire for their cause alone, as promtool plays it', () => {
    const cwd = join(INFRA, 'prometheus');
    const played = execFileSync(PROMTOOL, ['test', 'rules', 'alerts.test.yaml'], { cwd, encoding: 'utf8' });
    expect(played).toContain('SUCCESS');
    const config = execFileSync(PROMTOOL, ['check', 'config', 'prometheus.yaml'], { cwd, encoding: 'utf8' });
    expect(config).toContain(`${rules.length} rules found`);
  });
});

describe('the dashboards', () => {
  const folder = join(INFRA, 'grafana/dashboards');
  const files = readdirSync(folder).sort();
  const contents = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  const dashboards = contents.map((content) => dashboardShape.parse(content));
  const panels = dashboards.flatMap((dashboard) =>
    dashboard.panels.map((panel) => ({ of: `${dashboard.title}, ${panel.title}`, ...panel })),
  );
  const queries = panels.flatMap(({ of, targets = [] }) =>
    targets.map(({ expr }) => ({ of, query: expr.replaceAll('$__rate_interval', '5m') })),
  );

  test('are laid out as Grafana reads them, each in a file of its name', () => {
    expect(files).toEqual(dashboards.map(({ uid }) => `${uid}.json`));
    for (const { panels, title } of dashboards) {
      expect([title, new Set(panels.map(({ id }) => id)).size]).toEqual([title, panels.length]);
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
      );
      expect([title, new Set(cells).size]).toEqual([title, cells.length]);
    }
  });

  test('have no panel without a query, and name only series and labels that a server has', () => {
    const empty = panels.filter(({ type, targets = [] }) => type !== 'row' && targets.length === 0);
    expect(empty).toEqual([]);
    const unknown = queries.map(({ of, query }) => [of, unknownIn(query)]);
    expect(unknown.filter(([, names]) => names?.length)).toEqual([]);
    const legends = panels.flatMap(({ of, targets = [] }) =>
      targets.flatMap(({ expr, legendFormat }) =>
        [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)]
          .map(([, label = '']) => label)
          .filter((label) => !TARGET_LABELS.includes(label) && !seriesOf(expr).grouped.has(label))
          .map((label) => `${of}: ${label}`),
      ),
    );
    expect(legends).toEqual([]);
  });

  test.runIf(canRun(PROMTOOL))('have queries that Prometheus can parse', () => {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'queries.json');
    // Rules in JSON are rules in YAML too.
    const rules = queries.map(({ query }, i) => ({ record: `query_${i}`, expr: query }));
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    const checked = execFileSync(PROMTOOL, ['check', 'rules', file], { encoding: 'utf8' });
    expect(checked).toContain(`${queries.length} rules found`);
  });

  test('are provided with the data source that their panels begin with, by the compose file', () => {
    const provided = (path: string) =>
      parseYaml(readFileSync(join(INFRA, 'grafana/provisioning', path), 'utf8'));
    expect(provided('datasources/prometheus.yaml')).toMatchObject({
      datasources: [{ type: 'prometheus', url: 'http://prometheus:9090', isDefault: true }],
    });
    const [provider] = (
      provided('dashboards/chain-metrics.yaml') as { providers: { options: { path: string } }[] }
    ).providers;
    const compose = readFileSync(join(INFRA, 'compose.yaml'), 'utf8');
    expect(compose).toContain(`./grafana/dashboards:${provider?.options.path}:ro`);
    expect(compose).toContain('./grafana/provisioning:/etc/grafana/provisioning:ro');
    expect(compose).toContain('./prometheus:/etc/prometheus:ro');
  });
});
