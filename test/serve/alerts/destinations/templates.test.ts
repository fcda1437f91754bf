import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, plain } from '../../accounts/browser.ts';
import { PASSWORD, signedIn } from '../../accounts/world.ts';
import { Recorder } from '../recorder.ts';
import { type Person, Service } from '../service.ts';

let service: Service;
let recorder: Recorder;
let ann: Person;
let browser: Browser;
let project: number;
beforeAll(async () => {
  recorder = await Recorder.open();
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true', PUBLIC_URL: 'https://metrics.example.com' });
  ann = await service.person('ann', PASSWORD);
  browser = await signedIn(service, ann.user);
  project = await service.project(ann);
});
afterAll(async () => {
  await service?.close();
  recorder?.close();
});

const path = (rest = '') => `/projects/${project}/notification_channels${rest}`;
let made = 0;
const create = (type: string, template: object | null) =>
  service.api(ann, 'POST', path(), {
    ...{ name: `channel ${++made}`, type, template },
    settings: { url: `${recorder.url}/hook` },
  });

test('a test message of a channel has its own texts', async () => {
  const { status, body } = await create('slack', {
    title: 'Now: {{alert.title}}',
    text: '{{project.name}}{{x}}',
  });
  expect(status).toBe(201);
  expect(body).toMatchObject({
    template: { title: 'Now: {{alert.title}}', text: '{{project.name}}{{x}}', body: '' },
    template_warnings: ['x'],
  });
  await service.api(ann, 'POST', path(`/${body.id}/test`));
  expect(recorder.last.body).toMatchObject({
    text: 'Now: Test of this destination',
    attachments: [{ text: 'Watch', fields: [] }],
  });
});

test('parts of a template change alone, and null removes it', async () => {
  const { body } = await create('webhook', { body: '{"now": "{{alert.title}}"}' });
  const change = async (fields: object) =>
    (await service.api(ann, 'PUT', path(`/${body.id}`), fields)).body.template;
  expect(await change({ name: 'Renamed' })).toEqual(body.template);
  await service.api(ann, 'POST', path(`/${body.id}/test`));
  expect(recorder.last.body).toEqual({ now: 'Test of this destination' });
  expect(await change({ template: { body: '' } })).toBe(null);
  expect(await change({ template: { body: '{}' } })).toMatchObject({ body: '{}' });
  expect(await change({ template: null })).toBe(null);
  await service.api(ann, 'POST', path(`/${body.id}/test`));
  expect(recorder.last.body).toMatchObject({ object_kind: 'page', event: 'test' });
});

test('a refused template changes nothing and says where its fault is', async () => {
  const { body } = await create('slack', { title: 'Kept' });
  const refused = await service.api(ann, 'PUT', path(`/${body.id}`), {
    name: 'Not saved',
    template: { title: '{{#alerts}}' },
  });
  expect([refused.status, refused.body]).toEqual([
    400,
    expect.objectContaining({ message: '400 Unclosed section "alerts" in line 1, character 12.' }),
  ]);
  expect((await service.api(ann, 'GET', path(`/${body.id}`))).body).toEqual(body);
});

test('a webhook contact has its own body, other contacts have none', async () => {
  const contacts = '/user/contact_methods';
  const given = { type: 'webhook', address: `${recorder.url}/push` };
  const { status, body } = await service.api(ann, 'POST', contacts, given);
  expect([status, body.template]).toEqual([201, null]);
  const { code } = recorder.last.body;
  await service.api(ann, 'POST', `${contacts}/${body.id}/verify`, { code });
  const template = { body: '{"message": "{{alert.title}}", "user": "{{user.name}}"}' };
  const changed = await service.api(ann, 'PUT', `${contacts}/${body.id}`, { template });
  expect(changed.body.template.body).toBe(template.body);
  await service.api(ann, 'POST', `${contacts}/${body.id}/test`);
  expect(recorder.last.body).toEqual({ message: 'Test of this destination', user: 'ann' });
  const refused = await service.api(ann, 'PUT', `${contacts}/${body.id}`, { template: { text: 'x' } });
  expect(refused.status).toBe(400);
});

test('the page of a channel shows what a template makes of a sample', async () => {
  const { body } = await create('teams', null);
  const page = `/projects/${project}/channels/${body.id}`;
  const fields = {
    name: 'Cards',
    active: 'on',
    'template-title': '{{alert.severity}}: {{alert.title}}{{y}}',
  };
  const saved = await browser.submitAndFollow(page, page, fields);
  const shown = plain(saved.body);
  expect(shown).toContain('critical: Disk of db-7 is full');
  expect(shown).toContain('These names do not exist and are left empty: y.');
  const refused = await browser.submit(page, page, { ...fields, 'template-title': '{{{alert.title}}}' });
  expect(refused.statusCode).toBe(422);
  expect(plain(refused.body)).toContain('Tags must have two braces and no');
});
