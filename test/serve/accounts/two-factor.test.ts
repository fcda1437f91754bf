import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setPassword } from '../../../serve/accounts/password-change.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import {
  enableTwoFactor,
  newTotpSecret,
  regenerateRecoveryCodes,
} from '../../../serve/accounts/two-factor.ts';
import { Browser, plain } from './browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: world.now() + steps * 30_000 });

const codesOn = (page: string) =>
  [...page.matchAll(/<li>([a-z2-9]{5}(?:-[a-z2-9]{5}){3})<\/li>/g)].map(([, code]) => code as string);

/** Enables it on the page and returns the secret of the app and the recovery codes. */
async function enable(browser: Browser, password = ''): Promise<{ secret: string; codes: string[] }> {
  const page = await browser.get('/profile/security/two-factor');
  const secret = /id="totp-secret">([A-Z2-7]+)</.exec(page.body)?.[1] ?? '';
  const setup = plain(/name="setup" value="([^"]+)"/.exec(page.body)?.[1] ?? '');
  const done = await browser.submitAndFollow('/profile/security/two-factor', '/profile/security/two-factor', {
    setup,
    code: codeOf(secret),
    password,
  });
  return {
    secret,
    codes: codesOn(done.body),
  };
}

async function pendingSignIn(user: User): Promise<Browser> {
  const browser = new Browser(world.app);
  const answer = await browser.submit('/sign-in', '/sign-in', { login: user.username, password: PASSWORD });
  expect(answer.headers.location).toMatch(/^\/sign-in\/two-factor/);
  return browser;
}
const answer = (browser: Browser, code: string) =>
  browser.submit('/sign-in/two-factor?next=%2Fprofile', '/sign-in/two-factor', { code });

describe('two-factor authentication (RFC 6238)', () => {
  test('is enabled by a verification code; then the password alone is not enough', async () => {
    const user = await aUser(world);
    const { secret, codes } = await enable(await signedIn(world, user));
    expect(codes).toHaveLength(10);
    const browser = await pendingSignIn(user);
    expect((await browser.get('/profile')).headers.location).toMatch(/^\/sign-in/);
    world.advance(30_000);
    expect((await answer(browser, codeOf(secret))).statusCode).toBe(303);
    expect((await browser.get('/profile')).statusCode).toBe(200);
  });

  test('is not enabled by a set-up that began before a new password', async () => {
    const user = await aUser(world);
    const secret = newTotpSecret();
    await setPassword(world.accounts, user, 'quiet words of the owner 5');
    const late = 'You were signed out meanwhile.';
    await expect(enableTwoFactor(world.accounts, user, secret, codeOf(secret))).rejects.toThrow(late);
    const changed = (await world.accounts.users.get(user.id)) as User;
    expect(changed.totp_secret).toBe('');
    await enableTwoFactor(world.accounts, changed, secret, codeOf(secret));
    await expect(regenerateRecoveryCodes(world.accounts, user)).rejects.toThrow(late);
  });

  test('is not enabled by a wrong code or by a secret that the page did not offer', async () => {
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

  test('is enabled with the password when the sign-in is not recent', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    world.advance(16 * 60_000);
    await enable(browser);
    expect((await world.accounts.users.get(user.id))?.totp_secret).toBe('');
    expect((await enable(browser, PASSWORD)).codes).toHaveLength(10);
  });

  test('accepts no code twice, and accepts a code of the previous step (RFC 6238 §5.2)', async () => {
    const user = await aUser(world);
    const { secret } = await enable(await signedIn(world, user));
    world.advance(90_000);
    const early = codeOf(secret, -1);
    expect((await answer(await pendingSignIn(user), early)).statusCode).toBe(303);
    expect((await answer(await pendingSignIn(user), early)).statusCode).toBe(401);
    expect((await answer(await pendingSignIn(user), codeOf(secret))).statusCode).toBe(303);
    expect((await answer(await pendingSignIn(user), codeOf(secret, -1))).statusCode).toBe(401);
    expect((await answer(await pendingSignIn(user), codeOf(secret, 5))).statusCode).toBe(401);
  });

  test('accepts a code once when it is sent many times in parallel', async () => {
    const user = await aUser(world);
    const { secret } = await enable(await signedIn(world, user));
    world.advance(60_000);
    const browsers = await Promise.all(Array.from({ length: 5 }, () => pendingSignIn(user)));
    const code = codeOf(secret);
    const answers = await Promise.all(browsers.map((browser) => answer(browser, code)));
    expect(answers.filter(({ statusCode }) => statusCode === 303)).toHaveLength(1);
  });

  test('accepts each recovery code once, in any notation', async () => {
    const user = await aUser(world);
    const { codes } = await enable(await signedIn(world, user));
    const [first = '', second = ''] = codes;
    expect((await answer(await pendingSignIn(user), first.toUpperCase())).statusCode).toBe(303);
    expect((await answer(await pendingSignIn(user), first)).statusCode).toBe(401);
    expect((await answer(await pendingSignIn(user), second.replaceAll('-', ' '))).statusCode).toBe(303);
  });

  test('shows recovery codes once, and makes new ones only when asked', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    await enable(browser);
    const path = '/profile/security/recovery-codes';
    const made = await browser.submit('/profile/security', path, { password: PASSWORD });
    const shown = String(made.headers.location);
    const codes = codesOn((await browser.get(shown)).body);
    expect(codes).toHaveLength(10);
    expect((await browser.get(shown)).headers.location).toBe('/profile/security');
    expect((await answer(await pendingSignIn(user), codes[0] ?? '')).statusCode).toBe(303);
  });

  test('stores recovery codes with a slow hash, of which one try computes at most one', async () => {
    const user = await aUser(world);
    const { codes } = await enable(await signedIn(world, user));
    const stored = (await world.accounts.users.get(user.id))?.recovery_hashes ?? [];
    expect(stored).toHaveLength(10);
    for (const hash of stored) expect(hash).toMatch(/^[a-z2-9]{4}\$argon2id\$/);
    expect(new Set(stored.map((hash) => hash.slice(0, 4))).size).toBe(10);
    // 16 characters of 32 remain secret: 80 bits.
    expect(codes.every((code) => code.replaceAll('-', '').length === 20)).toBe(true);
  });

  test('limits failed attempts, also for the correct code', async () => {
    const user = await aUser(world);
    const { secret } = await enable(await signedIn(world, user));
    world.advance(60_000);
    const browser = await pendingSignIn(user);
    for (let i = 0; i < 10; i++) expect((await answer(browser, '000000')).statusCode).toBe(401);
    expect((await answer(browser, codeOf(secret))).statusCode).toBe(429);
  });

  test('expires the pending session after ten minutes', async () => {
    const user = await aUser(world);
    const { secret } = await enable(await signedIn(world, user));
    const browser = await pendingSignIn(user);
    world.advance(601_000);
    expect((await browser.get('/sign-in/two-factor')).headers.location).toMatch(/^\/sign-in\?/);
    expect((await answer(browser, codeOf(secret))).statusCode).toBe(403);
  });

  test('is disabled only with the password', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    await enable(browser);
    const off = (password: string) =>
      browser.submit('/profile/security', '/profile/security/two-factor/off', { password });
    expect((await off('wrong')).statusCode).toBe(422);
    expect((await world.accounts.users.get(user.id))?.totp_secret).not.toBe('');
    expect((await off(PASSWORD)).statusCode).toBe(303);
    expect((await world.accounts.users.get(user.id))?.totp_secret).toBe('');
  });

  test('stores the secret encrypted and bound to its user', async () => {
    const user = await aUser(world);
    const { secret } = await enable(await signedIn(world, user));
    const stored = (await world.accounts.users.get(user.id))?.totp_secret ?? '';
    expect(stored).not.toContain(secret);
    expect(world.accounts.seal.decrypt(stored, `totp ${user.id}`)).toBe(secret);
    expect(() => world.accounts.seal.decrypt(stored, 'totp 999')).toThrow();
  });
});
