import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Browser } from '../accounts/browser.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { Recorder } from './recorder.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let receiver: Recorder;
let ann: Person;
let browser: Browser;
let people = 0;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
  receiver = await Recorder.open();
});
afterAll(async () => {
  receiver?.close();
  await service?.close();
});
beforeEach(async () => {
  ann = await service.person(`ann-${++people}`, PASSWORD);
  browser = await signedIn(service, ann.user);
});

const PAGE = '/profile/notifications';
const follow = (path: string, fields: Record<string, string | string[]> = {}) =>
  browser.submitAndFollow(PAGE, `${PAGE}/${path}`, fields);
const contacts = async () => (await service.api(ann, 'GET', '/user/contact_methods')).body;

/** Adds a contact and enters its code. */
async function prove(name: string): Promise<string> {
  await follow('contacts', { type: 'webhook', address: `${receiver.url}/${name}` });
  const { id } = (await contacts()).at(-1);
  const { body } = await follow(`contacts/${id}/verify`, { code: receiver.last.body.code });
  expect(body).toContain('is verified.');
  return id;
}

test('who has no verified contact is warned until the code of one is entered', async () => {
  expect((await browser.get(PAGE)).body).toContain('You have no verified contact');
  const address = `${receiver.url}/ntfy-${people}`;
  const added = await follow('contacts', { type: 'webhook', address });
  expect(added.body).toContain(`A code was sent to ${address}.`);
  expect(added.body).toContain('You have no verified contact');
  const [{ id }] = await contacts();
  const wrong = await browser.submit(PAGE, `${PAGE}/contacts/${id}/verify`, { code: 'aaaaaaaa' });
  expect([wrong.statusCode, wrong.body.includes('This code is wrong.')]).toEqual([422, true]);
  const [first] = [receiver.last.body.code];
  expect((await follow(`contacts/${id}/code`)).body).toContain('A new code was sent');
  expect((await follow(`contacts/${id}/verify`, { code: first })).body).toContain('This code is wrong.');
  const right = await follow(`contacts/${id}/verify`, { code: receiver.last.body.code });
  expect(right.body).not.toContain('You have no verified contact');
  const tested = await browser.submit(PAGE, `${PAGE}/contacts/${id}/test`, {});
  expect(tested.body).toContain('The test message was accepted with status 200.');
  expect((await follow(`contacts/${id}/delete`)).body).toContain('Contact deleted.');
  expect(await contacts()).toEqual([]);
});

test('a refused contact comes back with its input and the reason', async () => {
  const { statusCode, body } = await browser.submit(PAGE, `${PAGE}/contacts`, {
    type: 'webhook',
    address: 'no URL',
  });
  expect(statusCode).toBe(422);
  expect(body).toContain('value="no URL"');
  expect(body).toMatch(/<input[^>]*name="address"[^>]*aria-invalid="true"/);
  const mail = await browser.submit(PAGE, `${PAGE}/contacts`, { type: 'email', address: 'ann@example.org' });
  expect([mail.statusCode, mail.body.includes('SMTP_URL')]).toEqual([422, true]);
});

test('rules say which contact is told when, and keep it from being deleted', async () => {
  const [phone, desk] = [await prove(`phone-${people}`), await prove(`desk-${people}`)];
  const rules = {
    'default-contact': [phone, desk, ''],
    'default-after': ['0', '15', '0'],
    'important-contact': ['', phone],
    'important-after': ['3', '0'],
  };
  const saved = await follow('rules', rules);
  expect(saved.body).toContain('Rules saved.');
  const stored = (await service.api(ann, 'GET', '/user/notification_rules')).body;
  expect(stored).toMatchObject({
    default: [
      { contact_id: phone, after_minutes: 0 },
      { contact_id: desk, after_minutes: 15 },
    ],
    important: [{ contact_id: phone, after_minutes: 0 }],
    status_updates: false,
  });
  expect(saved.body).toContain(`<option value="${desk}" selected>`);
  const kept = await browser.submit(PAGE, `${PAGE}/contacts/${desk}/delete`, {});
  expect([kept.statusCode, kept.body.includes('notification rules use this contact')]).toEqual([422, true]);
  const late = await browser.submit(PAGE, `${PAGE}/rules`, { ...rules, 'default-after': ['0', '9999', '0'] });
  expect([late.statusCode, late.body.includes('value="9999"')]).toEqual([422, true]);
  expect((await service.api(ann, 'GET', '/user/notification_rules')).body).toEqual(stored);
});

test('contacts of somebody else are not found', async () => {
  const id = await prove(`own-${people}`);
  const bob = await service.person(`bob-${people}`, PASSWORD);
  const other = await signedIn(service, bob.user);
  for (const action of ['verify', 'code', 'test', 'delete']) {
    const { statusCode } = await other.submit(PAGE, `${PAGE}/contacts/${id}/${action}`, { code: 'x' });
    expect(statusCode, action).toBe(404);
  }
  expect(await contacts()).toHaveLength(1);
});
