import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '../../../../serve/accounts/tables.ts';
import { changeUser, createUser, signOutEverywhere } from '../../../../serve/accounts/users.ts';
import { linkPath } from '../../../../serve/identity/mail/links.ts';
import { Browser, hiddenFields } from '../../accounts/browser.ts';
import { aUser, PASSWORD, signedIn } from '../../accounts/world.ts';
import { type MailWorld, ORIGIN, openMailWorld, textOf } from './mailing.ts';

const PAGE = '/profile/email';
let mail: MailWorld;
let made = 0;
beforeAll(async () => {
  mail = await openMailWorld();
});
afterAll(() => mail?.close());

const newAddress = () => `wanted-${++made}@example.org`;
const change = (browser: Browser, email: string, password = PASSWORD) =>
  browser.submit(PAGE, PAGE, { email, password });
const confirm = (browser: Browser, path: string) => browser.submit(path, '/confirm-email', {});
const stored = ({ id }: User) => mail.accounts.users.get(id);
const subjectsTo = async (address: string) =>
  (await mail.mailsTo(address)).map(({ headers }) => new Map(headers).get('subject'));

describe('the address of a new account', () => {
  test('is confirmed by the link that is sent to it', async () => {
    const browser = new Browser(mail.world.app, '198.51.100.1');
    const fields = { username: 'ada', email: 'Ada@Example.org', password: PASSWORD };
    const page = await browser.submitAndFollow('/sign-up', '/sign-up', fields);
    expect(page.body).toContain('A link that confirms your email was sent.');
    expect((await browser.get(PAGE)).body).toContain('Not confirmed');
    const path = await mail.linkTo('ada@example.org');
    expect((await confirm(browser, path)).headers.location).toBe(PAGE);
    expect((await browser.get(PAGE)).body).toContain('ada@example.org is confirmed.');
    expect((await browser.get(path)).statusCode).toBe(410);
  });

  test('gets another link on request', async () => {
    const user = await aUser(mail.world);
    const browser = await signedIn(mail.world, user);
    await browser.submit(PAGE, `${PAGE}/confirmation`, {});
    await confirm(browser, await mail.linkTo(user.email));
    expect(await stored(user)).toMatchObject({ email: user.email, email_confirmed_ms: expect.any(Number) });
    const again = await browser.submit(PAGE, `${PAGE}/confirmation`, {});
    expect(again.statusCode).toBe(422);
  });

  test('is named by the public address of the service, whatever headers the request has', async () => {
    const user = await aUser(mail.world);
    const browser = await signedIn(mail.world, user);
    const fields = hiddenFields((await browser.get(PAGE)).body, `${PAGE}/confirmation`);
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'ftp' };
    expect((await browser.post(`${PAGE}/confirmation`, fields, headers)).statusCode).toBe(303);
    const [received] = await mail.mailsTo(user.email);
    expect(received?.source).not.toContain('evil');
    expect(textOf(received as never)).toContain(`${ORIGIN}/confirm-email?link=`);
  });

  test('is not confirmed by somebody else, however the link came to them', async () => {
    const user = await aUser(mail.world);
    await mail.accounts.mails.requestConfirmation(user, user.email);
    const path = await mail.linkTo(user.email);
    const visitor = await new Browser(mail.world.app).get(path);
    expect(visitor.headers.location).toBe(`/sign-in?next=${encodeURIComponent(path)}`);
    const other = await signedIn(mail.world, await aUser(mail.world));
    expect((await other.get(path)).statusCode).toBe(410);
    const { form_token = '' } = hiddenFields((await other.get(PAGE)).body, PAGE);
    const link = new URL(path, ORIGIN).searchParams.get('link') ?? '';
    expect((await other.post('/confirm-email', { form_token, link })).statusCode).toBe(410);
    expect((await stored(user))?.email_confirmed_ms).toBe(0);
  });

  test('is not confirmed by a scanner that has the session too', async () => {
    const user = await aUser(mail.world);
    const browser = await signedIn(mail.world, user);
    const path = linkPath(mail.accounts, 'confirm-email', user, user.email);
    for (let i = 0; i < 2; i++) {
      const { statusCode, headers } = await browser.get(path);
      expect([statusCode, headers['cache-control']]).toEqual([200, 'no-store']);
    }
    expect((await stored(user))?.email_confirmed_ms).toBe(0);
  });
});

describe('a change of the address', () => {
  test('counts when the new address is confirmed, and the old one is told of both steps', async () => {
    const user = await mail.confirmedUser();
    const browser = await signedIn(mail.world, user);
    const email = newAddress();
    const asked = await change(browser, email);
    expect(asked.headers.location).toBe(PAGE);
    expect(await stored(user)).toMatchObject({ email: user.email });
    await confirm(browser, await mail.linkTo(email));
    expect(await stored(user)).toMatchObject({ email, email_confirmed_ms: expect.any(Number) });
    expect(await subjectsTo(user.email)).toEqual([
      'Your email is about to be changed (Chain Metrics)',
      'Your email was changed (Chain Metrics)',
    ]);
    expect(await subjectsTo(email)).toEqual(['Confirm your email (Chain Metrics)']);
    expect((await mail.mailsTo(user.email)).every((sent) => !sent.source.includes('?link='))).toBe(true);
  });

  test('needs the password', async () => {
    const user = await mail.confirmedUser();
    const browser = await signedIn(mail.world, user);
    const email = newAddress();
    expect((await change(browser, email, 'wrong')).statusCode).toBe(422);
    expect(await mail.mailsTo(email)).toEqual([]);
    expect(await mail.mailsTo(user.email)).toEqual([]);
  });

  test.each<[string, (user: User) => Promise<unknown>]>([
    ['the sessions were ended', (user) => signOutEverywhere(mail.accounts, user.id)],
    [
      'another address was confirmed',
      (user) => changeUser(mail.accounts, user.id, () => ({ email: newAddress(), email_confirmed_ms: 1 })),
    ],
    ['a day is over', async () => mail.world.advance(24 * 3_600_000)],
  ])('is not possible any more when %s', async (_, end) => {
    const user = await mail.confirmedUser();
    await mail.accounts.mails.requestConfirmation(user, newAddress());
    const path = await mail.linkTo(`wanted-${made}@example.org`);
    await end(user);
    expect((await (await signedIn(mail.world, user)).get(path)).statusCode).toBe(410);
  });

  test('of two links only one can be used, also at the same time', async () => {
    const user = await mail.confirmedUser();
    const browser = await signedIn(mail.world, user);
    const emails = [newAddress(), newAddress()];
    const paths: string[] = [];
    for (const email of emails) {
      await change(browser, email);
      paths.push(await mail.linkTo(email));
    }
    const answers = await Promise.all([...paths, ...paths].map((path) => confirm(browser, path)));
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([303, 410, 410, 410]);
    const won = answers.findIndex(({ statusCode }) => statusCode === 303);
    expect((await stored(user))?.email).toBe(emails[won % 2]);
  });

  test('gives an address that two accounts want at the same time to one of them', async () => {
    const users = [await mail.confirmedUser(), await mail.confirmedUser()];
    const email = newAddress();
    const paths = users.map((user) => linkPath(mail.accounts, 'confirm-email', user, email));
    const browsers = await Promise.all(users.map((user) => signedIn(mail.world, user)));
    const answers = await Promise.all(browsers.map((browser, i) => confirm(browser, paths[i] ?? '')));
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([303, 422]);
    const owners = (await Promise.all(users.map(stored))).filter((user) => user?.email === email);
    expect(owners).toHaveLength(1);
  });

  test('takes the address from an account that never confirmed it', async () => {
    const squatter = await aUser(mail.world);
    const user = await mail.confirmedUser();
    const browser = await signedIn(mail.world, user);
    await change(browser, squatter.email);
    await confirm(browser, await mail.linkTo(squatter.email));
    expect((await stored(user))?.email).toBe(squatter.email);
    expect((await stored(squatter))?.email).toBe('');
  });

  test('to a confirmed address of another account is answered alike; only that address learns of it', async () => {
    const owner = await mail.confirmedUser();
    const user = await mail.confirmedUser();
    const browser = await signedIn(mail.world, user);
    const answers = [await change(browser, newAddress()), await change(browser, owner.email)];
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.location])).toEqual(
      Array(2).fill([303, PAGE]),
    );
    expect(await subjectsTo(owner.email)).toEqual(['Your email is already in use (Chain Metrics)']);
    expect((await mail.mailsTo(owner.email))[0]?.source).not.toContain(user.username);
    const path = linkPath(mail.accounts, 'confirm-email', user, owner.email);
    expect((await confirm(browser, path)).statusCode).toBe(422);
    expect((await stored(owner))?.email).toBe(owner.email);
  });

  test('is limited by account and by address', async () => {
    const browser = await signedIn(mail.world, await mail.confirmedUser());
    const email = newAddress();
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push((await change(browser, email)).statusCode);
    expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
    for (let i = 0; i < 14; i++) await change(browser, newAddress());
    expect((await change(browser, newAddress())).statusCode).toBe(429);
  });
});

test('names and addresses make no header, and a stranger gets no text of another person', async () => {
  const made = { username: 'free.example.com', name: 'A\u00a0B <b>x</b> Bcc: c@example.org', password: null };
  const user = await createUser(mail.accounts, { ...made, email: "o'hara+&x=1@example.org" });
  await mail.accounts.mails.requestConfirmation(user, user.email);
  const [received] = await mail.mailsTo(user.email);
  const names = received?.headers.map(([name]) => name);
  expect(names).not.toContain('bcc');
  expect(received?.to).toEqual([user.email]);
  expect(textOf(received as never)).not.toMatch(/free\.example\.com|<b>|A B/);
});

test('without a mail server the page says what the operator can do', async () => {
  await using plain = await mail.world.beside({ PUBLIC_URL: ORIGIN });
  const user = await aUser(plain);
  const browser = await signedIn(plain, user);
  const page = await browser.get(PAGE);
  expect(page.body).toContain(`chain-metrics users confirm-email ${user.username}`);
  expect(page.body).toContain('SMTP_URL');
  expect((await browser.submit(PAGE, PAGE, { email: 'a@example.org' })).statusCode).toBe(422);
});
