import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Person, Service, type Source } from './service.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/alerts/${name}`, import.meta.url), 'utf8');

let service: Service;
let ann: Person;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
});
afterAll(() => service?.close());

async function newSource(): Promise<Source> {
  return service.source(ann, await service.project(ann), { type: 'PROMETHEUS' });
}
const alertsOf = async ({ project }: Source) =>
  (await service.api(ann, 'GET', `/projects/${project}/alerts?order_by=created_at&sort=asc`)).body;

describe('recorded deliveries', () => {
  test('of Alertmanager 0.25: two items are two alerts', async () => {
    const source = await newSource();
    const { headers, body } = JSON.parse(fixture('alertmanager-0.25-captured-request.json'));
    const reply = await service.send(source, body, { 'user-agent': headers['user-agent'] });
    expect(reply.body).toEqual([
      { iid: 1, title: 's A201' },
      { iid: 2, title: 's A201' },
    ]);
    expect((await service.send(source, body)).body).toEqual([]);
    expect(await alertsOf(source)).toMatchObject([
      { severity: 'high', event_count: 1, query: 'up == 0' },
      { severity: 'high', event_count: 1, query: 'up == 0' },
    ]);
  });

  test('of Prometheus 2.42: a group that grows has its first item once', async () => {
    const source = await newSource();
    const lines = fixture('prometheus-2.42-two-targets.json').split('\n').filter(Boolean);
    const created = [];
    for (const line of lines) created.push((await service.send(source, line)).body);
    expect(created).toEqual([[{ iid: 1, title: 'ServiceDown' }], [{ iid: 2, title: 'ServiceDown' }]]);
    expect((await alertsOf(source)).map(({ event_count }: { event_count: number }) => event_count)).toEqual([
      1, 1,
    ]);
  });

  test('a sender that repeats a request after 503 is counted once, as its log shows', async () => {
    const tries = fixture('alertmanager-0.25-retry-log.jsonl')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .filter(({ name, code }) => name === 'A503' || code === 503);
    expect(tries.map(({ code }) => code)).toEqual([503, 503, 503, 200]);
    // All attempts are within the retry window.
    expect(tries.at(-1).t - tries[0].t).toBeLessThan(service.pipeline.config.ALERT_RETRY_WINDOW_SECONDS);
  });

  test('the shape of Grafana: version 1, with attributes of its own', async () => {
    const source = await newSource();
    const body = {
      receiver: 'ours',
      status: 'firing',
      orgId: 1,
      alerts: [
        {
          status: 'firing',
          labels: { alertname: 'High load', grafana_folder: 'Ops', severity: 'warning' },
          annotations: { summary: 'Load is high', runbook_url: 'https://wiki.example/load', extra: 'shown' },
          startsAt: '2026-11-21T03:10:27Z',
          endsAt: '0001-01-01T00:00:00Z',
          generatorURL: 'https://grafana.example/alerting/grafana/abc/view?orgId=1',
          fingerprint: 'c6eadffa33fcdf37',
          silenceURL: 'https://grafana.example/alerting/silence/new',
          dashboardURL: '',
          panelURL: '',
          values: { A: 12.5, B: null },
          valueString: "[ var='A' labels={} value=12.5 ]",
        },
      ],
      groupLabels: {},
      commonLabels: { alertname: 'High load' },
      commonAnnotations: {},
      externalURL: 'https://grafana.example/',
      version: '1',
      groupKey: '{}/{alertname="High load"}:{}',
      truncatedAlerts: 0,
      title: '[FIRING:1] High load',
      state: 'alerting',
      message: '**Firing**',
    };
    expect((await service.send(source, body)).body).toEqual([{ iid: 1, title: 'Load is high' }]);
    const { body: alert } = await service.api(ann, 'GET', `/projects/${source.project}/alerts/1`);
    expect(alert).toMatchObject({
      severity: 'low',
      monitoring_tool: 'Grafana',
      runbook: 'https://wiki.example/load',
      other_annotations: { extra: 'shown' },
      payload: { values: { A: 12.5, B: null } },
    });
    const over = { ...body.alerts[0], status: 'resolved', endsAt: '2026-11-21T04:00:00Z' };
    expect((await service.send(source, { ...body, status: 'resolved', alerts: [over] })).body).toEqual([]);
    expect(await alertsOf(source)).toMatchObject([
      { status: 'resolved', ended_at: '2026-11-21T04:00:00.000Z' },
    ]);
  });
});
