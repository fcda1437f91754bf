import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { Recorder } from './recorder.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let receiver: Recorder;
let ann: Person;
let browser: Browser;
let project: number;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
  receiver = await Recorder.open();
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
});
afterAll(async () => {
  receiver?.close();
  await service?.close();
});
beforeEach(async () => {
  project = await service.project(ann);
});

const list = () => `/projects/${project}/channels`;
const add = (type: string, fields: Record<string, string>) =>
  browser.submit(`${list()}/new?type=${type}`, `${list()}/new`, { name: 'Team chat', ...fields });
const channels = async () =>
  (await service.api(ann, 'GET', `/projects/${project}/notification_channels`)).body;

test('a channel is added by its type, tested, edited and deleted', async () => {
  expect((await browser.get(list())).body).toContain('No channels yet.');
  const secret = `${receiver.url}/secret-hook`;
  const added = await add('slack', { 'setting-url': secret });
  const one = String(added.headers.location);
  const page = (await browser.get(one)).body;
  expect(page).toContain('Channel added.');
  expect(page).not.toContain('secret-hook');
  const tested = await browser.submit(one, `${one}/test`, {});
  expect(tested.body).toContain('The test message was accepted with status 200.');
  expect(receiver.last.path).toBe('/secret-hook');
  // The secret stays where its field is left empty.
  const renamed = await browser.submitAndFollow(one, one, { name: 'Night chat', 'setting-url': '' });
  expect(renamed.body).toContain('Changes saved.');
  expect(await channels()).toMatchObject([{ name: 'Night chat', active: false }]);
  receiver.answer = { status: 500 };
  const failed = await browser.submit(one, `${one}/test`, {});
  expect(failed.body).toContain('The test message was not accepted: answered with 500.');
  receiver.answer = { status: 200 };
  const { body } = await browser.get(list());
  expect(body).toContain('Night chat');
  expect(body).toContain('disabled');
  const gone = await browser.submitAndFollow(`${one}/delete`, `${one}/delete`, { confirmed: 'yes' });
  expect(gone.body).toContain('Channel deleted.');
  expect(await channels()).toEqual([]);
});

test('a refused channel comes back with its input, and the cursor in the field at fault', async () => {
  const refused = async (type: string, fields: Record<string, string>) => {
    const { statusCode, body } = await add(type, fields);
    const [field = ''] = /<input[^>]*aria-invalid="true"[^>]*>/.exec(body) ?? [];
    expect(statusCode).toBe(422);
    return [/ name="([^"]*)"/.exec(field)?.[1], plain(/ value="([^"]*)"/.exec(field)?.[1] ?? '')];
  };
  expect(await refused('webhook', { 'setting-url': 'ftp://x' })).toEqual(['setting-url', 'ftp://x']);
  expect(await refused('pagerduty', { 'setting-routing_key': 'short' })).toEqual([
    'setting-routing_key',
    'short',
  ]);
  expect(await refused('slack', { 'setting-url': 'https://chat.example/x', name: ' ' })).toEqual([
    'name',
    ' ',
  ]);
  expect(await channels()).toEqual([]);
});

test('what this server is not set up for says why', async () => {
  expect((await browser.get(`${list()}/new?type=email`)).body).toContain('SMTP_URL');
  expect((await browser.get(`${list()}/new?type=telegram`)).body).toContain('TELEGRAM_BOT_TOKEN');
  expect((await add('email', { 'setting-address': 'team@example.org' })).statusCode).toBe(422);
});

test('a channel that a policy uses is kept, and the policy names it', async () => {
  const one = String((await add('teams', { 'setting-url': receiver.url })).headers.location);
  const id = one.split('/').at(-1) ?? '';
  const steps = [{ targets: [{ type: 'channel', id }], delay_minutes: 5 }];
  await service.api(ann, 'POST', `/projects/${project}/escalation_policies`, { name: 'Night', steps });
  const kept = await browser.submit(`${one}/delete`, `${one}/delete`, { confirmed: 'yes' });
  expect([kept.statusCode, kept.body.includes('Night')]).toEqual([422, true]);
  expect((await browser.get(`/projects/${project}/escalation`)).body).toContain('<b>Team chat</b>');
});

test('Reporters see channels, but not their settings', async () => {
  const bob = await service.person('bob', PASSWORD);
  const member = { username: 'bob', access_level: 20 };
  await service.api(ann, 'POST', `/projects/${project}/members`, member);
  const one = String((await add('slack', { 'setting-url': receiver.url })).headers.location);
  const other = await signedIn(service, bob.user);
  const { body } = await other.get(list());
  expect(body).toContain('Team chat');
  expect(body).not.toContain(one);
  expect((await other.get(one)).statusCode).toBe(403);
});
