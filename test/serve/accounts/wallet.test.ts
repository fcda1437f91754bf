import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { handleUsersRequest } from '../../../serve/accounts/operator.ts';
import { setPassword } from '../../../serve/accounts/password-change.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import type { Scheme } from '../../../serve/accounts/wallet-signature.ts';
import { linkWallet, walletsOf } from '../../../serve/accounts/wallets.ts';
import { Browser, hiddenFields } from './browser.ts';
import { challenge, isIn, type Key, keyOf, SCHEMES, signIn } from './wallet.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from './world.ts';

/** The 64 bytes of a signature, as hex, with the lowest bit of the last byte changed: never the same signature. */
const withOneBitChanged = (signature: string) =>
  `${signature.slice(0, -1)}${(Number.parseInt(signature.slice(-1), 16) ^ 1).toString(16)}`;

let world: World;
beforeAll(async () => {
  world = await openWorld({ SIGN_IN_ATTEMPTS: '1000' });
});
afterAll(() => world.close());

describe('sign-in with a wallet', () => {
  test.each(
    SCHEMES.flatMap(
      (scheme) =>
        [
          [scheme, 'raw'],
          [scheme, '<Bytes>'],
        ] as const,
    ),
  )('%s, %s: makes an account the first time and finds it the second time', async (scheme, form) => {
    const key = keyOf(scheme, 10 + SCHEMES.indexOf(scheme) * 2 + (form === 'raw' ? 0 : 1));
    const names = [];
    for (let i = 0; i < 2; i++) {
      const browser = new Browser(world.app);
      const { sealed, message } = await challenge(browser, key);
      const signature = key.sign(form === 'raw' ? message : `<Bytes>${message}</Bytes>`);
      expect((await signIn(browser, sealed, signature)).headers.location).toBe('/profile');
      names.push(/class="who" href="\/profile">([^<]+)</.exec((await browser.get('/profile')).body)?.[1]);
    }
    expect(names[0]).toMatch(/^wallet-[0-9a-f]{16}$/);
    expect(names[1]).toBe(names[0]);
  });

  test('the message names domain, account, purpose, nonce and times', async () => {
    const key = keyOf('sr25519', 30);
    const { message } = await challenge(new Browser(world.app), key);
    expect(message).toContain(' wants you to sign in with your Polkadot account:');
    expect(message).toContain(key.address);
    expect(message).toMatch(/Nonce: [\w-]{22}/);
    expect(message).toMatch(/URI: http:\/\//);
    expect(message).toMatch(/Issued At: \d{4}-/);
    expect(message).toMatch(/Expiration Time: \d{4}-/);
  });

  test('a signature is valid once, for five minutes, in the browser that requested the challenge', async () => {
    const key = keyOf('sr25519', 31);
    const [mine, theirs] = [new Browser(world.app), new Browser(world.app)];
    const first = await challenge(mine, key);
    await signIn(theirs, first.sealed, key.sign(first.message));
    expect(await isIn(theirs)).toBe(false);
    const second = await challenge(mine, key);
    const signature = key.sign(second.message);
    await signIn(mine, second.sealed, signature);
    expect(await isIn(mine)).toBe(true);
    const again = new Browser(world.app);
    await signIn(again, second.sealed, signature);
    expect(await isIn(again)).toBe(false);
    const late = new Browser(world.app);
    const third = await challenge(late, key);
    world.advance(5 * 60_000 + 1);
    await signIn(late, third.sealed, key.sign(third.message));
    expect(await isIn(late)).toBe(false);
  });

  test('a signature that is sent twice, also at the same moment, is accepted once', async () => {
    const key = keyOf('sr25519', 34);
    const browser = new Browser(world.app);
    const { sealed, message } = await challenge(browser, key);
    const page = hiddenFields((await browser.get('/sign-in')).body, '/sign-in/wallet');
    const fields = { ...page, sealed, signature: key.sign(message), next: '/profile' };
    const send = async () => (await browser.post('/sign-in/wallet', fields)).headers.location;
    const first = await Promise.all([send(), send(), send()]);
    expect(first.filter((location) => location === '/profile')).toHaveLength(1);
  });

  test('a challenge that was changed is refused', async () => {
    const [key, other] = [keyOf('sr25519', 35), keyOf('sr25519', 36)];
    const browser = new Browser(world.app);
    const { sealed, message } = await challenge(browser, key);
    for (const changed of [
      '',
      'x',
      other.address,
      `${sealed.slice(0, 99)}${sealed[99] === 'A' ? 'B' : 'A'}${sealed.slice(100)}`,
      sealed.slice(0, -8),
    ]) {
      await signIn(browser, changed, key.sign(message));
      expect(await isIn(browser)).toBe(false);
    }
    await signIn(browser, sealed, key.sign(message));
    expect(await isIn(browser)).toBe(true);
  });

  test('those who ask for challenges and sign none take no memory, and have so many a minute', async () => {
    const { keyValue } = world.pipeline.runtime;
    const kept: string[] = [];
    const watched = Object.assign(Object.create(keyValue) as typeof keyValue, {
      get: (key: string) => keyValue.get(key),
      increment: (key: string, by: number, ttlMs: number) => keyValue.increment(key, by, ttlMs),
      set: (key: string, value: string, options?: object) => {
        kept.push(key);
        return keyValue.set(key, value, options);
      },
    });
    await using strict = await world.beside({ WALLET_CHALLENGES_PER_MINUTE: '3' }, watched);
    const browser = new Browser(strict.app, '198.51.100.8');
    const key = keyOf('sr25519', 37);
    const page = hiddenFields((await browser.get('/sign-in')).body, '/sign-in/wallet');
    const ask = (by: Browser) =>
      by.post('/wallet/challenge', { ...page, purpose: 'sign in', address: key.address, scheme: key.scheme });
    kept.length = 0;
    for (let i = 0; i < 3; i++) expect((await ask(browser)).statusCode).toBe(200);
    expect(kept).toEqual([]);
    const refused = await ask(browser);
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await challenge(new Browser(strict.app, '198.51.100.9'), key)).status).toBe(200);
  });

  test('a signature of another key or another text, or a damaged one, is refused', async () => {
    const [key, other] = [keyOf('ed25519', 32), keyOf('ed25519', 33)];
    const wrong = [
      (message: string) => other.sign(message),
      (message: string) => key.sign(`${message} `),
      (message: string) => key.sign(`<Bytes>${message}`),
      (message: string) => withOneBitChanged(key.sign(message)),
      () => `0x${'00'.repeat(64)}`,
      () => `0x${'ff'.repeat(65)}`,
      () => '0x',
      () => 'x'.repeat(130),
    ];
    for (const sign of wrong) {
      const browser = new Browser(world.app);
      const { sealed, message } = await challenge(browser, key);
      expect((await signIn(browser, sealed, sign(message))).statusCode).toBe(303);
      expect(await isIn(browser)).toBe(false);
    }
  });

  test('no key type counts as another: only the given type is tried', async () => {
    const marks: Record<Scheme, string> = { ed25519: '00', sr25519: '01', ecdsa: '02' };
    for (const scheme of SCHEMES) {
      for (const claimed of SCHEMES.filter((one) => one !== scheme)) {
        const key = keyOf(scheme, 40 + SCHEMES.indexOf(scheme));
        const browser = new Browser(world.app);
        const { sealed, message } = await challenge(browser, { address: key.address, scheme: claimed });
        await signIn(browser, sealed, `0x${marks[scheme]}${key.sign(message).slice(2)}`);
        expect(await isIn(browser), `${scheme} as ${claimed}`).toBe(false);
      }
    }
  });

  test('a signature with a type byte is accepted, as extensions may send it', async () => {
    const key = keyOf('sr25519', 44);
    const browser = new Browser(world.app);
    const { sealed, message } = await challenge(browser, key);
    await signIn(browser, sealed, `0x01${key.sign(message).slice(2)}`);
    expect(await isIn(browser)).toBe(true);
  });

  test.each([
    ['no address', { address: '', scheme: 'sr25519' }],
    ['an Ethereum address', { address: `0x${'11'.repeat(20)}`, scheme: 'ecdsa' }],
    ['a wrong checksum', { address: '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp6', scheme: 'sr25519' }],
    ['an unknown kind of key', { address: keyOf('sr25519', 45).address, scheme: 'ethereum' }],
  ])('%s is refused before anything is signed', async (_, asked) => {
    expect((await challenge(new Browser(world.app), asked)).status).toBe(422);
  });

  test('an unknown wallet creates no account when sign-up is closed', async () => {
    await using closed = await world.beside({ SIGN_UP: 'closed' });
    const key = keyOf('sr25519', 46);
    const browser = new Browser(closed.app);
    const { sealed, message } = await challenge(browser, key);
    await signIn(browser, sealed, key.sign(message));
    expect(await isIn(browser)).toBe(false);
    expect((await new Browser(closed.app).get('/sign-up')).statusCode).toBe(403);
  });

  test('creates no more accounts than an address may create', async () => {
    await using strict = await world.beside({ SIGN_IN_ATTEMPTS: '3' });
    const byWallet = async (seedByte: number) => {
      const browser = new Browser(strict.app, '198.51.100.7');
      const key = keyOf('sr25519', seedByte);
      const { sealed, message } = await challenge(browser, key);
      return (await signIn(browser, sealed, key.sign(message))).statusCode;
    };
    for (const seedByte of [70, 71, 72]) expect(await byWallet(seedByte)).toBe(303);
    expect(await byWallet(73)).toBe(429);
    // An account that is there already is signed in to all the same.
    expect(await byWallet(70)).toBe(303);
    const fields = { username: 'one-too-many', password: PASSWORD };
    const signUp = await new Browser(strict.app, '198.51.100.7').submit('/sign-up', '/sign-up', fields);
    expect(signUp.statusCode).toBe(429);
  });
});

describe('a linked wallet', () => {
  async function link(browser: Browser, key: Key, password = PASSWORD) {
    const { sealed, message } = await challenge(browser, key, 'link this account', '/profile/wallets');
    const fields = { sealed, signature: key.sign(message), password };
    await browser.submit('/profile/wallets', '/profile/wallets', fields);
  }
  const isLinked = async (browser: Browser, key: Key) =>
    (await browser.get('/profile/wallets')).body.includes(`<code>${key.address}</code>`);

  test('signs in as its user until it is unlinked', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const key = keyOf('ecdsa', 50);
    await link(browser, key);
    const page = await browser.get('/profile/wallets');
    expect(page.body).toContain(key.address);
    const elsewhere = new Browser(world.app);
    const { sealed, message } = await challenge(elsewhere, key);
    await signIn(elsewhere, sealed, key.sign(message));
    expect((await elsewhere.get('/profile')).body).toContain(user.username);
    const action = /action="(\/profile\/wallets\/[^"]+\/unlink)"/.exec(page.body)?.[1] ?? '';
    await browser.submit('/profile/wallets', action, {});
    expect((await browser.get('/profile/wallets')).body).toContain('You have no linked wallets');
    const again = new Browser(world.app);
    const second = await challenge(again, key);
    await signIn(again, second.sealed, key.sign(second.message));
    expect((await again.get('/profile')).body).not.toContain(`href="/profile">${user.username}<`);
  });

  test('is linked only with the password of the account', async () => {
    const browser = await signedIn(world, await aUser(world));
    const key = keyOf('sr25519', 55);
    for (const wrong of ['', 'wrong password']) {
      await link(browser, key, wrong);
      expect(await isLinked(browser, key)).toBe(false);
    }
    await link(browser, key);
    expect(await isLinked(browser, key)).toBe(true);
  });

  test('is linked only after a recent sign-in to an account without a password or a second factor', async () => {
    const [first, second, third] = [keyOf('sr25519', 56), keyOf('sr25519', 57), keyOf('sr25519', 58)];
    const browser = new Browser(world.app);
    const { sealed, message } = await challenge(browser, first);
    await signIn(browser, sealed, first.sign(message));
    await link(browser, second, '');
    expect(await isLinked(browser, second)).toBe(true);
    world.advance(16 * 60_000);
    await link(browser, third, '');
    expect(await isLinked(browser, third)).toBe(false);
    const fields = { new_password: 'another four quiet words' };
    const set = await browser.submit('/profile/security', '/profile/security/password', fields);
    expect(set.statusCode).toBe(422);
  });

  test('is not linked by a request that began before the password was changed', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const key = keyOf('ed25519', 59);
    const { sealed, message } = await challenge(browser, key, 'link this account', '/profile/wallets');
    const before = (await world.accounts.users.get(user.id)) as User;
    await setPassword(world.accounts, before, 'another four quiet words');
    const linking = linkWallet(world.accounts, before, { sealed, signature: key.sign(message) });
    await expect(linking).rejects.toThrow('signed out');
    expect(await walletsOf(world.accounts, user.id)).toEqual([]);
  });

  test('is unlinked by a change of the password, unless the user keeps it, and by a reset', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const key = keyOf('sr25519', 59);
    const change = (password: string, new_password: string, more = {}) =>
      browser.submit('/profile/security', '/profile/security/password', { password, new_password, ...more });
    await link(browser, key);
    await change(PASSWORD, 'another four quiet words', { keep_wallets: 'on' });
    expect(await isLinked(browser, key)).toBe(true);
    await change('another four quiet words', PASSWORD);
    expect(await isLinked(browser, key)).toBe(false);
    await link(browser, key);
    const { username } = user;
    await handleUsersRequest(world.accounts, { action: 'reset-password', username, password: PASSWORD });
    expect(await isLinked(await signedIn(world, user), key)).toBe(false);
  });

  test('a signature for one purpose is refused for the other', async () => {
    const browser = await signedIn(world, await aUser(world));
    const key = keyOf('sr25519', 51);
    const { sealed, message } = await challenge(browser, key, 'sign in', '/profile/wallets');
    await browser.submit('/profile/wallets', '/profile/wallets', {
      sealed,
      signature: key.sign(message),
      password: PASSWORD,
    });
    expect((await browser.get('/profile/wallets')).body).toContain('You have no linked wallets');
  });

  test('belongs to the account that linked it first', async () => {
    const key = keyOf('sr25519', 52);
    const [mine, theirs] = [
      await signedIn(world, await aUser(world)),
      await signedIn(world, await aUser(world)),
    ];
    await link(mine, key);
    await link(theirs, key);
    expect((await mine.get('/profile/wallets')).body).toContain(key.address);
    expect((await theirs.get('/profile/wallets')).body).toContain('You have no linked wallets');
  });

  test('an account without a password disables two-factor authentication only with a code', async () => {
    const key = keyOf('sr25519', 54);
    const browser = new Browser(world.app);
    const { sealed, message } = await challenge(browser, key);
    await signIn(browser, sealed, key.sign(message));
    const page = (await browser.get('/profile/security/two-factor')).body;
    const secret = Secret.fromBase32(/id="totp-secret">([A-Z2-7]+)</.exec(page)?.[1] ?? '');
    const code = () => new TOTP({ secret }).generate({ timestamp: world.now() });
    const setup = /name="setup" value="([^"]+)"/.exec(page)?.[1] ?? '';
    await browser.submit('/profile/security/two-factor', '/profile/security/two-factor', {
      setup,
      code: code(),
    });
    world.advance(60_000);
    const off = (given: string) =>
      browser.submit('/profile/security', '/profile/security/two-factor/off', { code: given });
    expect((await off('')).statusCode).toBe(422);
    expect((await off('000000')).statusCode).toBe(422);
    expect((await off(code())).statusCode).toBe(303);
  });

  test('the only sign-in method of an account cannot be removed', async () => {
    const key = keyOf('sr25519', 53);
    const browser = new Browser(world.app);
    const { sealed, message } = await challenge(browser, key);
    await signIn(browser, sealed, key.sign(message));
    const page = await browser.get('/profile/wallets');
    await browser.submit(
      '/profile/wallets',
      /action="(\/profile\/wallets\/[^"]+\/unlink)"/.exec(page.body)?.[1] ?? '',
      {},
    );
    const after = await browser.get('/profile/wallets');
    expect(after.body).toContain(key.address);
    expect(after.body).toContain('Set a password first');
  });
});
