import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let ann: Person;
let browser: Browser;
let project: number;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
});

const list = () => `/projects/${project}/silences`;
const fields = (more: Record<string, string> = {}) => ({
  matchers: 'team="a"',
  starts: '',
  ends: '2999-01-01T10:00',
  comment: 'Moving disks',
  zone: 'Europe/Berlin',
  do: 'create',
  ...more,
});
const submit = (more: Record<string, string>) =>
  browser.submit(`${list()}/new`, `${list()}/new`, fields(more));
const stored = async () => (await service.api(ann, 'GET', list())).body;
const fieldValue = (body: string, name: string) =>
  plain(
    new RegExp(`name="${name}"[^>]* value="([^"]*)"|name="${name}"[^>]*>([^<]*)<`)
      .exec(body)
      ?.slice(1)
      .join('') ?? '',
  );

test('a silence is created by the clock of its reader, listed and ended', async () => {
  expect((await browser.get(list())).body).toContain('No silences.');
  const created = await browser.submitAndFollow(`${list()}/new`, `${list()}/new`, fields());
  expect(created.body).toContain('Silence created.');
  expect(plain(created.body)).toContain('team="a"');
  expect(created.body).toContain('Moving disks');
  const [{ id, ...silence }] = await stored();
  expect(silence).toMatchObject({ state: 'active', ends_at: '2999-01-01T09:00:00.000Z', created_by: 'ann' });
  const ended = await browser.submitAndFollow(list(), `${list()}/${id}/end`, {});
  expect(ended.body).toContain('Silence ended.');
  expect(ended.body).toContain('No silences.');
  expect((await browser.get(`${list()}?state=expired`)).body).toContain('Moving disks');
});

test('an alert proposes a silence of its labels for two hours, and says how many open alerts match', async () => {
  const source = await service.source(ann, project);
  const send = (title: string, more: object) =>
    service.send(source, { title, fingerprint: title + JSON.stringify(more), ...more });
  await send('Disk "full"', { service: 'storage', hosts: ['h1'], severity: 'low', check_id: 7 });
  await send('Disk "full"', { service: 'storage', hosts: ['h1'], severity: 'low', check_id: 8 });
  await send('Fan', { service: 'lab' });
  const alert = (await browser.get(`/projects/${project}/alerts/1`)).body;
  const [, link = ''] = /href="([^"]*)">Silence this alert/.exec(alert) ?? [];
  const form = (await browser.get(plain(link))).body;
  const matchers = fieldValue(form, 'matchers');
  expect(matchers).toContain('alertname="Disk \\"full\\""');
  expect(matchers).toContain('service="storage"');
  expect(form).toMatch(/[12] of 3 open alerts match/);
  const hours = (Date.parse(`${fieldValue(form, 'ends')}Z`) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(1.9);
  expect(hours).toBeLessThan(2.1);
  const counted = await submit({ matchers: 'service=~"storage|lab"', do: 'count' });
  expect(counted.body).toContain('3 of 3 open alerts match.');
  expect(await stored()).toEqual([]);
  await submit({ matchers });
  expect((await browser.get(`/projects/${project}/alerts/1`)).body).toContain('The alert pages nobody until');
  expect((await browser.get(`/projects/${project}/alerts/3`)).body).not.toContain(
    'The alert pages nobody until',
  );
});

test.each([
  ['matchers', 'team', 'At character 5'],
  ['matchers', 'team!="a"', 'also match an alert without labels'],
  ['starts', 'yesterday', 'Enter a date and a time.'],
  ['ends', '2001-01-01T10:00', 'The end must be'],
  ['comment', 'x'.repeat(1001), 'Enter at most 1000 characters.'],
])('a refused form comes back with its input: %s %s', async (name, value, reason) => {
  const { statusCode, body } = await submit({ [name]: value });
  expect(statusCode).toBe(422);
  expect(plain(body)).toContain(reason);
  expect(fieldValue(body, name)).toBe(value);
  expect(await stored()).toEqual([]);
});

test('a Reporter reads them and changes none', async () => {
  const rita = await service.person('rita', PASSWORD);
  await service.api(ann, 'POST', `/projects/${project}/members`, { username: 'rita', access_level: 20 });
  await submit({});
  const reader = await signedIn(service, rita.user);
  const { body } = await reader.get(list());
  expect(body).toContain('Moving disks');
  expect(body).not.toContain('New silence');
  expect(body).not.toContain('>End<');
  expect((await reader.get(`${list()}/new`)).statusCode).toBe(403);
});
