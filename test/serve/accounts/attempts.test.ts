import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../infra/days.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { changeUser } from '../../../serve/accounts/users.ts';
import { Browser } from './browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from './world.ts';

/**
 * The limits of this test: 1 in 15 minutes by a caller, 5 a day, 10 by an address, 100 a day by all. With a fixed key
 * no two of its callers share a count by chance.
 */
const FEW = { SIGN_IN_ATTEMPTS: '1', SECRETS_KEY: 'A'.repeat(43) };

let world: World;
let user: User;
beforeAll(async () => {
  world = await openWorld(FEW);
});
beforeEach(async () => {
  user = await aUser(world);
  // A new day, so that no test counts what another one did.
  world.advance(DAY_MS - (world.now() % DAY_MS));
});
afterAll(() => world.close());

const signIn = async (browser: Browser, password: string, login = user.username) =>
  browser.submit('/sign-in', '/sign-in', { login, password });
const statusOf = async (browser: Browser, password: string, login?: string) =>
  (await signIn(browser, password, login)).statusCode;

/** Asks for a token with a password, as a program at an address. */
const grant = (address: string, password: string, login = user.username) =>
  world.app.inject({
    method: 'POST',
    url: '/oauth/token',
    remoteAddress: address,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ grant_type: 'password', username: login, password }).toString(),
  });

/** Uses up what all unknown callers may fail at an account: each of 20 networks fails five times in a day. */
async function failEverywhere(login: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let window = 0; window < 5; window++) {
    for (let network = 1; network <= 21; network++) {
      statuses.push((await grant(`2001:db8:${network}::${window + 1}`, 'wrong', login)).statusCode);
    }
    world.advance(15 * 60_000);
  }
  return statuses;
}

/** Its answers: a hundred failures use up what all unknown callers may fail in a day. */
const LIMITED = [...Array(100).fill(400), ...Array(5).fill(429)];

describe('failed sign-ins', () => {
  test('of one address, however many, lock nobody out elsewhere', async () => {
    for (let i = 0; i < 100; i++) await grant('198.51.100.1', 'wrong');
    expect((await grant('198.51.100.1', PASSWORD)).statusCode).toBe(429);
    expect((await grant('198.51.100.2', PASSWORD)).statusCode).toBe(200);
    expect(await statusOf(new Browser(world.app, '198.51.100.3'), PASSWORD)).toBe(303);
  });

  test('of one IPv6 network count as those of one address', async () => {
    const statuses: number[] = [];
    for (let i = 1; i <= 5; i++) statuses.push((await grant(`2001:db8:0:5::${i}`, 'wrong')).statusCode);
    expect(statuses).toEqual([400, 429, 429, 429, 429]);
  });

  test('of all the world lock out unknown callers alone: not a browser that was here before, nor an address', async () => {
    const home = new Browser(world.app, '192.0.2.50');
    expect(await statusOf(home, PASSWORD)).toBe(303);
    expect((await grant('192.0.2.60', PASSWORD)).statusCode).toBe(200);
    await home.submit('/profile', '/sign-out', {});

    expect(await failEverywhere(user.username)).toEqual(LIMITED);

    const stranger = await grant('198.51.100.9', PASSWORD);
    expect(stranger.statusCode).toBe(429);
    expect(Number(stranger.headers['retry-after'])).toBeGreaterThan(3600);
    // The browser travels; the program stays where it is.
    const travelling = new Browser(world.app, '203.0.113.77');
    for (const [name, value] of home.cookies) travelling.cookies.set(name, value);
    expect(await statusOf(travelling, 'wrong')).toBe(401);
    expect(await statusOf(travelling, PASSWORD)).toBe(429);
    world.advance(15 * 60_000);
    expect(await statusOf(travelling, PASSWORD, user.email)).toBe(303);
    expect((await grant('192.0.2.60', PASSWORD)).statusCode).toBe(200);
    world.advance(DAY_MS);
    expect((await grant('198.51.100.9', PASSWORD)).statusCode).toBe(200);
  });

  test('at a name without an account are limited like those at one with an account', async () => {
    expect(await failEverywhere('nobody-of-this-name')).toEqual(LIMITED);
  });

  test.each([
    ['an email', () => user.email],
    ['an email in other letters', () => ` ${user.email.toUpperCase()} `],
    ['an email of nobody', () => 'nobody@example.org'],
    ['a username of nobody', () => 'nobody-at-all'],
  ])('at a username tell nothing of %s, which is limited by itself', async (_, other) => {
    const at = '198.51.100.40';
    const told = async (login: string) => {
      const { statusCode, headers, body } = await grant(at, 'wrong', login);
      return [statusCode, body, 'retry-after' in headers];
    };
    const wrong = await told(user.username);
    const limited = await told(user.username);
    expect([wrong[0], limited[0]]).toEqual([400, 429]);
    expect(await told(other())).toEqual(wrong);
    expect(await told(other())).toEqual(limited);
  });

  test('at an email tell nothing of usernames, on the page as well', async () => {
    const browser = new Browser(world.app, '198.51.100.41');
    const stranger = await aUser(world);
    expect(await statusOf(browser, 'wrong', user.email)).toBe(401);
    expect(await statusOf(browser, 'wrong', user.email)).toBe(429);
    for (const login of [user.username, stranger.username, stranger.email, 'nobody', 'nobody@example.org']) {
      expect([login, await statusOf(browser, 'wrong', login)]).toEqual([login, 401]);
      expect([login, await statusOf(browser, PASSWORD, login)]).toEqual([login, 429]);
    }
  });

  test('of one address at many accounts are limited together', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++)
      statuses.push((await grant('198.51.100.20', 'wrong', `name-${i}`)).statusCode);
    expect(statuses).toEqual([...Array(10).fill(400), 429, 429]);
  });

  test('in parallel gain no more tries than one after the other', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => grant('198.51.100.30', 'wrong')));
    expect(answers.filter(({ statusCode }) => statusCode === 400)).toHaveLength(1);
    expect(answers.filter(({ statusCode }) => statusCode === 429)).toHaveLength(29);
  });
});

describe('a browser is known', () => {
  /** Whether the browser may still sign in after its address has used up what it may fail. */
  async function isKnown(cookies: ReadonlyMap<string, string>, login = user.username): Promise<boolean> {
    await grant('198.51.100.40', 'wrong', login);
    const browser = new Browser(world.app, '198.51.100.40');
    browser.cookies.set('device', cookies.get('device') ?? '');
    const answer = await signIn(browser, 'wrong', login);
    world.advance(DAY_MS);
    return answer.statusCode === 401;
  }

  test('to the accounts that signed in with it, each with a budget of its own', async () => {
    const other = await aUser(world);
    const browser = new Browser(world.app, '192.0.2.50');
    for (const { username } of [user, other]) {
      await signIn(browser, PASSWORD, username);
      await browser.submit('/profile', '/sign-out', {});
    }
    expect(await isKnown(browser.cookies)).toBe(true);
    expect(await isKnown(browser.cookies, other.username)).toBe(true);
    expect(await isKnown(browser.cookies, (await aUser(world)).username)).toBe(false);
  });

  test('by a cookie that cannot be made up, and that ends with the password and all sessions', async () => {
    const browser = await signedIn(world, user);
    const device = browser.cookies.get('device') ?? '';
    const [id = '', of = '', epoch = '', signature = ''] = decodeURIComponent(device).split('.');
    for (const forged of [
      `${'A'.repeat(22)}.${of}.${epoch}.${signature}`,
      `${id}.${of}.${Number(epoch) + 1}.${signature}`,
      `${id}.${of}.${epoch}.`,
      `${id}.${of}.${epoch}`,
      'nonsense',
    ]) {
      expect(await isKnown(new Map([['device', forged]]))).toBe(false);
    }
    await browser.submit('/profile/sessions', '/profile/sessions/end-all', {});
    expect(await isKnown(new Map([['device', device]]))).toBe(false);
  });

  test('still after it has changed the password', async () => {
    const browser = await signedIn(world, user);
    const changed = await browser.submit('/profile/security', '/profile/security/password', {
      password: PASSWORD,
      new_password: `${PASSWORD} again`,
    });
    expect(changed.statusCode).toBe(303);
    expect(await isKnown(browser.cookies)).toBe(true);
  });
});

describe('failures at the second factor', () => {
  const secret = new Secret({ size: 20 }).base32;
  const code = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.now() });
  const verify = (browser: Browser, text: string) =>
    browser.submit('/sign-in/two-factor', '/sign-in/two-factor', { code: text });

  test('of others, who know the password, do not lock out a browser that was here before', async () => {
    const home = await signedIn(world, user);
    await home.submit('/profile', '/sign-out', {});
    const totp_secret = world.accounts.seal.encrypt(secret, `totp ${user.id}`);
    await changeUser(world.accounts, user.id, () => ({ totp_secret }));
    const statuses: number[] = [];
    for (let i = 1; i <= 11; i++) {
      const thief = new Browser(world.app, `198.51.100.${i}`);
      await signIn(thief, PASSWORD);
      statuses.push((await verify(thief, '000000')).statusCode);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    const stranger = new Browser(world.app, '203.0.113.5');
    await signIn(stranger, PASSWORD);
    const refused = await verify(stranger, code());
    expect(refused.statusCode).toBe(429);
    expect(refused.body).not.toContain('incorrect');
    expect((await signIn(home, PASSWORD)).headers.location).toMatch(/^\/sign-in\/two-factor/);
    expect((await verify(home, code())).statusCode).toBe(303);
  });

  test('leave a browser unknown that proved the password alone', async () => {
    await changeUser(world.accounts, user.id, () => ({ totp_secret: 'sealed' }));
    const thief = new Browser(world.app, '198.51.100.1');
    await signIn(thief, PASSWORD);
    expect(thief.cookies.has('device')).toBe(false);
  });
});

describe('a change that wants the password', () => {
  test('is limited by the session, and not by what others fail', async () => {
    const browser = await signedIn(world, user);
    for (let i = 0; i < 3; i++) await grant('192.0.2.1', 'wrong');
    const change = (password: string) =>
      browser.submit('/profile/security', '/profile/security/password', {
        password,
        new_password: `${PASSWORD} again`,
      });
    expect((await change('wrong')).statusCode).toBe(422);
    const refused = await change(PASSWORD);
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(4);
    world.advance(15 * 60_000);
    expect((await change(PASSWORD)).statusCode).toBe(303);
  });
});

describe('sign-ins at the same time', () => {
  test('wait for each other up to a bound; above it they are 429 or 503 and not wrong', async () => {
    await using narrow = await world.beside({ SIGN_IN_ATTEMPTS: '1000', SIGN_IN_WAITING_MAX: '16' });
    const ask = (address: string) =>
      narrow.app.inject({
        method: 'POST',
        url: '/oauth/token',
        remoteAddress: address,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({
          grant_type: 'password',
          username: user.username,
          password: PASSWORD,
        }).toString(),
      });
    const ofOne = await Promise.all(Array.from({ length: 5 }, () => ask('198.51.100.60')));
    expect(ofOne.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 429, 429, 429]);
    const ofMany = await Promise.all(Array.from({ length: 24 }, (_, i) => ask(`203.0.113.${i}`)));
    const refused = ofMany.filter(({ statusCode }) => statusCode !== 200);
    // One that ends before the last has come leaves its place to that one.
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(8);
    for (const { statusCode, headers } of refused) {
      expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
    }
  });
});
