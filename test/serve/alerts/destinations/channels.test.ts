import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { Seal } from '../../../../serve/accounts/secrets.ts';
import { notificationChannels } from '../../../../serve/alerts/model/oncall-tables.ts';
import { Recorder } from '../recorder.ts';
import { type Person, Service } from '../service.ts';
import { destinationsOf } from './destinations.ts';

let service: Service;
let recorder: Recorder;
let owner: Person;
let reporter: Person;
let project: number;
beforeAll(async () => {
  recorder = await Recorder.open();
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PUBLIC_URL: 'https://metrics.example.com' });
  owner = await service.person('owner');
  reporter = await service.person('reporter');
  project = await service.project(owner);
  const member = { username: 'reporter', access_level: 20 };
  await service.api(owner, 'POST', `/projects/${project}/members`, member);
});
afterAll(async () => {
  await service?.close();
  recorder?.close();
});

const path = (rest = '') => `/projects/${project}/notification_channels${rest}`;
const create = (fields: object) => service.api(owner, 'POST', path(), fields);
let made = 0;
const slack = (name = `chat ${++made}`) =>
  create({ name, type: 'slack', settings: { url: `${recorder.url}/hush` } });

describe('a channel', () => {
  test('never shows its secrets again', async () => {
    const { status, body } = await slack('Team chat');
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      name: 'Team chat',
      type: 'slack',
      active: true,
      settings: {},
      secret_settings: ['url'],
      template: null,
      template_warnings: [],
      created_at: expect.any(String),
    });
    const list = await service.api(owner, 'GET', path());
    expect(list.body).toEqual([body]);
    expect((await service.api(owner, 'GET', path(`/${body.id}`))).body).toEqual(body);
    expect(JSON.stringify(list.body)).not.toContain('hush');
    const rows = await service.pipeline.runtime.store.rows(sql`SELECT * FROM ${notificationChannels}`);
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain('hush');
  });

  test('shows no settings to those who may not change them', async () => {
    const { body } = await service.api(reporter, 'GET', path());
    expect(body[0]).toMatchObject({ name: 'Team chat', settings: null, secret_settings: null });
    for (const [method, rest, payload] of [
      ['POST', '', { name: 'x', type: 'slack', settings: { url: 'https://a.example' } }],
      ['PUT', `/${body[0].id}`, { name: 'x' }],
      ['DELETE', `/${body[0].id}`, undefined],
      ['POST', `/${body[0].id}/test`, undefined],
    ] as const) {
      expect((await service.api(reporter, method, path(rest), payload)).status).toBe(403);
    }
  });

  test('keeps settings that are not given, and loses those that are emptied', async () => {
    const settings = { url: 'https://a.example', secret: 'a secret of 20 characters' };
    const wrong = await create({ name: 'own', type: 'webhook', settings });
    expect(wrong.body.errors).toHaveProperty('secret');
    const { body } = await create({
      name: 'own',
      type: 'webhook',
      settings: { ...settings, secret: 's'.repeat(20) },
    });
    expect(body).toMatchObject({ settings: { url: 'https://a.example' }, secret_settings: ['secret'] });
    const put = (changes: object) => service.api(owner, 'PUT', path(`/${body.id}`), changes);
    expect((await put({ settings: { url: 'https://b.example' }, active: false })).body).toMatchObject({
      active: false,
      settings: { url: 'https://b.example' },
      secret_settings: ['secret'],
    });
    expect((await put({ settings: { secret: '' } })).body).toMatchObject({ secret_settings: [] });
    expect((await put({ settings: { url: '' } })).status).toBe(400);
    expect((await put({ name: 'renamed' })).body).toMatchObject({
      name: 'renamed',
      active: false,
      settings: { url: 'https://b.example' },
    });
  });

  test('is found to be sent to only while it is active', async () => {
    const { body } = await slack();
    const { channels } = destinationsOf(service);
    expect(await channels.find(String(project), body.id)).toEqual({
      id: body.id,
      type: 'slack',
      isChannel: true,
      settings: { url: `${recorder.url}/hush` },
    });
    expect(await channels.find('999', body.id)).toBeNull();
    await service.api(owner, 'PUT', path(`/${body.id}`), { active: false });
    expect(await channels.find(String(project), body.id)).toBeNull();
  });

  test('is not deleted while a policy uses it', async () => {
    const { body } = await slack();
    const targets = [{ type: 'channel', id: body.id }];
    const steps = [{ targets, delay_minutes: 5, important: false }];
    const policies = `/projects/${project}/escalation_policies`;
    const policy = await service.api(owner, 'POST', policies, { name: 'Night', steps });
    expect(policy.status).toBe(201);
    const refused = await service.api(owner, 'DELETE', path(`/${body.id}`));
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain(
      'Escalation policies use this channel: Night. Remove it from them first.',
    );
    expect((await service.api(owner, 'GET', path(`/${body.id}`))).status).toBe(200);
    await service.api(owner, 'DELETE', `${policies}/${policy.body.id}`);
    expect((await service.api(owner, 'DELETE', path(`/${body.id}`))).status).toBe(204);
    expect((await service.api(owner, 'GET', path(`/${body.id}`))).status).toBe(404);
    expect((await service.api(owner, 'DELETE', path(`/${body.id}`))).status).toBe(404);
    expect((await service.api(owner, 'POST', policies, { name: 'Late', steps })).status).toBe(400);
  });

  test('that another server key encrypted is entered again', async () => {
    const { body } = await slack();
    const { channels } = destinationsOf(service, new Seal(randomBytes(32)));
    expect(await channels.find(String(project), body.id)).toBeNull();
    const channel = await channels.get(String(project), body.id);
    expect(channels.settingsOf(channel)).toEqual({ shown: {}, secrets: [] });
    await expect(channels.sendTest({ id: String(project), name: 'Watch' }, body.id)).rejects.toThrow(
      'Enter its settings again.',
    );
  });
});

describe('a test message', () => {
  test('is marked, and its answer is shown', async () => {
    const { body } = await slack();
    const before = recorder.requests.length;
    const reply = await service.api(owner, 'POST', path(`/${body.id}/test`));
    expect(reply.body).toEqual({ status: 200, fault: null });
    expect(recorder.requests).toHaveLength(before + 1);
    expect(recorder.last.body.text).toBe('[test] Test of this destination');
    recorder.answer = { status: 410 };
    const refused = await service.api(owner, 'POST', path(`/${body.id}/test`));
    expect(refused.body).toEqual({ status: 410, fault: 'answered with 410' });
    recorder.answer = { status: 200 };
  });

  test('of PagerDuty is an event of its own', async () => {
    const settings = { routing_key: 'R'.repeat(32), url: `${recorder.url}/v2/enqueue` };
    const { body } = await create({ name: 'pd', type: 'pagerduty', settings });
    expect(body).toMatchObject({ settings: { url: settings.url }, secret_settings: ['routing_key'] });
    await service.api(owner, 'POST', path(`/${body.id}/test`));
    expect(recorder.last.body).toMatchObject({
      routing_key: settings.routing_key,
      dedup_key: `chain-metrics/${project}/test`,
      payload: { summary: '[test] Test of this destination', severity: 'info' },
    });
  });
});

test('a project sends 30 tests in an hour', async () => {
  const busy = await service.project(owner, { name: 'Busy' });
  const channels = `/projects/${busy}/notification_channels`;
  const settings = { url: recorder.url };
  const { body } = await service.api(owner, 'POST', channels, { name: 'c', type: 'slack', settings });
  const statuses = [];
  for (let i = 0; i < 31; i++)
    statuses.push((await service.api(owner, 'POST', `${channels}/${body.id}/test`)).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(30);
  expect(statuses.at(-1)).toBe(429);
});

describe('refused is', () => {
  const key = 'R'.repeat(32);
  test.each([
    [
      'a channel without a name',
      { name: ' ', type: 'slack', settings: { url: 'https://a.example' } },
      'name',
    ],
    ['one without its URL', { name: 'x', type: 'teams', settings: {} }, 'url'],
    [
      'a URL with credentials',
      { name: 'x', type: 'slack', settings: { url: 'https://u:p@a.example' } },
      'url',
    ],
    ['another protocol', { name: 'x', type: 'webhook', settings: { url: 'file:///etc/passwd' } }, 'url'],
    [
      'a key of another length',
      { name: 'x', type: 'pagerduty', settings: { routing_key: 'short' } },
      'routing_key',
    ],
    [
      'a setting of another type',
      { name: 'x', type: 'pagerduty', settings: { routing_key: key, chat_id: '1' } },
      'chat_id',
    ],
    [
      'a name of an object',
      { name: 'x', type: 'slack', settings: { url: 'https://a.example', constructor: 'x' } },
      'constructor',
    ],
    [
      'e-mail without a mail server',
      { name: 'x', type: 'email', settings: { address: 'a@example.org' } },
      'type',
    ],
    ['Telegram without a bot', { name: 'x', type: 'telegram', settings: { chat_id: '1' } }, 'type'],
  ])('%s', async (_name, fields, field) => {
    const before = (await service.api(owner, 'GET', path())).body;
    const { status, body } = await create(fields);
    expect(status).toBe(400);
    expect(body.errors).toHaveProperty(field);
    expect((await service.api(owner, 'GET', path())).body).toEqual(before);
  });

  test('a name that is taken', async () => {
    await slack('Unique');
    expect((await slack('unique')).status).toBe(409);
    const { body } = await slack('Other');
    expect((await service.api(owner, 'PUT', path(`/${body.id}`), { name: 'UNIQUE' })).status).toBe(409);
    expect((await service.api(owner, 'PUT', path(`/${body.id}`), { name: 'other' })).status).toBe(200);
  });

  test('the channel beyond 50', async () => {
    const full = await service.project(owner, { name: 'Full' });
    const added = (name: string) =>
      service.api(owner, 'POST', `/projects/${full}/notification_channels`, {
        ...{ name, type: 'slack', settings: { url: 'https://a.example' } },
      });
    const all = await Promise.all(Array.from({ length: 51 }, (_, i) => added(`c${i}`)));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(50);
    expect(all.filter(({ status }) => status === 409)).toHaveLength(1);
  });
});
