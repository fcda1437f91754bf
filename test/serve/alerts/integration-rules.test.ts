import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { changesAfter } from '../../../serve/alerts/events/event-history.ts';
import { presetOf } from '../../../serve/alerts/integrations/presets/presets.ts';
import { type Person, Service } from './service.ts';

const STATUS = { path: ['check', 'state'], resolved: ['OK'], acknowledged: ['seen'], ignored: ['starting'] };
const RULES = { tool: 'Pinger', status: STATUS, fingerprint: [[['id']]], labels: { team: ['team'] } };

let service: Service;
let ann: Person;
let project: number;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
});
const path = () => `/projects/${project}/integrations`;
const payload = (state: string, more: object = {}) => ({ title: 'T', id: 7, check: { state }, ...more });

const storedAlerts = () =>
  service.pipeline.runtime.store.rows(
    sql`SELECT * FROM chain_metrics.alerts FINAL WHERE project = ${project} ORDER BY iid`,
  );

describe('the rules of an integration', () => {
  test('decide what a delivery does; an ignored one is answered with no alerts', async () => {
    const source = await service.source(ann, project, { rules: RULES });
    const send = async (state: string) => {
      const { status, body } = await service.send(source, payload(state));
      expect(status).toBe(200);
      return body;
    };
    expect(await send('starting')).toEqual([]);
    expect(await send('bad')).toEqual([{ iid: 1, title: 'T' }]);
    for (const state of ['bad', 'seen', 'seen', 'ok', 'seen']) expect(await send(state)).toEqual([]);
    const { body } = await service.api(ann, 'GET', `${path()}/${source.id}/deliveries`);
    expect(body.map(({ outcomes }: { outcomes: object }) => Object.keys(outcomes)[0]).reverse()).toEqual([
      ...['ignored', 'created', 'grouped', 'acknowledged', 'unchanged', 'resolved', 'unmatched'],
    ]);
    const alert = await service.api(ann, 'GET', `/projects/${project}/alerts/1`);
    expect(alert.body).toMatchObject({ status: 'resolved', event_count: 2, monitoring_tool: 'Pinger' });
  });

  test('acknowledge for webhooks, incidents and pages by nobody', async () => {
    const source = await service.source(ann, project, { rules: RULES });
    for (const state of ['bad', 'seen', 'seen', 'ok']) await service.send(source, payload(state));
    const { store } = service.pipeline.runtime;
    await (await service.pipeline.alerts()).waitUntilWritten();
    const { changes } = await changesAfter(store, project, 0, 100);
    expect(changes.map(({ name, by }) => [name, by])).toEqual([
      ['created', ''],
      ['acknowledged', ''],
      ['resolved', ''],
    ]);
    const { body } = await service.api(ann, 'GET', `/projects/${project}/alerts/1/history`);
    expect(body.map(({ outcome }: { outcome: string }) => outcome)).toContain('acknowledged');
  });

  test('stand with each delivery: a replay after a change gives the same rows', async () => {
    const source = await service.source(ann, project, { rules: RULES });
    const one = `${path()}/${source.id}`;
    await service.send(source, payload('bad', { team: 'a' }));
    const changed = {
      fingerprint: [[['name']]],
      severity: { path: ['id'], words: { '7': 'low' }, otherwise: 'info' },
    };
    expect((await service.api(ann, 'PUT', one, { rules: changed })).body.rules).toEqual(changed);
    await service.send(source, payload('ok', { name: 'n', team: 'b' }));
    await service.api(ann, 'PUT', one, { rules: null });
    await service.send(source, payload('ok', { name: 'n' }));
    const alerts = await service.pipeline.alerts();
    await alerts.waitUntilWritten();
    const before = await storedAlerts();
    expect(before).toMatchObject([
      { severity: 'critical', status: 'triggered', match_labels: { team: 'a', title: 'T', id: '7' } },
      { severity: 'low', status: 'triggered' },
      { severity: 'critical', status: 'triggered', labels: [] },
    ]);
    await service.pipeline.runtime.store.run(
      sql`ALTER TABLE chain_metrics.alerts DELETE WHERE project = ${project} SETTINGS mutations_sync = 1`,
    );
    expect(await alerts.replay({ projects: [project], dryRun: false })).toMatchObject([{ differing: 3 }]);
    expect(await storedAlerts()).toEqual(before);
  });

  test.each([
    ['status.path', { ...RULES, status: { ...STATUS, path: ['__proto__', 'a'] } }],
    ['status.ignored', { status: { ...STATUS, ignored: Array.from({ length: 10_000 }, (_, i) => `w${i}`) } }],
    ['status.colour', { status: { ...STATUS, colour: 'red' } }],
    ['severity.otherwise', { severity: { path: ['a'], words: {}, otherwise: 'worst' } }],
  ])('with a wrong %s are refused by name, and change nothing', async (part, rules) => {
    const source = await service.source(ann, project, { rules: RULES });
    const one = `${path()}/${source.id}`;
    const refused = await service.api(ann, 'PUT', one, { rules, name: 'Other' });
    expect(refused.status).toBe(400);
    const words = part.split('.');
    for (const word of ['rules', ...words]) expect(JSON.stringify(refused.body)).toContain(word);
    expect((await service.api(ann, 'GET', one)).body).toMatchObject({ rules: RULES, name: 'Tool' });
  });
});

describe('a preset', () => {
  test('gives a new integration its rules, its sample and its name', async () => {
    const made = await service.api(ann, 'POST', path(), { type: 'HTTP', preset: 'uptime_kuma' });
    expect(made).toMatchObject({ status: 201, body: { name: 'Uptime Kuma', preset: 'uptime_kuma' } });
    const preset = presetOf({ preset: 'uptime_kuma' });
    expect(made.body.rules).toEqual(preset?.rules);
    expect(JSON.parse(made.body.payload_example)).toEqual(preset?.sample);
    const source = { path: new URL(made.body.url).pathname, key: made.body.authorization_key };
    expect((await service.send(source, preset?.sample)).body).toMatchObject([{ iid: 1 }]);
  });

  test('is of one type, and known', async () => {
    const other = await service.api(ann, 'POST', path(), { type: 'PROMETHEUS', preset: 'datadog' });
    expect(other.status).toBe(400);
    expect(JSON.stringify(other.body)).toContain('preset');
    const unknown = await service.api(ann, 'POST', path(), { type: 'HTTP', preset: 'nagios' });
    expect(unknown.status).toBe(400);
    expect(JSON.stringify(unknown.body)).toContain('preset');
  });
});
