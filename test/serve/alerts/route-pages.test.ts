import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Browser, plain } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let ann: Person;
let bob: Person;
let rita: Person;
let browser: Browser;
let reader: Browser;
let project: number;
let night: string;
beforeAll(async () => {
  service = await Service.open();
  ann = await service.person('ann', PASSWORD);
  bob = await service.person('bob');
  rita = await service.person('rita', PASSWORD);
  browser = await signedIn(service, ann.user);
  reader = await signedIn(service, rita.user);
});
afterAll(() => service?.close());
beforeEach(async () => {
  project = await service.project(ann);
  await service.api(ann, 'POST', `/projects/${project}/members`, { username: 'bob', access_level: 30 });
  await service.api(ann, 'POST', `/projects/${project}/members`, { username: 'rita', access_level: 20 });
  const steps = [{ targets: [{ type: 'user', id: bob.user.id }], delay_minutes: 5 }];
  const path = `/projects/${project}/escalation_policies`;
  night = (await service.api(ann, 'POST', path, { name: 'Night', steps })).body.id;
});

const list = () => `/projects/${project}/routes`;
const routes = async () => (await service.api(ann, 'GET', `/projects/${project}/alert_routes`)).body;
const storage = (more: object = {}) => ({
  ...{ name: 'Storage', matchers: 'team="storage"\n\nseverity!="low",', policy: night },
  ...{ delay: '30', position: '1', active: 'on', ...more },
});
const add = (fields: object) => browser.submitAndFollow(`${list()}/new`, `${list()}/new`, fields as never);
const text = (body: string) => plain(body.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ');

test('a route is added, moved, changed and deleted without a script', async () => {
  expect((await browser.get(list())).body).toContain('only the default route matches');
  const { body } = await add(storage());
  expect(text(body)).toContain(
    'Storage team="storage" severity!="low" Night after 30 s Edit default every other alert nobody is paged',
  );
  await add(storage({ name: 'Network', matchers: 'team=network', position: '9', continues: 'on' }));
  expect(await routes()).toMatchObject([
    { name: 'Storage', matchers: ['team="storage"', 'severity!="low"'], delay_seconds: 30, policy_id: night },
    { name: 'Network', matchers: ['team="network"'], continues: true },
    { name: 'default', policy_id: null },
  ]);
  const { body: form } = await browser.get(`${list()}/2`);
  expect(plain(form)).toContain('>team="network"</textarea>');
  expect(form).toMatch(/name="continues" value="on" checked/);
  const { active: _, ...moved } = storage({ name: 'Net', matchers: 'team=network', position: '1' });
  await browser.submitAndFollow(`${list()}/2`, `${list()}/2`, moved);
  expect((await routes()).map(({ name, active }: never) => [name, active])).toEqual([
    ['Net', false],
    ['Storage', true],
    ['default', true],
  ]);
  await browser.submitAndFollow(`${list()}/3`, `${list()}/3`, { policy: night, delay: '0' });
  const confirmed = { confirmed: 'yes' };
  const deleted = await browser.submitAndFollow(`${list()}/1/delete`, `${list()}/1/delete`, confirmed);
  expect(deleted.body).toContain('Changes saved.');
  expect(await routes()).toMatchObject([{ name: 'Storage' }, { name: 'default', policy_id: night }]);
});

test('a refused route comes back with its input, and the fault at its field', async () => {
  await add(storage({ name: 'Other' }));
  const refused = async (fields: object) => {
    const path = `${list()}/new`;
    const { statusCode, body } = await browser.submit(
      path,
      path,
      storage({ position: '2', ...fields }) as never,
    );
    const [field = ''] = /<(?:input|textarea)[^>]*aria-invalid="true"[^>]*>/.exec(body) ?? [];
    const fault = plain(/<p class="fault"[^>]*>([^<]*)</.exec(body)?.[1] ?? '');
    return [statusCode, / name="([^"]*)"/.exec(field)?.[1], fault];
  };
  expect(await refused({ name: ' ' })).toEqual([422, 'name', expect.stringContaining('Enter a name')]);
  expect(await refused({ name: 'Other' })).toEqual([
    422,
    'name',
    expect.stringContaining('An earlier route'),
  ]);
  expect(await refused({ matchers: 'team' })).toEqual([
    422,
    'matchers',
    expect.stringContaining('character'),
  ]);
  expect(await refused({ matchers: '' })).toEqual([422, 'matchers', expect.stringContaining('Storage')]);
  expect(await refused({ delay: '' })).toEqual([422, 'delay', expect.stringContaining('3600')]);
  expect(await refused({ position: '0' })).toEqual([422, 'position', expect.stringContaining('1 to 100')]);
  expect(await refused({ policy: 'none' })).toEqual([
    422,
    undefined,
    expect.stringContaining('no escalation policy'),
  ]);
  expect(await routes()).toHaveLength(2);
});

test('a form that somebody else was faster than changes nothing', async () => {
  const { body } = await browser.get(`${list()}/new`);
  const hidden = [...body.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
  await add(storage());
  const late = { ...Object.fromEntries(hidden.map(([, name, value]) => [name, value])), ...storage() };
  const reply = await browser.post(`${list()}/new`, { ...late, name: 'Late' });
  expect((await browser.get(String(reply.headers.location))).body).toContain('The routes were changed');
  expect(await routes()).toHaveLength(2);
  expect((await browser.get(`${list()}/3`)).statusCode).toBe(404);
  expect((await browser.get(`${list()}/2/delete`)).statusCode).toBe(404);
});

test('Reporters see the routes and the preview, and change nothing', async () => {
  await add(storage());
  const { body } = await reader.get(list());
  expect(text(body)).toContain('Storage team="storage"');
  expect(body).not.toContain('Edit route');
  expect((await reader.get(`${list()}/1`)).statusCode).toBe(403);
  const preview = await reader.get(`${list()}/preview?labels=team%3Dstorage%0Aseverity%3Dhigh&alert=`);
  expect(text(preview.body)).toContain('Storage takes it team="storage" matches severity!="low" matches');
  expect(text(preview.body)).toContain('default not reached');
  expect(text(preview.body)).toContain('none of its steps reaches anybody now');
  expect(text(preview.body)).toContain('@bob has no verified contact');
  expect(preview.body).toContain('team=storage\nseverity=high</textarea>');
  expect((await reader.get(`${list()}/preview?alert=1`)).statusCode).toBe(403);
});

test('the preview of an alert names its silences and windows', async () => {
  const source = await service.source(ann, project);
  const [{ iid }] = (await service.send(source, { title: 'Disk full', team: 'storage' })).body;
  await add(storage());
  const at = `/projects/${project}`;
  const window = { name: 'Disks', matchers: ['team="storage"'] };
  await service.api(ann, 'POST', `${at}/maintenance_windows`, window);
  const ends_at = new Date(Date.now() + 3_600_000).toISOString();
  await service.api(ann, 'POST', `${at}/silences`, { matchers: ['alertname="Disk full"'], ends_at });
  const { body } = await browser.get(`${list()}/preview?labels=&alert=${iid}`);
  expect(text(body)).toContain('the alert is suppressed until');
  expect(text(body)).toMatch(/Silence of ann until .*: alertname="Disk full" Maintenance window Disks/);
  expect(text(body)).toContain('cm_title="Disk full"');
});

test.each([
  ['labels=team', 'labels'],
  ['labels=team%3D~"a"', 'labels'],
  ['alert=99', 'alert'],
])('the preview of %s says what is wrong', async (query, field) => {
  const { statusCode, body } = await browser.get(`${list()}/preview?${query}`);
  expect(statusCode).toBe(422);
  expect(/<(?:input|textarea)[^>]*aria-invalid="true"[^>]*>/.exec(body)?.[0]).toContain(`name="${field}"`);
});
