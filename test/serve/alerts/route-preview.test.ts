import { afterAll, beforeAll, expect, test } from 'vitest';
import { changeUser } from '../../../serve/accounts/users.ts';
import { type Person, Service } from './service.ts';

/** A Wednesday, 11:00 in Berlin. */
const NOW = Date.parse('2027-03-24T10:00:00Z');

let service: Service;
let ann: Person;
let bob: Person;
let rita: Person;
let project: number;
let night: string;
let day: string;
let schedule: string;
let channel: string;
beforeAll(async () => {
  const ahead = NOW - Date.now();
  service = await Service.open({}, { now: () => Date.now() + ahead });
  [ann, bob, rita] = [await service.person('ann'), await service.person('bob'), await service.person('rita')];
  await changeUser(service.accounts, ann.user.id, () => ({ email_confirmed_ms: NOW }));
  project = await service.project(ann);
  await post('members', { username: 'bob', access_level: 30 });
  await post('members', { username: 'rita', access_level: 20 });
  schedule = (await post('oncall_schedules', { name: 'Primary', time_zone: 'Europe/Berlin' })).id;
  await post(`oncall_schedules/${schedule}/rotations`, {
    ...{
      name: 'Office',
      starts_at: '2027-03-22T09:00',
      length: 1,
      unit: 'weeks',
      turns: [[Number(ann.user.id)]],
    },
    active_times: [{ weekdays: ['monday:friday'], times: [{ start_time: '09:00', end_time: '17:00' }] }],
  });
  const url = 'https://hook.example/page';
  channel = (await post('notification_channels', { name: 'Ops', type: 'webhook', settings: { url } })).id;
  const step = (type: string, id: string, more: object = {}) => ({
    ...{ targets: [{ type, id }], delay_minutes: 5, ...more },
  });
  const policy = async (name: string, steps: object[]) =>
    (await post('escalation_policies', { name, steps })).id;
  day = await policy('Day', [step('schedule', schedule, { important: true }), step('channel', channel)]);
  night = await policy('Night', [step('user', bob.user.id)]);
});
afterAll(() => service?.close());

async function post(path: string, body: object) {
  const reply = await service.api(ann, 'POST', `/projects/${project}/${path}`, body);
  if (reply.status !== 201) throw new Error(JSON.stringify(reply.body));
  return reply.body;
}
const put = (list: object[]) => service.api(ann, 'PUT', `/projects/${project}/alert_routes`, list);
const preview = (body: object, person = ann) =>
  service.api(person, 'POST', `/projects/${project}/alert_routes/preview`, body);

test('the preview says which routes take an alert, who is told now, and where nobody is', async () => {
  await put([
    { name: 'Off', matchers: ['team=storage'], policy_id: night, active: false },
    { name: 'Storage', matchers: ['team=storage', 'severity!=low'], policy_id: day, continues: true },
    { name: 'Rest', matchers: ['team=~".+"'], policy_id: night, delay_seconds: 30 },
    { name: 'default', policy_id: day },
  ]);
  const { status, body } = await preview({ labels: { team: 'storage', severity: 'high' } }, rita);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    is_applied: true,
    labels: { team: 'storage', severity: 'high' },
    routes: [
      { name: 'Off', active: false, is_reached: true, takes: false },
      {
        ...{ name: 'Storage', is_reached: true, takes: true },
        matchers: [
          { matcher: 'team="storage"', matches: true },
          { matcher: 'severity!="low"', matches: true },
        ],
      },
      { name: 'Rest', is_reached: true, takes: true, matchers: [{ matches: true }] },
      { name: 'default', is_reached: false, takes: false, matchers: [] },
    ],
    ...{ silence_ids: [], maintenance_window_ids: [] },
    pages: [
      { route: 'Storage', policy_id: day, policy_name: 'Day', delay_seconds: 0 },
      { route: 'Rest', policy_id: night, policy_name: 'Night', delay_seconds: 30 },
    ],
  });
  const [first, second] = body.pages[0].steps;
  const id = Number(ann.user.id);
  const email = { user_id: id, destination_id: `account-${id}`, type: 'email', after_minutes: 0 };
  expect(first).toMatchObject({
    ...{ delay_minutes: 5, important: true, reaches_nobody: false },
    targets: [{ type: 'schedule', id: schedule, recipients: [email] }],
  });
  // Each night and weekend of 60 days.
  expect(first.targets[0].gaps[0]).toEqual({
    ...{ reason: 'nobody_on_call', user_id: null },
    ...{ from: '2027-03-24T16:00:00.000Z', until: '2027-03-25T08:00:00.000Z' },
  });
  expect(first.targets[0].gaps.length).toBeGreaterThan(40);
  expect(second.targets).toEqual([
    {
      ...{ type: 'channel', id: channel, gaps: [] },
      recipients: [{ user_id: null, destination_id: channel, type: 'webhook', after_minutes: 0 }],
    },
  ]);
  const missing = { reason: 'no_contact', user_id: Number(bob.user.id), from: null, until: null };
  expect(body.pages[1].steps).toEqual([
    {
      ...{ delay_minutes: 5, important: false, reaches_nobody: true },
      targets: [{ type: 'user', id: bob.user.id, recipients: [], gaps: [missing] }],
    },
  ]);
});

test('a target that is gone is a gap with its reason', async () => {
  await put([{ name: 'default', policy_id: night }]);
  await service.api(ann, 'PUT', `/projects/${project}/members/${bob.user.id}`, { access_level: 20 });
  const gapsOf = async () => (await preview({ labels: {} })).body.pages[0].steps[0].targets[0].gaps;
  expect(await gapsOf()).toMatchObject([{ reason: 'cannot_be_paged', user_id: Number(bob.user.id) }]);
  await service.api(ann, 'PUT', `/projects/${project}/members/${bob.user.id}`, { access_level: 30 });
  const steps = [{ targets: [{ type: 'channel', id: channel }], delay_minutes: 5 }];
  await service.api(ann, 'PUT', `/projects/${project}/escalation_policies/${night}`, { steps });
  expect(await gapsOf()).toEqual([]);
  await service.api(ann, 'PUT', `/projects/${project}/notification_channels/${channel}`, { active: false });
  expect(await gapsOf()).toMatchObject([{ reason: 'no_channel', user_id: null }]);
});

test('an alert is previewed with the labels that matchers see, its silences and its windows', async () => {
  const source = await service.source(ann, project, { name: 'Prometheus of the farm' });
  const alert = { title: 'Disk full', severity: 'low', team: 'storage', hosts: ['node-7'] };
  const [{ iid }] = (await service.send(source, alert)).body;
  await put([
    { name: 'Farm', matchers: ['cm_integration=~"Prometheus.*"', 'host="node-7"'], policy_id: day },
    { name: 'default', policy_id: null },
  ]);
  const silence = await post('silences', { matchers: ['team="storage"'], ends_at: '2027-03-25T00:00:00Z' });
  const window = await post('maintenance_windows', { name: 'Disks', matchers: ['alertname=~"Disk.*"'] });
  await post('maintenance_windows', {
    name: 'Later',
    matchers: ['team=storage'],
    from: '2028-01-01T00:00:00Z',
  });
  const { body } = await preview({ alert_iid: iid }, bob);
  expect(body.labels).toMatchObject({ team: 'storage', alertname: 'Disk full', cm_severity: 'low' });
  expect(body).toMatchObject({
    silence_ids: [silence.id],
    maintenance_window_ids: [window.id],
    pages: [{ route: 'Farm' }],
  });
  expect((await preview({ alert_iid: iid }, rita)).status).toBe(403);
  expect((await preview({ alert_iid: 999 })).status).toBe(404);
});

test('routes that are not applied are shown as such', async () => {
  const other = await service.project(ann);
  const link = { type: 'ONCALL', active: true, name: 'Tool', api_url: 'https://oncall.example' };
  await service.api(ann, 'POST', `/projects/${other}/integrations`, link);
  const path = `/projects/${other}/alert_routes/preview`;
  const { body } = await service.api(ann, 'POST', path, { labels: {} });
  expect(body).toMatchObject({ is_applied: false, routes: [{ name: 'default', takes: true }], pages: [] });
});

test.each([
  ['nothing', {}],
  ['both', { labels: {}, alert_iid: 1 }],
  ['65 labels', { labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`label ${i}`, 'x'])) }],
  ['a number as label', { labels: { a: 1 } }],
])('%s is refused', async (_name, body) => {
  expect((await preview(body)).status).toBe(400);
});
