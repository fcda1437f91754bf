import { TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setPassword } from '../../../../serve/accounts/password-change.ts';
import type { User } from '../../../../serve/accounts/tables.ts';
import { disableTwoFactor, enableTwoFactor, newTotpSecret } from '../../../../serve/accounts/two-factor.ts';
import { changeUser, createUser, signOutEverywhere } from '../../../../serve/accounts/users.ts';
import { linkPath } from '../../../../serve/identity/mail/links.ts';
import { Browser, hiddenFields } from '../../accounts/browser.ts';
import { aUser, PASSWORD, signedIn } from '../../accounts/world.ts';
import { type MailWorld, ORIGIN, openMailWorld, textOf } from './mailing.ts';

const NEW_PASSWORD = 'another four quiet words';
const REQUEST = '/forgotten-password';
let mail: MailWorld;
let addresses = 0;
beforeAll(async () => {
  mail = await openMailWorld();
});
afterAll(() => mail?.close());

/** A browser of a caller whom no limit has counted yet. */
const browser = () => new Browser(mail.world.app, `198.51.100.${++addresses}`);
const ask = (email: string, by = browser()) => by.submit(REQUEST, REQUEST, { email });
const use = (path: string, new_password = NEW_PASSWORD, by = browser()) =>
  by.submit(path, '/reset-password', { new_password });
const signInWith = (user: User, password: string) =>
  browser().submit('/sign-in', '/sign-in', { login: user.username, password });

async function linkFor(user: User): Promise<string> {
  await ask(user.email);
  return mail.linkTo(user.email);
}

/** The header of a token that the password obtained. */
async function passwordToken(user: User): Promise<{ authorization: string }> {
  const answer = await browser().post('/oauth/token', {
    ...{ grant_type: 'password', scope: 'read_user' },
    ...{ username: user.username, password: PASSWORD },
  });
  const headers = { authorization: `Bearer ${answer.json().access_token}` };
  expect((await mail.world.app.inject({ url: '/api/v4/user', headers })).statusCode).toBe(200);
  return headers;
}

describe('the link for a forgotten password', () => {
  test('sets a password, ends sessions and tokens of the old one, and tells the address', async () => {
    const user = await mail.confirmedUser();
    const before = await signedIn(mail.world, user);
    const token = await passwordToken(user);
    const path = await linkFor(user);
    const answer = await use(path);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/sign-in']);
    expect((await before.get('/profile')).statusCode).toBe(303);
    expect((await mail.world.app.inject({ url: '/api/v4/user', headers: token })).statusCode).toBe(401);
    expect((await signInWith(user, PASSWORD)).statusCode).toBe(401);
    expect((await signInWith(user, NEW_PASSWORD)).statusCode).toBe(303);
    const subjects = (await mail.mailsTo(user.email)).map(({ headers }) => new Map(headers).get('subject'));
    expect(subjects).toEqual([
      'Set a new password (Chain Metrics)',
      'Your password was changed (Chain Metrics)',
    ]);
  });

  test('works once, and of uses at the same time only one', async () => {
    const user = await mail.confirmedUser();
    const path = await linkFor(user);
    const passwords = Array.from({ length: 5 }, (_, i) => `${NEW_PASSWORD} ${i}`);
    const answers = await Promise.all(passwords.map((password) => use(path, password)));
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([303, 410, 410, 410, 410]);
    const won = answers.findIndex(({ statusCode }) => statusCode === 303);
    expect((await signInWith(user, passwords[won] ?? '')).statusCode).toBe(303);
    expect((await browser().get(path)).statusCode).toBe(410);
  });

  test('wins over a change that the old password allowed before', async () => {
    const user = await mail.confirmedUser();
    await use(await linkFor(user));
    const change = setPassword(mail.accounts, user, 'somebody knew the old password');
    await expect(change).rejects.toThrow('The account has changed meanwhile.');
    expect((await signInWith(user, NEW_PASSWORD)).statusCode).toBe(303);
  });

  test('is not used up by a password that is refused', async () => {
    const user = await mail.confirmedUser();
    const path = await linkFor(user);
    const refused = await use(path, 'short');
    expect([refused.statusCode, refused.body.includes('at least 10')]).toEqual([422, true]);
    expect((await use(path)).statusCode).toBe(303);
  });

  test('changes nothing when a scanner follows it', async () => {
    const user = await mail.confirmedUser();
    const path = await linkFor(user);
    for (const method of ['GET', 'HEAD', 'GET', 'HEAD'] as const) {
      const { statusCode, headers } = await mail.world.app.inject({ method, url: path });
      expect(statusCode).toBe(200);
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['referrer-policy']).toBe('same-origin');
    }
    expect(await mail.accounts.users.get(user.id)).toEqual(user);
    expect((await use(path)).statusCode).toBe(303);
  });

  test('does not work without the token of the form, nor from another site', async () => {
    const user = await mail.confirmedUser();
    const path = await linkFor(user);
    const link = new URL(path, ORIGIN).searchParams.get('link') ?? '';
    const forged = await browser().post('/reset-password', { link, new_password: NEW_PASSWORD });
    expect(forged.statusCode).toBe(403);
    expect(await mail.accounts.users.get(user.id)).toEqual(user);
  });

  test.each<[string, (user: User) => Promise<unknown>]>([
    ['another link was used', async (user) => use(await linkFor(user))],
    [
      'the address was changed',
      (user) => changeUser(mail.accounts, user.id, () => ({ email: `new-${user.email}` })),
    ],
    ['the account was locked', (user) => changeUser(mail.accounts, user.id, () => ({ locked_ms: 1 }))],
    [
      'the account was deleted',
      (user) => changeUser(mail.accounts, user.id, () => ({ deleted_ms: 1, email: '' })),
    ],
    ['all sessions were ended', (user) => signOutEverywhere(mail.accounts, user.id)],
    ['half an hour is over', async () => mail.world.advance(30 * 60_000)],
  ])('ends when %s', async (_, change) => {
    const user = await mail.confirmedUser();
    const path = await linkFor(user);
    const early = browser();
    const fields = hiddenFields((await early.get(path)).body, '/reset-password');
    await change(user);
    expect((await browser().get(path)).statusCode).toBe(410);
    const answer = await early.post('/reset-password', { ...fields, new_password: NEW_PASSWORD });
    expect(answer.statusCode).toBe(410);
  });

  test('is refused when it was guessed, modified, or made for something else', async () => {
    const user = await mail.confirmedUser();
    const link = (await linkFor(user)).split('=')[1] ?? '';
    const wrong = Buffer.from(link, 'base64url');
    wrong[wrong.length - 1] = (wrong.at(-1) ?? 0) ^ 1;
    const confirmation = linkPath(mail.accounts, 'confirm-email', user, user.email).split('=')[1] ?? '';
    const links = ['', 'x', 'A'.repeat(400), link.slice(0, -4), wrong.toString('base64url'), confirmation];
    for (const text of links) {
      const answer = await browser().get(`/reset-password?link=${text}`);
      expect(answer.statusCode, text).toBe(410);
    }
    expect((await browser().get(`/reset-password?link=${link}&link=${link}`)).statusCode).toBe(410);
    expect((await mail.world.app.inject({ method: 'POST', url: '/reset-password' })).statusCode).toBe(403);
  });

  test('leaves the second factor needed', async () => {
    const user = await mail.confirmedUser();
    const secret = newTotpSecret();
    const totp = new TOTP({ secret });
    await enableTwoFactor(mail.accounts, user, secret, totp.generate({ timestamp: mail.world.now() }));
    expect((await use(await linkFor(user))).statusCode).toBe(303);
    const answer = await signInWith(user, NEW_PASSWORD);
    expect(answer.headers.location).toMatch(/^\/sign-in\/two-factor/);
    await disableTwoFactor(mail.accounts, user.id);
    expect(textOf((await mail.mailsTo(user.email)).at(-1) as never)).toContain('was disabled');
  });

  test('gives an account of a wallet its first password', async () => {
    const made = { username: `wallet-${addresses}`, email: 'wallet@example.org', is_email_confirmed: true };
    const user = await createUser(mail.accounts, { ...made, password: null });
    expect((await use(await linkFor(user))).statusCode).toBe(303);
    expect((await signInWith(user, NEW_PASSWORD)).statusCode).toBe(303);
  });
});

describe('a request for a link', () => {
  test('is answered alike for every address, and only a confirmed one gets a mail', async () => {
    const confirmed = await mail.confirmedUser();
    const open = await aUser(mail.world);
    const locked = await mail.confirmedUser();
    await changeUser(mail.accounts, locked.id, () => ({ locked_ms: 1 }));
    const asked = [confirmed.email, open.email, locked.email, 'nobody@example.org'];
    const answers = await Promise.all(asked.map((email) => ask(email)));
    const shown = answers.map(({ statusCode, headers, body }) => {
      const { date: _, ...rest } = headers;
      const cookies = [rest['set-cookie']].flat().map((cookie) => cookie?.replace(/=[^;]*/, '='));
      return { statusCode, body, headers: { ...rest, 'set-cookie': cookies } };
    });
    for (const other of shown.slice(1)) expect(other).toEqual(shown[0]);
    const mails = await Promise.all(asked.map((email) => mail.mailsTo(email)));
    expect(mails.map(({ length }) => length)).toEqual([1, 0, 0, 0]);
  });

  test('only stores a mail and adds its job, for a known and for an unknown address', async () => {
    const { queue } = mail.world.pipeline.runtime;
    const known = await mail.confirmedUser();
    const unknown = 'nobody-else@example.org';
    const jobs: string[] = [];
    const add = queue.add.bind(queue);
    queue.add = async (_queue, { id }) => void jobs.push(id);
    try {
      for (const email of [known.email, unknown]) await ask(email);
    } finally {
      queue.add = add;
    }
    const rows = await Promise.all(jobs.map((id) => mail.accounts.waitingMails.get(id)));
    expect(rows.map((row) => [row?.address, row?.user_id])).toEqual([
      [known.email, ''],
      [unknown, ''],
    ]);
    await mail.accounts.mails.resume();
    expect(await mail.mailsTo(known.email)).toHaveLength(1);
    expect(await mail.mailsTo(unknown)).toEqual([]);
  });

  test('is refused for a moment while the store is away, and then uses up no budget', async () => {
    const { waitingMails } = mail.accounts;
    const user = await mail.confirmedUser();
    const change = waitingMails.change.bind(waitingMails);
    waitingMails.change = () => Promise.reject(new Error('the store is away'));
    try {
      for (let i = 0; i < 6; i++) {
        const { statusCode, headers } = await ask(user.email);
        expect([statusCode, headers['retry-after']]).toEqual([503, '5']);
      }
    } finally {
      waitingMails.change = change;
    }
    for (let i = 0; i < 5; i++) expect((await ask(user.email)).statusCode).toBe(303);
  });

  test('of a browser that has signed in to the account is not used up by the requests of others', async () => {
    const user = await mail.confirmedUser();
    const owner = await signedIn(mail.world, user);
    for (let i = 0; i < 6; i++) await ask(user.email);
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push((await ask(user.email, owner)).statusCode);
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
    expect((await ask('nobody@example.net', owner)).statusCode).toBe(303);
  });

  test('names the public address whatever headers the request has', async () => {
    const user = await mail.confirmedUser();
    const by = browser();
    const page = await by.get(REQUEST);
    const form_token = /name="form_token" value="([^"]*)"/.exec(page.body)?.[1] ?? '';
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'ftp' };
    expect((await by.post(REQUEST, { form_token, email: user.email }, headers)).statusCode).toBe(303);
    const [received] = await mail.mailsTo(user.email);
    expect(received?.source).not.toContain('evil');
    expect(textOf(received as never)).toContain(`${ORIGIN}/reset-password?link=`);
  });

  test.each([
    '',
    'nobody',
    'a@b.c\r\nBcc: victim@example.org',
    'a@example.org, b@example.org',
    '<a@b.example>',
  ])('refuses what is no address: %j', async (email) => {
    const before = mail.server.mails.length;
    expect((await ask(email)).statusCode).toBe(422);
    expect(mail.server.mails).toHaveLength(before);
  });

  test('is limited by address, alike for known and unknown ones, and by caller', async () => {
    const user = await mail.confirmedUser();
    for (const email of [user.email, 'bombed@example.org']) {
      const statuses: number[] = [];
      for (let i = 0; i < 7; i++) statuses.push((await ask(email)).statusCode);
      expect(statuses).toEqual([303, 303, 303, 303, 303, 429, 429]);
    }
    expect((await mail.mailsTo(user.email)).length).toBeLessThanOrEqual(5);
    const one = browser();
    const statuses: number[] = [];
    for (let i = 0; i < 22; i++) statuses.push((await ask(`many-${i}@example.org`, one)).statusCode);
    expect(statuses.slice(18)).toEqual([303, 303, 429, 429]);
  });
});

test('without a mail server the page says what the operator can do', async () => {
  await using plain = await mail.world.beside({ PUBLIC_URL: ORIGIN });
  const page = await new Browser(plain.app).get(REQUEST);
  expect(page.body).toContain('SMTP_URL');
  expect(page.body).toContain('chain-metrics users reset-password NAME');
  expect(page.body).not.toContain('<input type="email"');
});
