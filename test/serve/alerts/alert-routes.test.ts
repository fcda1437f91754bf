import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAlertMetrics } from '../../../serve/alerts/composition/alert-metrics.ts';
import { openAlertDomain } from '../../../serve/alerts/composition/domain.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let ann: Person;
let project: number;
let night: string;
let day: string;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann');
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
  [night, day] = [await policy('Night'), await policy('Day')];
});

const policies = () => `/projects/${project}/escalation_policies`;
const routes = () => `/projects/${project}/alert_routes`;

async function policy(name: string): Promise<string> {
  const steps = [{ targets: [{ type: 'user', id: ann.user.id }], delay_minutes: 5 }];
  return (await service.api(ann, 'POST', policies(), { name, steps })).body.id;
}

const route = (more: object = {}) => ({
  ...{ name: 'default', matchers: [], policy_id: null },
  ...{ delay_seconds: 0, continues: false, active: true, ...more },
});
const critical = (more: object = {}) =>
  route({ name: 'Critical', matchers: ['severity="critical"'], ...more });

async function put(list: unknown, ifMatch?: string) {
  const reply = await service.app.inject({
    method: 'PUT',
    url: `/api/v4${routes()}`,
    headers: { authorization: `Bearer ${ann.token}`, ...(ifMatch && { 'if-match': ifMatch }) },
    payload: list as object,
  });
  return { status: reply.statusCode, body: reply.json(), etag: String(reply.headers.etag) };
}

test('routes begin with a default one that pages nobody, and are replaced as a whole', async () => {
  const first = await service.api(ann, 'GET', routes());
  expect(first).toMatchObject({ status: 200, body: [route()] });
  const list = [
    critical({ policy_id: night, continues: true }),
    route({ name: 'Storage', matchers: ['team=~"disk|tape"', '"a label"!=""'], active: false }),
    route({ policy_id: day, delay_seconds: 60 }),
  ];
  const changed = await put(list, String(first.headers.etag));
  expect(changed).toMatchObject({ status: 200, body: list });
  const second = await service.api(ann, 'GET', routes());
  expect([second.body, second.headers.etag]).toEqual([list, changed.etag]);
  expect(changed.etag).not.toBe(first.headers.etag);
});

test('fields that are left out have a default, and matchers are written in one way', async () => {
  const given = [
    { name: ' Critical ', matchers: ['{ severity = critical , }', 'team!~a'], policy_id: night },
    { name: 'default', policy_id: null },
  ];
  expect(await put(given)).toMatchObject({
    status: 200,
    body: [critical({ matchers: ['severity="critical"', 'team!~"a"'], policy_id: night }), route()],
  });
});

test('routes of another version than If-Match asks for stay as they are', async () => {
  const { headers } = await service.api(ann, 'GET', routes());
  const etag = String(headers.etag);
  const replies = await Promise.all([1, 2, 3].map((delay_seconds) => put([route({ delay_seconds })], etag)));
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  for (const other of ['"99"', 'W/"1"', '1', '"a"'])
    expect((await put([route({ delay_seconds: 9 })], other)).status, other).toBe(412);
  expect((await service.api(ann, 'GET', routes())).body[0].delay_seconds).toBeLessThan(4);
  expect((await put([route({ delay_seconds: 5 })], '*')).status).toBe(200);
  expect((await put([route({ delay_seconds: 6 })])).status).toBe(200);
});

describe('a list is refused', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) => critical({ name: `Route ${i}`, matchers: ['a=b'] }));

  test.each([
    ['that is none', {}, 'body', ''],
    ['that is empty', [], 'body', ''],
    ['without the default route', [critical()], 'routes', 'The last route is default'],
    ['with the default route in another place', [route(), critical()], 'routes', 'The last route is default'],
    ['with two default routes', [route({ matchers: ['a=b'] }), route()], '0.name', 'Route default: Only'],
    ['of 101 routes', [...many(100), route()], 'body', ''],
    ['with an unknown field', [{ ...route(), matcher: 'a=b' }], '0', ''],
    ['with a route without a name', [critical({ name: ' ' }), route()], '0.name', 'Route 1: Enter a name'],
    ['with a name that is too long', [critical({ name: 'x'.repeat(256) }), route()], '0.name', ''],
    ['with a name twice', [critical(), critical(), route()], '1.name', 'Route Critical: An earlier route'],
    ['with a route without matchers', [critical({ matchers: [] }), route()], '0.matchers', 'Route Critical:'],
    ['with a default route with matchers', [critical(), route({ matchers: ['a=b'] })], '1.matchers', 'every'],
    ['with 21 matchers', [critical({ matchers: Array(21).fill('a=b') }), route()], '0.matchers', '20'],
    ['with two matchers in a text', [critical({ matchers: ['a=b,c=d'] }), route()], '0.matchers.0', 'one'],
    ['with no matcher in a text', [critical({ matchers: ['a=b', '{}'] }), route()], '0.matchers.1', 'one'],
    ['with bad grammar', [critical({ matchers: ['a=b', 'severity'] }), route()], '0.matchers.1', 'character'],
    ['with a bad expression', [critical({ matchers: ['a=~"("'] }), route()], '0.matchers.0', 'character'],
    [
      'with an unknown policy',
      [critical({ policy_id: 'none' }), route()],
      '0.policy_id',
      'no escalation policy',
    ],
    ['with a delay of two hours', [route({ delay_seconds: 7200 })], '0.delay_seconds', ''],
    ['with a default route that continues', [critical(), route({ continues: true })], '1.continues', ''],
    ['with a default route that is not active', [route({ active: false })], '0.active', ''],
  ])('%s', async (_name, list, field, text) => {
    const { status, body } = await put(list);
    expect(status).toBe(400);
    expect(Object.keys(body.errors)).toContain(field);
    expect(body.errors[field].join()).toContain(text);
    expect((await service.api(ann, 'GET', routes())).body).toEqual([route()]);
  });

  test('but not with 100 routes of 20 matchers', async () => {
    const matchers = Array.from({ length: 20 }, (_, i) => `label_${i}=~"[a-z]+${i}"`);
    const list = [...many(99).map((given) => ({ ...given, matchers })), route()];
    expect((await put(list)).status).toBe(200);
  });
});

test('a policy that a route leads to cannot be deleted', async () => {
  await put([critical({ policy_id: night, active: false }), route()]);
  const one = `${policies()}/${night}`;
  expect(await service.api(ann, 'DELETE', one)).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('Critical') },
  });
  await put([route()]);
  expect((await service.api(ann, 'DELETE', one)).status).toBe(204);
  expect((await put([route({ policy_id: night })])).status).toBe(400);
});

test('routes lead to policies but while an on-call tool gets the alerts', async () => {
  const { config: settings, runtime } = service.pipeline;
  const { alertRoutes } = openAlertDomain({
    ...{ runtime, settings, accounts: service.accounts, pipeline: await service.pipeline.alerts() },
    ...{ publicUrl: () => '', metrics: createAlertMetrics() },
  });
  const labels = { values: new Map([['severity', 'critical']]), isCut: false };
  const targets = async () => (await alertRoutes.load(String(project))).targetsOf(labels);
  expect(await targets()).toEqual([]);
  await put([critical({ policy_id: night, continues: true }), route({ policy_id: day, delay_seconds: 90 })]);
  const wanted = [
    { route: 'Critical', policyId: night, delaySeconds: 0 },
    { route: 'default', policyId: day, delaySeconds: 90 },
  ];
  expect(await targets()).toEqual(wanted);
  const link = { type: 'ONCALL', active: true, name: 'Tool', api_url: 'https://oncall.example' };
  const { body } = await service.api(ann, 'POST', `/projects/${project}/integrations`, link);
  expect(await targets()).toEqual([]);
  await service.api(ann, 'PUT', `/projects/${project}/integrations/${body.id}`, { active: false });
  expect(await targets()).toEqual(wanted);
});
