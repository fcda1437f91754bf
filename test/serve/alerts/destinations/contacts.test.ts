import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { changeUser } from '../../../../serve/accounts/users.ts';
import { contactMethods } from '../../../../serve/alerts/model/oncall-tables.ts';
import { MailServer } from '../../mail/mail-server.ts';
import { Recorder } from '../recorder.ts';
import { type Person, Service } from '../service.ts';
import { destinationsOf } from './destinations.ts';

let service: Service;
let recorder: Recorder;
let mailServer: MailServer;
let now = Date.UTC(2027, 0, 1);
beforeAll(async () => {
  recorder = await Recorder.open();
  mailServer = await MailServer.open();
  service = await Service.open(
    {
      ALERT_PRIVATE_TARGETS: 'true',
      SMTP_URL: mailServer.url,
      SMTP_FROM: 'alerts@metrics.example.com',
      SMTP_REQUIRE_TLS: 'false',
      TELEGRAM_BOT_TOKEN: '1:a',
      TELEGRAM_API_URL: recorder.url,
    },
    { now: () => now },
  );
});
beforeEach(() => {
  recorder.answer = { status: 200, body: '{"ok":true}' };
});
afterAll(async () => {
  await service?.close();
  recorder?.close();
  await mailServer?.close();
});

const all = '/user/contact_methods';
const codeIn = (text: string): string => /\b([a-z2-9]{8}) is your code/.exec(text)?.[1] ?? '';
let people = 0;
const person = () => service.person(`person${++people}`);

async function added(who: Person, type: string, address: string) {
  const { status, body } = await service.api(who, 'POST', all, { type, address });
  if (status !== 201) throw new Error(JSON.stringify(body));
  const code = type === 'email' ? codeIn(mailServer.last.source) : codeIn(recorder.last.body.text);
  return { id: body.id as string, body, code };
}
const verify = (who: Person, id: string, code: string) =>
  service.api(who, 'POST', `${all}/${id}/verify`, { code });
async function proved(who: Person, type: string, address: string): Promise<string> {
  const { id, code } = await added(who, type, address);
  expect((await verify(who, id, code)).status).toBe(200);
  return id;
}

describe('a contact', () => {
  test.each([
    ['email', () => 'ann@example.org', { address: 'ann@example.org' }],
    ['telegram', () => '77', { chat_id: '77' }],
    ['webhook', () => `${recorder.url}/ntfy`, { url: '/ntfy' }],
  ])('of type %s is used after the code that was sent to it came back', async (type, address, settings) => {
    const who = await person();
    const { contacts } = destinationsOf(service);
    const { id, body, code } = await added(who, type, address());
    expect(body).toMatchObject({ type, address: address(), verified_at: null, is_account_email: false });
    expect(code).toHaveLength(8);
    expect(await contacts.find(id)).toBeNull();
    expect((await service.api(who, 'POST', `${all}/${id}/test`)).status).toBe(409);
    const reply = await verify(who, id, ` ${code.slice(0, 4)}-${code.slice(4).toUpperCase()} `);
    expect(reply.body.verified_at).toBe(new Date(now).toISOString());
    const [[name, end] = []] = Object.entries(settings);
    expect(await contacts.find(id)).toMatchObject({
      ...{ id, type, isChannel: false },
      settings: { [name as string]: expect.stringContaining(end as string) },
    });
    expect((await service.api(who, 'POST', `${all}/${id}/test`)).body.fault).toBeNull();
  });

  test('is stored with its address encrypted and its code hashed', async () => {
    const who = await person();
    const { code } = await added(who, 'email', 'secret-address@example.org');
    const rows = await service.pipeline.runtime.store.rows(sql`SELECT * FROM ${contactMethods}`);
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain('secret-address');
    expect(JSON.stringify(rows)).not.toContain(code);
  });

  test('belongs to its user alone', async () => {
    const [who, other] = [await person(), await person()];
    const { id, code } = await added(who, 'telegram', '501');
    expect((await service.api(other, 'GET', all)).body).toEqual([]);
    expect((await verify(other, id, code)).status).toBe(404);
    expect((await service.api(other, 'POST', `${all}/${id}/verify`)).status).toBe(404);
    expect((await service.api(other, 'POST', `${all}/${id}/test`)).status).toBe(404);
    expect((await service.api(other, 'DELETE', `${all}/${id}`)).status).toBe(404);
    expect((await verify(who, id, code)).status).toBe(200);
    expect((await service.api(who, 'DELETE', `${all}/${id}`)).status).toBe(204);
    expect((await service.api(who, 'GET', all)).body).toEqual([]);
    expect(await destinationsOf(service).contacts.find(id)).toBeNull();
  });

  test('that the code cannot be sent to is not added', async () => {
    const who = await person();
    recorder.answer = { status: 400, body: '{"ok":false,"description":"Bad Request: chat not found"}' };
    const { status, body } = await service.api(who, 'POST', all, { type: 'telegram', address: '1' });
    expect(status).toBe(400);
    expect(body.errors.address).toEqual([
      'The code could not be sent: answered with 400: Bad Request: chat not found',
    ]);
    expect((await service.api(who, 'GET', all)).body).toEqual([]);
  });

  test.each([
    ['email', 'nobody'],
    ['email', 'a@example.org, b@example.org'],
    ['email', 'a@example.org\r\nBcc: b@example.org'],
    ['telegram', 'chat'],
    ['webhook', 'ftp://example.org'],
    ['webhook', 'https://u:p@example.org'],
  ])('of type %s cannot be %j', async (type, address) => {
    const reply = await service.api(await person(), 'POST', all, { type, address });
    expect(reply.status).toBe(400);
    expect(reply.body.errors).toHaveProperty('address');
  });

  test('is added once, and ten are the most', async () => {
    const who = await person();
    for (let i = 0; i < 10; i++) await added(who, 'telegram', `90${i}`);
    expect((await service.api(who, 'POST', all, { type: 'telegram', address: '910' })).status).toBe(409);
    const [{ id }] = (await service.api(who, 'GET', all)).body;
    await service.api(who, 'DELETE', `${all}/${id}`);
    expect((await service.api(who, 'POST', all, { type: 'telegram', address: '901' })).status).toBe(409);
  });
});

describe('a code', () => {
  test('ends after five wrong ones, and a new one is sent', async () => {
    const who = await person();
    const { id, code } = await added(who, 'telegram', '601');
    for (let i = 0; i < 5; i++) {
      const { status, body } = await verify(who, id, 'wrongone');
      expect([status, body.errors.code]).toEqual([
        400,
        ['This code is wrong. Check the message that was sent to you.'],
      ]);
    }
    const late = await verify(who, id, code);
    expect(late.body.errors.code).toEqual(['This code is no longer valid. Ask for a new one.']);
    expect((await service.api(who, 'POST', `${all}/${id}/verify`)).status).toBe(200);
    const renewed = codeIn(recorder.last.body.text);
    expect(renewed).not.toBe(code);
    expect((await verify(who, id, code)).status).toBe(400);
    expect((await verify(who, id, renewed)).status).toBe(200);
    expect((await service.api(who, 'POST', `${all}/${id}/verify`)).status).toBe(409);
  });

  test('ends after ten minutes', async () => {
    const who = await person();
    const { id, code } = await added(who, 'telegram', '602');
    now += 10 * 60_000;
    expect((await verify(who, id, code)).status).toBe(400);
  });

  test('tried in parallel has no more than five tries', async () => {
    const who = await person();
    const { id } = await added(who, 'telegram', '603');
    const replies = await Promise.all(Array.from({ length: 20 }, () => verify(who, id, 'wrongone')));
    const wrong = replies.filter(
      ({ body }) => body.errors.code[0] === 'This code is wrong. Check the message that was sent to you.',
    );
    expect(wrong).toHaveLength(5);
  });

  test('is sent to one address five times an hour, whoever asks', async () => {
    now += 3_600_000;
    const address = 'victim@example.org';
    const before = mailServer.mails.length;
    const replies = [];
    for (let i = 0; i < 7; i++)
      replies.push(await service.api(await person(), 'POST', all, { type: 'email', address }));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 429, 429]);
    expect(Number(replies[6]?.headers['retry-after'])).toBeGreaterThan(0);
    expect(mailServer.mails.length - before).toBe(5);
  });

  test('is sent to one user at most 20 times an hour', async () => {
    now += 3_600_000;
    const who = await person();
    for (let i = 0; i < 4; i++) {
      const { id } = await added(who, 'telegram', `70${i}`);
      for (let k = 0; k < 4; k++)
        expect((await service.api(who, 'POST', `${all}/${id}/verify`)).status).toBe(200);
    }
    const beyond = await service.api(who, 'POST', all, { type: 'telegram', address: '704' });
    expect(beyond.status).toBe(429);
  });
});

describe('the e-mail of an account', () => {
  test('is a contact once it is confirmed', async () => {
    const who = await person();
    expect((await service.api(who, 'GET', all)).body).toEqual([]);
    await changeUser(service.accounts, who.user.id, () => ({ email_confirmed_ms: now }));
    const { body } = await service.api(who, 'GET', all);
    const id = `account-${who.user.id}`;
    expect(body).toMatchObject([{ id, type: 'email', address: who.user.email, is_account_email: true }]);
    expect(await destinationsOf(service).contacts.find(id)).toEqual({
      ...{ id, type: 'email', isChannel: false, settings: { address: who.user.email } },
    });
    expect((await service.api(who, 'DELETE', `${all}/${id}`)).status).toBe(409);
    expect((await service.api(who, 'POST', `${all}/${id}/test`)).body).toEqual({ status: 250, fault: null });
    expect(mailServer.last.source).toContain('Subject: [test] Test of this destination (your account)');
  });
});

describe('notification rules', () => {
  const path = '/user/notification_rules';
  const of = (who: Person, isImportant = false) =>
    destinationsOf(service).notificationRules.rulesFor(who.user.id, isImportant);

  test('are at first the confirmed e-mail at once', async () => {
    const who = await person();
    expect(await of(who)).toEqual([]);
    const chat = await proved(who, 'telegram', '801');
    expect(await of(who)).toEqual([{ contactId: chat, afterMinutes: 0 }]);
    await changeUser(service.accounts, who.user.id, () => ({ email_confirmed_ms: now }));
    expect(await of(who)).toEqual([{ contactId: `account-${who.user.id}`, afterMinutes: 0 }]);
    expect((await service.api(who, 'GET', path)).body).toEqual({
      default: [],
      important: [],
      status_updates: true,
    });
  });

  test('tell contacts after their waits, and others for important steps', async () => {
    const who = await person();
    const [mail, chat] = [
      await proved(who, 'email', 'rules@example.org'),
      await proved(who, 'telegram', '802'),
    ];
    const rules = {
      default: [
        { contact_id: mail, after_minutes: 0 },
        { contact_id: chat, after_minutes: 5 },
      ],
      important: [],
      status_updates: false,
    };
    expect((await service.api(who, 'PUT', path, rules)).body).toEqual(rules);
    const asDefault = [
      { contactId: mail, afterMinutes: 0 },
      { contactId: chat, afterMinutes: 5 },
    ];
    expect(await of(who)).toEqual(asDefault);
    expect(await of(who, true)).toEqual(asDefault);
    const important = [{ contact_id: chat, after_minutes: 0 }];
    expect((await service.api(who, 'PUT', path, { important })).body).toEqual({ ...rules, important });
    expect(await of(who)).toEqual(asDefault);
    expect(await of(who, true)).toEqual([{ contactId: chat, afterMinutes: 0 }]);
    expect(await destinationsOf(service).notificationRules.wantsStatusUpdates(who.user.id)).toBe(false);
    expect((await service.api(who, 'DELETE', `${all}/${chat}`)).status).toBe(409);
    await service.api(who, 'PUT', path, { default: [], important: [] });
    expect((await service.api(who, 'DELETE', `${all}/${chat}`)).status).toBe(204);
  });

  test('name only verified contacts of their user', async () => {
    now += 3_600_000;
    const [who, other] = [await person(), await person()];
    const { id: unproved } = await added(who, 'telegram', '803');
    const strange = await proved(other, 'telegram', '804');
    for (const contact_id of [unproved, strange, 'nothing', `account-${who.user.id}`]) {
      const reply = await service.api(who, 'PUT', path, { default: [{ contact_id, after_minutes: 0 }] });
      expect(reply.status).toBe(400);
      expect(reply.body.errors).toHaveProperty('default');
    }
    const eleven = Array.from({ length: 11 }, (_, after_minutes) => ({ contact_id: strange, after_minutes }));
    expect((await service.api(other, 'PUT', path, { important: eleven })).status).toBe(400);
    const late = [{ contact_id: strange, after_minutes: 1441 }];
    expect((await service.api(other, 'PUT', path, { default: late })).status).toBe(400);
    expect((await service.api(other, 'GET', path)).body.default).toEqual([]);
  });
});
