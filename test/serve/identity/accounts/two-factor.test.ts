import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '../../../../serve/identity/accounts/tables.ts';
import { Browser, plain } from './browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.now() + steps * 30_000 });

/** Turns it on as a person does, and returns the app's secret and the recovery codes. */
async function turnOn(browser: Browser): Promise<{ secret: string; codes: string[] }> {
  const page = await browser.get('/profile/security/two-factor');
  const secret = /id="totp-secret">([A-Z2-7]+)</.exec(page.body)?.[1] ?? '';
  const setup = plain(/name="setup" value="([^"]+)"/.exec(page.body)?.[1] ?? '');
  const done = await browser.submit('/profile/security/two-factor', '/profile/security/two-factor', {
    setup,
    code: codeOf(secret),
  });
  return {
    secret,
    codes: [...done.body.matchAll(/<li>([a-z2-9]{5}-[a-z2-9]{5})<\/li>/g)].map(([, code]) => code as string),
  };
}

async function half(user: User): Promise<Browser> {
  const browser = new Browser(world.app);
  const answer = await browser.submit('/sign-in', '/sign-in', { login: user.username, password: PASSWORD });
  expect(answer.headers.location).toMatch(/^\/sign-in\/two-factor/);
  return browser;
}
const answer = (browser: Browser, code: string) =>
  browser.submit('/sign-in/two-factor?next=%2Fprofile', '/sign-in/two-factor', { code });

describe('two-factor authentication (RFC 6238)', () => {
  test('is on after a code of the app, and then the password alone opens nothing', async () => {
    const user = await aUser(world);
    const { secret, codes } = await turnOn(await signedIn(world, user));
    expect(codes).toHaveLength(10);
    const browser = await half(user);
    expect((await browser.get('/profile')).headers.location).toMatch(/^\/sign-in/);
    world.advance(30_000);
    expect((await answer(browser, codeOf(secret))).statusCode).toBe(303);
    expect((await browser.get('/profile')).statusCode).toBe(200);
  });

  test('a wrong code, and a secret that the page did not offer, turn nothing on', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const page = await browser.get('/profile/security/two-factor');
    const setup = plain(/name="setup" value="([^"]+)"/.exec(page.body)?.[1] ?? '');
    const wrong = await browser.submit('/profile/security/two-factor', '/profile/security/two-factor', {
      setup,
      code: '000000',
    });
    expect(wrong.statusCode).toBe(422);
    const mine = new Secret({ size: 20 }).base32;
    const forged = await browser.submit('/profile/security/two-factor', '/profile/security/two-factor', {
      setup: `${mine}.${setup.split('.')[1]}`,
      code: codeOf(mine),
    });
    expect(forged.statusCode).toBe(400);
    expect((await world.accounts.users.get(user.id))?.totp_secret).toBe('');
  });

  test('no code is taken twice, and one of the step before is (RFC 6238 §5.2)', async () => {
    const user = await aUser(world);
    const { secret } = await turnOn(await signedIn(world, user));
    world.advance(90_000);
    const early = codeOf(secret, -1);
    expect((await answer(await half(user), early)).statusCode).toBe(303);
    expect((await answer(await half(user), early)).statusCode).toBe(401);
    expect((await answer(await half(user), codeOf(secret))).statusCode).toBe(303);
    expect((await answer(await half(user), codeOf(secret, -1))).statusCode).toBe(401);
    expect((await answer(await half(user), codeOf(secret, 5))).statusCode).toBe(401);
  });

  test('the same code sent many times at once is taken once', async () => {
    const user = await aUser(world);
    const { secret } = await turnOn(await signedIn(world, user));
    world.advance(60_000);
    const browsers = await Promise.all(Array.from({ length: 5 }, () => half(user)));
    const code = codeOf(secret);
    const answers = await Promise.all(browsers.map((browser) => answer(browser, code)));
    expect(answers.filter(({ statusCode }) => statusCode === 303)).toHaveLength(1);
  });

  test('each recovery code works once, however it is written', async () => {
    const user = await aUser(world);
    const { codes } = await turnOn(await signedIn(world, user));
    const [first = '', second = ''] = codes;
    expect((await answer(await half(user), first.toUpperCase())).statusCode).toBe(303);
    expect((await answer(await half(user), first)).statusCode).toBe(401);
    expect((await answer(await half(user), second.replace('-', ' '))).statusCode).toBe(303);
  });

  test('guessing is throttled, also with the right code at the end', async () => {
    const user = await aUser(world);
    const { secret } = await turnOn(await signedIn(world, user));
    world.advance(60_000);
    const browser = await half(user);
    for (let i = 0; i < 10; i++) expect((await answer(browser, '000000')).statusCode).toBe(401);
    expect((await answer(browser, codeOf(secret))).statusCode).toBe(429);
  });

  test('waits ten minutes for the second factor', async () => {
    const user = await aUser(world);
    const { secret } = await turnOn(await signedIn(world, user));
    const browser = await half(user);
    world.advance(601_000);
    expect((await browser.get('/sign-in/two-factor')).headers.location).toMatch(/^\/sign-in\?/);
    expect((await answer(browser, codeOf(secret))).statusCode).toBe(403);
  });

  test('is turned off only with the password', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    await turnOn(browser);
    const off = (password: string) =>
      browser.submit('/profile/security', '/profile/security/two-factor/off', { password });
    expect((await off('wrong')).statusCode).toBe(422);
    expect((await world.accounts.users.get(user.id))?.totp_secret).not.toBe('');
    expect((await off(PASSWORD)).statusCode).toBe(303);
    expect((await world.accounts.users.get(user.id))?.totp_secret).toBe('');
  });

  test('the secret is stored sealed, and bound to its user', async () => {
    const user = await aUser(world);
    const { secret } = await turnOn(await signedIn(world, user));
    const stored = (await world.accounts.users.get(user.id))?.totp_secret ?? '';
    expect(stored).not.toContain(secret);
    expect(world.accounts.seal.decrypt(stored, `totp ${user.id}`)).toBe(secret);
    expect(() => world.accounts.seal.decrypt(stored, 'totp 999')).toThrow();
  });
});
