import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { IntegrationCache } from '../../../serve/alerts/integrations/integration-cache.ts';
import {
  type Integration,
  integrations,
  type Project,
  projects,
  type Webhook,
  webhooks,
} from '../../../serve/alerts/model/tables.ts';
import { Records } from '../../../serve/stored-records/records.ts';
import { until } from '../../infra/ports/opened.ts';
import { firing, prometheusBody } from './made.ts';
import { type Person, Service } from './service.ts';

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
const make = (fields: object) => service.api(ann, 'POST', path(), fields);

describe('the plan', () => {
  test('free has one HTTP endpoint, no mapping, and groups by given fingerprints only', async () => {
    await service.api(ann, 'PUT', `/projects/${project}`, { plan: 'free' });
    const source = await service.source(ann, project);
    expect(await make({ type: 'HTTP', name: 'second' })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('free plan') },
    });
    expect((await make({ type: 'PROMETHEUS' })).status).toBe(201);
    const mapping = {
      payload_example: '{"a":"b"}',
      payload_attribute_mappings: [{ field_name: 'title', path: ['a'] }],
    };
    expect((await service.api(ann, 'PUT', `${path()}/${source.id}`, mapping)).status).toBe(400);
    for (let i = 0; i < 2; i++) expect((await service.send(source, { title: 'same' })).body).toHaveLength(1);
    expect((await service.send(source, { fingerprint: 'f' })).body).toHaveLength(1);
    expect((await service.send(source, { fingerprint: 'f' })).body).toHaveLength(0);
  });

  test('free after premium keeps what is active, and activates no second HTTP endpoint', async () => {
    const [first, second] = [
      await service.source(ann, project),
      (await make({ type: 'HTTP', name: 'second' })).body,
    ];
    const activate = (active: boolean) =>
      service.api(ann, 'PUT', `${path()}/${(second as { id: string }).id}`, { active });
    await service.api(ann, 'PUT', `/projects/${project}`, { plan: 'free' });
    expect((await activate(true)).status).toBe(200);
    expect((await activate(false)).status).toBe(200);
    expect(await activate(true)).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('free plan') },
    });
    await service.api(ann, 'PUT', `${path()}/${first.id}`, { active: false });
    expect((await activate(true)).status).toBe(200);
  });

  test('premium has many, and each additional one needs a name', async () => {
    expect((await make({ type: 'HTTP' })).body).toMatchObject({ name: 'HTTP endpoint', active: true });
    expect(await make({ type: 'HTTP' })).toMatchObject({
      status: 400,
      body: { errors: { name: expect.anything() } },
    });
    expect((await make({ type: 'HTTP', name: 'second' })).status).toBe(201);
  });
});

describe('an integration', () => {
  test('is found as soon as it is created, also by a reader that waits for an older load', async () => {
    const records = new Records<Integration>(service.accounts, integrations);
    const gate = Promise.withResolvers<void>();
    // A store that responds late, with the rows of the time of the query.
    const late: typeof records = Object.create(records, {
      findWithout: {
        value: async (...query: Parameters<typeof records.findWithout>) => {
          const rows = await records.findWithout(...query);
          await gate.promise;
          return rows;
        },
      },
    });
    const integrationCache = new IntegrationCache({
      keyValue: service.pipeline.runtime.keyValue,
      projects: new Records<Project>(service.accounts, projects),
      integrations: late,
      webhooks: new Records<Webhook>(service.accounts, webhooks),
    });
    const early = integrationCache.find('0123456789abcdef');
    const { id } = await service.source(ann, project, { name: 'created meanwhile' });
    const found = integrationCache.find(id);
    gate.resolve();
    expect(await early).toBeUndefined();
    expect(await found).toMatchObject({ integration: { name: 'created meanwhile' } });
  });
});

describe('a custom mapping', () => {
  const sample = '{"event":{"name":"CPU","tags":["x"]},"n":1}';
  const mapping = [{ field_name: 'title', path: ['event', 'name'] }];

  test('applies to later alerts', async () => {
    const source = await service.source(ann, project, {
      payload_example: sample,
      payload_attribute_mappings: mapping,
    });
    expect((await service.send(source, { event: { name: 'mapped' } })).body).toMatchObject([
      { title: 'mapped' },
    ]);
    await service.api(ann, 'PUT', `${path()}/${source.id}`, { payload_attribute_mappings: [] });
    expect((await service.send(source, { event: { name: 'unmapped' } })).body).toMatchObject([
      { title: 'New: Alert' },
    ]);
  });

  test('is removed when the sample changes', async () => {
    const source = await service.source(ann, project, {
      payload_example: sample,
      payload_attribute_mappings: mapping,
    });
    const one = `${path()}/${source.id}`;
    const same = await service.api(ann, 'PUT', one, { payload_example: sample });
    expect(same.body.payload_attribute_mappings).toEqual(mapping);
    const other = await service.api(ann, 'PUT', one, { payload_example: '{"other":1}' });
    expect(other.body.payload_attribute_mappings).toEqual([]);
  });

  test.each([
    ['a path into nothing', [{ field_name: 'title', path: ['event', 'nothing'] }]],
    ['a place behind a list', [{ field_name: 'hosts', path: ['event', 'tags', 5] }]],
    ['something every object has', [{ field_name: 'title', path: ['constructor'] }]],
    ['a field twice', ['n', 'event'].map((name) => ({ field_name: 'title', path: [name] }))],
    ['an unknown field', [{ field_name: 'colour', path: ['n'] }]],
    ['no path', [{ field_name: 'title', path: [] }]],
    ['a path of other things', [{ field_name: 'title', path: [{}] }]],
  ])('with %s is refused by name', async (_name, payload_attribute_mappings) => {
    const reply = await make({ type: 'HTTP', payload_example: sample, payload_attribute_mappings });
    expect(reply.status).toBe(400);
    expect(JSON.stringify(reply.body)).toMatch(/payload_attribute_mappings/);
  });

  test.each(['{', '[]', '"x"', '1', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`])(
    'a sample of %j is refused',
    async (payload_example) => {
      expect(await make({ type: 'HTTP', payload_example })).toMatchObject({
        status: 400,
        body: { errors: { payload_example: expect.anything() } },
      });
    },
  );

  test('offers the fields of the sample', async () => {
    const reply = await service.api(ann, 'POST', `${path()}/payload_fields`, {
      payload_example:
        '{"a":{"b":[{"c":"x"}],"when":"2026-11-21T00:00:00Z"},"n":1.5,"flag":true,"later":null}',
    });
    expect(reply.body.map(({ label, type }: { label: string; type: string }) => `${label} ${type}`)).toEqual([
      'a/b array',
      'a/b[0]/c string',
      'a/when datetime',
      'n number',
      'later string',
    ]);
  });
});

describe('a sample', () => {
  const long = (bytes: number) => JSON.stringify({ title: 'x'.repeat(bytes) });

  test('of more than its limit is refused', async () => {
    for (const [bytes, status] of [
      [64 * 1024 - 20, 201],
      [64 * 1024, 400],
    ] as const) {
      expect((await make({ type: 'HTTP', name: 'long', payload_example: long(bytes) })).status).toBe(status);
    }
    const fields = await service.api(ann, 'POST', `${path()}/payload_fields`, {
      payload_example: long(70_000),
    });
    expect(fields.status).toBe(400);
  });

  test('that was stored under a higher limit is read, mapped and kept, but not in the list', async () => {
    const { id } = await service.source(ann, project);
    const sample = long(1_000_000);
    await service.pipeline.runtime.store.run(
      `INSERT INTO chain_metrics.alert_integrations SELECT * REPLACE (version + 1 AS version,
        concat('{"title":"', repeat('x', 1000000), '"}') AS sample)
        FROM chain_metrics.alert_integrations FINAL WHERE id = '${id}'`,
    );
    await service.pipeline.runtime.keyValue.delete(`alert_integrations/${id}`);
    const one = await service.api(ann, 'GET', `${path()}/${id}`);
    expect(one.body.payload_example).toBe(sample);
    const mapping = [{ field_name: 'service', path: ['title'] }];
    const changed = await service.api(ann, 'PUT', `${path()}/${id}`, { payload_attribute_mappings: mapping });
    expect(changed).toMatchObject({ status: 200, body: { payload_attribute_mappings: mapping } });
    const { body } = await service.api(ann, 'GET', path());
    expect(body.find((listed: { id: string }) => listed.id === id)).toMatchObject({ payload_example: null });
  });
});

describe('deliveries', () => {
  test('are listed with what became of their alerts, also of an end that matches none', async () => {
    const source = await service.source(ann, project);
    await service.send(source, { title: 'a', fingerprint: 'deliveries' });
    await service.send(source, { title: 'b', fingerprint: 'none', end_time: '2026-11-21T00:00:00Z' });
    await service.send(source, prometheusBody([firing({ status: 'resolved' }), firing(), 0]));
    const { status, body } = await service.api(ann, 'GET', `${path()}/${source.id}/deliveries`);
    expect(status).toBe(200);
    expect(body.map(({ outcomes }: { outcomes: object }) => outcomes)).toEqual([
      { unmatched: 1, created: 1, refused: 1 },
      { unmatched: 1 },
      { created: 1 },
    ]);
    expect(body[2].alert_iids).toHaveLength(1);
    const { body: metrics } = await service.app.inject('/metrics');
    expect(metrics).toMatch(/chain_metrics_alert_outcomes_total\{outcome="unmatched"\} [1-9]/);
  });

  test('tell how many alerts their sender left out', async () => {
    const source = await service.source(ann, project);
    const cut = (fingerprint: string, more: object) => prometheusBody([firing({ fingerprint })], more);
    await service.send(source, cut('left out 1', { truncatedAlerts: 1000 }));
    await service.send(source, cut('left out 2', { truncatedAlerts: 7, version: '1', orgId: 1 }));
    await service.send(source, cut('left out 3', { truncatedAlerts: 0 }));
    await service.send(source, cut('left out 4', { truncatedAlerts: undefined }));
    await service.send(source, cut('left out 5', { truncatedAlerts: [3] }));
    await service.send(source, { title: 'generic' });
    const { body } = await service.api(ann, 'GET', `${path()}/${source.id}/deliveries`);
    const truncated = body.map(({ truncated_alerts }: { truncated_alerts: number }) => truncated_alerts);
    expect(truncated.reverse()).toEqual([1000, 7, 0, 0, 0, 0]);
  });
});

describe('a test alert', () => {
  test('is processed like every alert', async () => {
    const source = await service.source(ann, project);
    const send = (payload: string) =>
      service.api(ann, 'POST', `${path()}/${source.id}/test_alert`, { payload });
    expect(await send('{"title":"test"}')).toMatchObject({ status: 200, body: [{ iid: 1, title: 'test' }] });
    expect(await send('{"title":"test"}')).toMatchObject({ status: 200, body: [] });
    expect(await send('{broken')).toMatchObject({
      status: 400,
      body: { errors: { payload: expect.anything() } },
    });
    await service.api(ann, 'PUT', `${path()}/${source.id}`, { active: false });
    expect((await send('{}')).status).toBe(409);
  });
});

describe('incidents', () => {
  const incidents = async () => (await service.api(ann, 'GET', `/projects/${project}/incidents`)).body;

  test('are created from an alert once, with the Markdown of its source', async () => {
    const source = await service.source(ann, project);
    const annotations = {
      summary: 'Down',
      description: 'It is down.',
      platform_incident_markdown: '## What to do',
    };
    await service.send(source, prometheusBody([firing({ annotations })]));
    const make = () => service.api(ann, 'POST', `/projects/${project}/alerts/1/incident`);
    const { status, body } = await make();
    expect(status).toBe(201);
    expect(body).toMatchObject({ iid: 1, alert_iid: 1, title: 'Down', state: 'opened' });
    expect(body.description).toMatch(/^It is down\.\n\n- \*\*Start[\s\S]+\n\n## What to do$/);
    expect((await make()).body.iid).toBe(1);
    expect((await service.api(ann, 'GET', `/projects/${project}/alerts/1`)).body.incident_iid).toBe(1);
  });

  test('close with their alert, and resolve it when a user closes them', async () => {
    const source = await service.source(ann, project);
    for (const title of ['a', 'b']) await service.send(source, { title });
    for (const iid of [1, 2]) await service.api(ann, 'POST', `/projects/${project}/alerts/${iid}/incident`);
    await service.send(source, { title: 'a', end_time: '2026-11-21' });
    await until('the first is closed', async () => (await incidents())[1].state === 'closed');
    await service.api(ann, 'PUT', `/projects/${project}/incidents/2`, { state_event: 'close' });
    expect((await service.api(ann, 'GET', `/projects/${project}/alerts/2`)).body.status).toBe('resolved');
  });

  test('are created automatically, and left open, as the project is set up', async () => {
    await service.api(ann, 'PUT', `/projects/${project}`, {
      creates_incidents: true,
      closes_incidents: false,
    });
    const source = await service.source(ann, project);
    for (let i = 0; i < 3; i++) await service.send(source, { title: 'auto' });
    await until('one is created', async () => (await incidents()).length === 1);
    await service.send(source, { title: 'auto', end_time: '2026-11-21' });
    expect(await incidents()).toMatchObject([{ state: 'opened', title: 'auto' }]);
  });
});

describe('notes and assignees', () => {
  test('belong to members', async () => {
    const source = await service.source(ann, project);
    await service.send(source, { title: 'noted' });
    const alert = `/projects/${project}/alerts/1`;
    const note = await service.api(ann, 'POST', `${alert}/notes`, { body: ' <b>text</b> ' });
    expect(note.body).toMatchObject({ body: '<b>text</b>', author: { username: 'ann' } });
    expect((await service.api(ann, 'POST', `${alert}/notes`, { body: '  ' })).status).toBe(400);
    expect((await service.api(ann, 'DELETE', `${alert}/notes/${note.body.id}`)).status).toBe(204);
    expect((await service.api(ann, 'GET', `${alert}/notes`)).body).toEqual([]);
    expect((await service.api(ann, 'PUT', alert, { assignee_ids: [999] })).status).toBe(400);
    expect((await service.api(ann, 'GET', `/projects/${project}/alerts/99`)).status).toBe(404);
  });
});

describe('the list', () => {
  test('is filtered, ordered and paginated', async () => {
    const source = await service.source(ann, project);
    const severities = ['low', 'critical', 'info', 'high', 'medium', 'unknown'];
    for (const [i, severity] of severities.entries()) {
      await service.send(source, { title: `item ${i}`, severity, service: i % 2 ? 'odd' : 'even' });
    }
    const list = async (query: string) =>
      (await service.api(ann, 'GET', `/projects/${project}/alerts?${query}`)).body.map(
        ({ title }: { title: string }) => Number(title.slice(5)),
      );
    expect(await list('order_by=severity&sort=desc')).toEqual([1, 3, 4, 0, 2, 5]);
    expect(await list('order_by=severity&sort=asc')).toEqual([5, 2, 0, 4, 3, 1]);
    expect(await list('service=odd&order_by=created_at&sort=asc')).toEqual([1, 3, 5]);
    expect(await list('severity=low,info&order_by=created_at&sort=asc')).toEqual([0, 2]);
    expect(await list('search=ITEM%203')).toEqual([3]);
    expect(await list('search=%25')).toEqual([]);
    expect(await list('order_by=created_at&sort=asc&per_page=2&page=3')).toEqual([4, 5]);
    const { headers } = await service.api(ann, 'GET', `/projects/${project}/alerts?per_page=2`);
    expect(headers).toMatchObject({ 'x-total': '6', 'x-total-pages': '3', 'x-next-page': '2' });
    expect(String(headers.link)).toContain('page=2>; rel="next"');
    for (const bad of [
      'status=open',
      'per_page=0',
      'per_page=101',
      'page=x',
      'order_by=iid',
      'started_after=now',
    ]) {
      expect((await service.api(ann, 'GET', `/projects/${project}/alerts?${bad}`)).status, bad).toBe(400);
    }
  });
});
