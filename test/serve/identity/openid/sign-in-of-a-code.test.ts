import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Grant } from '../../../../serve/accounts/tables.ts';
import { readToken } from '../../../../serve/accounts/tokens.ts';
import { enableTwoFactor, newTotpSecret } from '../../../../serve/accounts/two-factor.ts';
import { Browser } from '../../accounts/browser.ts';
import { openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { aCode, answerOf, aPair, authorizeUrl, type Party, party } from '../oauth/flow.ts';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
});
afterAll(() => world.close());

async function grantOf(code: string): Promise<Grant> {
  const grant = await world.accounts.grants.get(readToken(code)?.id ?? '');
  if (grant === null) throw new Error(`no grant of ${code}`);
  return grant;
}

test.each(['n-0S6_WzA2Mj', 'a b+c%20&d=é🚀', '"><script>', 'n'.repeat(5000)])(
  'a code keeps the nonce verbatim: %j',
  async (nonce) => {
    expect((await grantOf(await aCode(the, { nonce }))).nonce).toBe(nonce);
  },
);

test('a code without a nonce has none (OpenID Connect Core §3.1.2.1: it is optional)', async () => {
  expect((await grantOf(await aCode(the))).nonce).toBe('');
  expect((await grantOf(await aCode(the, { nonce: '' }))).nonce).toBe('');
});

test('a code keeps when and how the user signed in, however late the consent', async () => {
  const own = await party(world);
  const signedInAt = world.now();
  world.advance(60_000);
  const first = await grantOf(await aCode(own));
  expect(Math.abs(first.signed_in_ms - signedInAt)).toBeLessThan(5000);
  expect(first.amr).toEqual(['pwd']);
  await aPair(own);
  world.advance(60_000);
  // Without a page, since the user has consented.
  const again = await grantOf(await aCode(own, { nonce: 'again' }));
  expect(again).toMatchObject({ signed_in_ms: first.signed_in_ms, amr: ['pwd'], nonce: 'again' });
});

test('a new sign-in for prompt=login is that of the code', async () => {
  const own = await party(world);
  await aPair(own);
  const { signed_in_ms: before } = await grantOf(await aCode(own));
  world.advance(60_000);
  const away = await own.browser.get(authorizeUrl(own, { prompt: 'login' }));
  const fields = { login: own.user.username, password: PASSWORD };
  const back = await own.browser.submit(String(away.headers.location), '/sign-in', fields);
  const answer = await own.browser.get(String(back.headers.location));
  const { signed_in_ms } = await grantOf(answerOf(answer).get('code') ?? '');
  expect(signed_in_ms).toBeGreaterThanOrEqual(before + 60_000);
});

test('a second factor is named', async () => {
  const own = await party(world);
  const secret = newTotpSecret();
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  await enableTwoFactor(world.accounts, own.user, secret, totp.generate({ timestamp: world.now() }));
  world.advance(30_000);
  const browser = new Browser(world.app);
  const fields = { login: own.user.username, password: PASSWORD };
  const away = await browser.submit('/sign-in', '/sign-in', fields);
  const code = totp.generate({ timestamp: world.now() });
  await browser.submit(String(away.headers.location), '/sign-in/two-factor', { code });
  expect((await grantOf(await aCode({ ...own, browser }))).amr).toEqual(['pwd', 'otp', 'mfa']);
});
