import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../infra/sql.ts';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { type Answered, type Person, Service, type Source } from './service.ts';

let service: Service;
let ann: Person;
let browser: Browser;
let project: number;
let source: Source;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
  project = await service.project(ann);
  source = await service.source(ann, project, { type: 'PAGERDUTY' });
});
afterAll(() => service?.close());

const trigger = (fields: object = {}) => ({
  routing_key: source.key,
  event_action: 'trigger',
  dedup_key: 'disk/node-7',
  payload: { summary: 'Disk is full', source: 'node-7', severity: 'error' },
  ...fields,
});

/** Without a header of a key: it is in the body. */
async function enqueue(event: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  return service.send({ path: '/v2/enqueue', key: '' }, event, { authorization: '', ...headers });
}

async function alerts(search = ''): Promise<Record<string, unknown>[]> {
  return (await service.api(ann, 'GET', `/projects/${project}/alerts?search=${search}`)).body;
}

test('the key has 32 letters and digits, and a new one is of the same kind', async () => {
  expect(source.path).toBe('/v2/enqueue');
  expect(source.key).toMatch(/^[A-Za-z0-9]{32}$/);
  const own = await service.source(ann, project, { type: 'PAGERDUTY', name: 'Renewed' });
  const path = `/projects/${project}/integrations/${own.id}`;
  const { body: rotated } = await service.api(ann, 'POST', `${path}/rotate_key`);
  expect(rotated.authorization_key).toMatch(/^[A-Za-z0-9]{32}$/);
  for (const routing_key of [own.key, rotated.authorization_key])
    expect((await enqueue(trigger({ routing_key, dedup_key: 'rotated' }))).status).toBe(202);
  const { body: reset } = await service.api(ann, 'POST', `${path}/reset_key`);
  expect(reset.authorization_key).toMatch(/^[A-Za-z0-9]{32}$/);
  for (const routing_key of [own.key, rotated.authorization_key])
    expect((await enqueue(trigger({ routing_key }))).status).toBe(400);
});

test('an alert is triggered, repeated, acknowledged and resolved by its dedup_key', async () => {
  const accepted = { status: 'success', message: 'Event processed', dedup_key: 'cycle' };
  const payload = {
    summary: 'Cycle',
    source: 'node-7',
    severity: 'warning',
    timestamp: '2026-11-20T10:00:00Z',
    component: 'storage',
    group: 'database',
    custom_details: { description: '98 % used', team: 'core' },
  };
  const event = trigger({ dedup_key: 'cycle', client: 'Nagios', payload });
  for (let i = 0; i < 2; i++) expect(await enqueue(event)).toMatchObject({ status: 202, body: accepted });
  const [alert] = await alerts('Cycle');
  expect(alert).toMatchObject({
    title: 'Cycle',
    description: '98 % used',
    severity: 'medium',
    status: 'triggered',
    service: 'storage',
    monitoring_tool: 'Nagios',
    hosts: ['node-7'],
    event_count: 2,
    started_at: '2026-11-20T10:00:00.000Z',
  });
  const act = (event_action: string) =>
    enqueue({ routing_key: source.key, event_action, dedup_key: 'cycle' });
  expect(await act('acknowledge')).toMatchObject({ status: 202, body: accepted });
  expect((await alerts('Cycle'))[0]).toMatchObject({ status: 'acknowledged' });
  expect(await act('resolve')).toMatchObject({ status: 202, body: accepted });
  expect((await alerts('Cycle'))[0]).toMatchObject({ status: 'resolved' });
  await enqueue(event);
  expect(await alerts('Cycle')).toHaveLength(2);
});

test.each([
  ['critical', 'critical'],
  ['error', 'high'],
  ['Warning', 'medium'],
  ['info', 'info'],
  ['page', 'high'],
  ['no such severity', 'critical'],
])('the severity %s becomes %s', async (severity, expected) => {
  const summary = `Severity ${severity}`;
  await enqueue(trigger({ dedup_key: severity, payload: { summary, source: 'a', severity } }));
  expect((await alerts(encodeURIComponent(summary)))[0]).toMatchObject({ severity: expected });
});

test('acknowledge and resolve without an open alert are accepted and recorded', async () => {
  for (const event_action of ['acknowledge', 'resolve'])
    expect((await enqueue({ routing_key: source.key, event_action, dedup_key: 'none' })).status).toBe(202);
  const path = `/projects/${project}/integrations/${source.id}/deliveries?limit=2`;
  const { body } = await service.api(ann, 'GET', path);
  expect(body.map(({ outcomes }: { outcomes: object }) => outcomes)).toEqual([
    { unmatched: 1 },
    { unmatched: 1 },
  ]);
});

test('a trigger without a dedup_key gets one, which resolves it and which a replay keeps', async () => {
  const payload = { summary: 'Keyless', source: 'node-7', severity: 'error' };
  const keys = [];
  for (const dedup_key of [undefined, '', null]) {
    const { status, body } = await enqueue(trigger({ dedup_key, payload }));
    expect(status).toBe(202);
    expect(body.dedup_key).toMatch(/^[0-9a-f]{32}$/);
    keys.push(body.dedup_key);
  }
  expect(await alerts('Keyless')).toHaveLength(3);
  await enqueue({ routing_key: source.key, event_action: 'resolve', dedup_key: keys[1] });
  const found = await alerts('Keyless');
  expect(found.filter(({ status }) => status === 'resolved')).toHaveLength(1);
  const [replayed] = await service.pipeline
    .alerts()
    .then((pipeline) => pipeline.replay({ projects: [project], dryRun: true }));
  expect(replayed).toMatchObject({ refused: null, differing: 0 });
});

test('neither the stored delivery nor the alert shows the key', async () => {
  const payload = { summary: 'Secret', source: 'node-7', severity: 'error' };
  await enqueue(trigger({ dedup_key: 'secret', payload }));
  const [alert] = await alerts('Secret');
  const { body } = await service.api(ann, 'GET', `/projects/${project}/alerts/${alert?.iid}`);
  expect(body.payload).toEqual({ event_action: 'trigger', dedup_key: 'secret', payload });
  const stored = await service.pipeline.runtime.store.rows(
    sql`SELECT id FROM ${alertEvents} WHERE position(body, ${source.key}) > 0 OR position(head, ${source.key}) > 0`,
  );
  expect(stored).toEqual([]);
});

describe('an invalid event', () => {
  const without = (name: string) => {
    const payload = { summary: 'a', source: 'b', severity: 'error', [name]: undefined };
    return trigger({ payload });
  };
  test.each<[string, () => unknown, RegExp]>([
    ['no JSON', () => '{', /JSON/],
    ['no body', () => '', /JSON/],
    ['a list', () => [trigger()], /JSON object/],
    ['too deep', () => `${'['.repeat(300_000)}${']'.repeat(300_000)}`, /^The event is larger/],
    ['deep', () => `${'['.repeat(9000)}${']'.repeat(9000)}`, /levels/],
    ['no summary', () => without('summary'), /^payload\.summary: required$/],
    ['no source', () => without('source'), /^payload\.source: required$/],
    ['no severity', () => without('severity'), /^payload\.severity: required$/],
    ['no payload', () => trigger({ payload: 'a' }), /summary.*source.*severity/],
    ['no action', () => trigger({ event_action: 'Trigger' }), /event_action/],
    ['an inherited action', () => trigger({ event_action: 'constructor' }), /event_action/],
    ['a long key', () => trigger({ dedup_key: 'x'.repeat(256) }), /255/],
    ['resolve without a key', () => trigger({ event_action: 'resolve', dedup_key: ' ' }), /dedup_key/],
    ['an unknown key', () => trigger({ routing_key: 'x'.repeat(32) }), /^routing_key/],
    ['no key', () => trigger({ routing_key: undefined }), /^routing_key/],
    ['a key that is no text', () => trigger({ routing_key: [source.key] }), /^routing_key/],
  ])('with %s says what is wrong', async (_what, event, reason) => {
    const { status, body } = await enqueue(event());
    expect(status).toBe(String(reason).includes('larger') ? 413 : 400);
    expect(body).toEqual({
      status: 'invalid event',
      message: 'Event object is invalid',
      errors: [expect.stringMatching(reason)],
    });
  });

  test('is also one of another type of integration, or of an inactive one', async () => {
    const other = await service.source(ann, project, { name: 'HTTP' });
    const own = await service.source(ann, project, { type: 'PAGERDUTY', name: 'Off' });
    const path = `/projects/${project}/integrations/${own.id}`;
    await service.api(ann, 'PUT', path, { active: false });
    for (const { key } of [other, own]) {
      const { status, body } = await enqueue(trigger({ routing_key: key }));
      expect({ status, errors: body.errors }).toEqual({
        status: 400,
        errors: [expect.stringMatching(/^routing_key/)],
      });
    }
  });

  test('is counted for the integration whose key it has', async () => {
    const own = await service.source(ann, project, { type: 'PAGERDUTY', name: 'Counted' });
    const event = { routing_key: own.key, event_action: 'trigger' };
    for (let i = 0; i < 3; i++) await enqueue(event);
    const shown = (await browser.get(`/projects/${project}/integrations/${own.id}`)).body;
    expect(plain(shown)).toMatch(/payload\.summary[^<]*required<[\s\S]*?>3</);
  });
});

test('a test alert is an event that needs no key, and leaves none behind', async () => {
  const path = `/projects/${project}/integrations/${source.id}`;
  const [, example = ''] =
    /<textarea id="payload"[^>]*>([^<]*)</.exec((await browser.get(`${path}/test`)).body) ?? [];
  const payload = JSON.parse(plain(example));
  for (const routing_key of [undefined, source.key]) {
    const sent = JSON.stringify({ ...payload, routing_key, dedup_key: undefined });
    const { status, body } = await service.api(ann, 'POST', `${path}/test_alert`, { payload: sent });
    expect({ status, title: body[0].title }).toEqual({ status: 200, title: payload.payload.summary });
    const alert = await service.api(ann, 'GET', `/projects/${project}/alerts/${body[0].iid}`);
    expect(alert.body.payload).toEqual({ ...payload, dedup_key: expect.stringMatching(/^[0-9a-f]{32}$/) });
  }
});

test.each(['PagerDuty Events API v2', 'Amazon SNS'])(
  'the type %s is added on the page, which shows what to paste',
  async (label) => {
    const path = `/projects/${project}/integrations`;
    const [, type = ''] =
      new RegExp(`<option value="(\\w+)"[^>]*>${label}<`).exec((await browser.get(path)).body) ?? [];
    const added = await browser.submit(path, path, { type, name: `By page: ${label}` });
    const shown = plain((await browser.get(String(added.headers.location))).body);
    expect(shown).toContain(type === 'sns' ? 'aws sns subscribe' : 'pagerduty_configs');
  },
);

test.each(['application/x-www-form-urlencoded', 'text/plain', 'application/json'])(
  'an event is accepted as %s',
  async (type) => {
    expect((await enqueue(trigger(), { 'content-type': type })).status).toBe(202);
  },
);
