import { createSecretKey } from 'node:crypto';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SigningKeys } from '../../../../serve/identity/openid/signing-keys.ts';
import { type Answer, Browser, encoded, type Fields, hiddenFields, plain } from '../../accounts/browser.ts';
import { anApplication, aUser, openWorld, signedIn, type World } from '../../accounts/world.ts';
import { aCode, exchangeOf, isActive, type Party, party, post } from '../oauth/flow.ts';

const SIGNED_OUT = 'https://client.example/signed-out';
const HOUR_MS = 3_600_000;

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
}

let world: World;
let the: Party;
let hint: string;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
beforeEach(async () => {
  the = await party(world, { post_logout_redirect_uris: `${SIGNED_OUT}\n${SIGNED_OUT}/tenant?id=1` });
  hint = (await tokensOf(the)).id_token;
});

async function tokensOf(of: Party): Promise<Tokens> {
  return (await post(world, '/oauth/token', exchangeOf(of, await aCode(of, { scope: 'openid' })))).json();
}

const logoutUrl = (fields: Fields): string => `/oauth/logout?${encoded(fields)}`;
const CONFIRM = '/oauth/logout/confirm';
/** Presses the button of the page, which a script does where the page needs no click. */
const confirm = (page: Answer): Promise<Answer> =>
  the.browser.post(CONFIRM, hiddenFields(page.body, CONFIRM));
const postsItself = ({ body }: Answer): boolean => /<script nonce="[^"]+">/.test(body);
const hasSession = async (of = the): Promise<boolean> =>
  (await of.browser.get('/profile')).statusCode === 200;

/** The page refuses the request: nobody is redirected, and the session goes on until the user ends it. */
async function expectRefused(fields: Fields, reason: RegExp): Promise<void> {
  const page = await the.browser.get(logoutUrl(fields));
  expect([page.statusCode, page.headers.location]).toEqual([400, undefined]);
  expect(plain(page.body)).toMatch(reason);
  expect(postsItself(page)).toBe(false);
  expect(page.body).not.toContain('client.example');
  expect(await hasSession()).toBe(true);
  const answer = await confirm(page);
  expect(answer.headers.location).toBe('/sign-in');
  expect(await hasSession()).toBe(false);
}

describe('a logout with an ID token of the user who is signed in', () => {
  test('needs no click, ends the session and leads back with the state; its GET alone changes nothing', async () => {
    const page = await the.browser.get(
      logoutUrl({ id_token_hint: hint, post_logout_redirect_uri: SIGNED_OUT, state: 'ünïcode ☃ &=+' }),
    );
    expect(page.statusCode).toBe(200);
    expect(postsItself(page)).toBe(true);
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(page.headers['cache-control']).toBe('no-store');
    expect(await hasSession()).toBe(true);
    const answer = await confirm(page);
    expect(answer.statusCode).toBe(303);
    const location = new URL(String(answer.headers.location));
    expect(location.origin + location.pathname).toBe(SIGNED_OUT);
    expect([...location.searchParams]).toEqual([['state', 'ünïcode ☃ &=+']]);
    expect(await hasSession()).toBe(false);
  });

  test('leads to the redirect URI as it is when there is no state', async () => {
    const page = await the.browser.get(
      logoutUrl({ id_token_hint: hint, post_logout_redirect_uri: SIGNED_OUT }),
    );
    expect((await confirm(page)).headers.location).toBe(SIGNED_OUT);
  });

  test('keeps the query of the redirect URI', async () => {
    const post_logout_redirect_uri = `${SIGNED_OUT}/tenant?id=1`;
    const page = await the.browser.get(
      logoutUrl({ id_token_hint: hint, post_logout_redirect_uri, state: 's' }),
    );
    expect((await confirm(page)).headers.location).toBe(`${post_logout_redirect_uri}&state=s`);
  });

  test('stays here without a redirect URI, whatever the state', async () => {
    for (const more of [{}, { state: 'alone' }]) {
      the = { ...the, browser: await signedIn(world, the.user) };
      const page = await the.browser.get(logoutUrl({ id_token_hint: hint, ...more }));
      expect(postsItself(page)).toBe(true);
      expect((await confirm(page)).headers.location).toBe('/sign-in');
      expect((await the.browser.get('/sign-in')).body).toContain('You have been signed out.');
    }
  });

  test('leaves the tokens of applications and other sessions of the user', async () => {
    const { access_token } = await tokensOf(the);
    const other = { ...the, browser: await signedIn(world, the.user) };
    await confirm(await the.browser.get(logoutUrl({ id_token_hint: hint })));
    expect(await hasSession()).toBe(false);
    expect(await hasSession(other)).toBe(true);
    expect(await isActive(world, access_token)).toBe(true);
  });

  test('accepts one that has expired, one of ES256, and one whose key was replaced', async () => {
    const modern = await anApplication(world, await aUser(world), { id_token_alg: 'ES256' });
    const { id_token: elliptic } = await tokensOf({ ...the, ...modern });
    expect(JSON.parse(Buffer.from(elliptic.split('.')[0] ?? '', 'base64url').toString()).alg).toBe('ES256');
    await new SigningKeys(world.accounts).rotate({ revoke: false });
    world.advance(2 * HOUR_MS);
    for (const id_token_hint of [hint, elliptic]) {
      expect(postsItself(await the.browser.get(logoutUrl({ id_token_hint })))).toBe(true);
    }
  });

  test('accepts client_id, logout_hint and ui_locales beside it', async () => {
    const fields = { client_id: the.application.id, logout_hint: the.user.username, ui_locales: 'de fr' };
    expect(postsItself(await the.browser.get(logoutUrl({ id_token_hint: hint, ...fields })))).toBe(true);
  });
});

describe('a logout that the user has to confirm', () => {
  test('is one without an ID token; it leads back when the client_id names the application', async () => {
    const fields = { client_id: the.application.id, post_logout_redirect_uri: SIGNED_OUT, state: 's' };
    const page = await the.browser.get(logoutUrl(fields));
    expect([page.statusCode, postsItself(page)]).toEqual([200, false]);
    expect(page.body).toContain(`${the.application.name} asks you to sign out. You are signed in as`);
    expect(page.body).toContain('<strong>client.example</strong>');
    expect(await hasSession()).toBe(true);
    expect((await confirm(page)).headers.location).toBe(`${SIGNED_OUT}?state=s`);
    expect(await hasSession()).toBe(false);
  });

  test.each([{}, { state: 'alone' }])('is one with %j', async (fields) => {
    const page = await the.browser.get(logoutUrl(fields));
    expect([page.statusCode, postsItself(page)]).toEqual([200, false]);
    expect(await hasSession()).toBe(true);
    expect((await confirm(page)).headers.location).toBe('/sign-in');
    expect(await hasSession()).toBe(false);
  });

  test('is one with the ID token of another user, so an application cannot sign out whom it does not know', async () => {
    const attacker = await party(world, { post_logout_redirect_uris: 'https://evil.example/' });
    const { id_token } = await tokensOf(attacker);
    const fields = { id_token_hint: id_token, post_logout_redirect_uri: 'https://evil.example/' };
    const page = await the.browser.get(logoutUrl(fields));
    expect([page.statusCode, page.headers.location, postsItself(page)]).toEqual([200, undefined, false]);
    expect(page.body).toContain('asks you to sign out of another account');
    expect(await hasSession()).toBe(true);
  });

  test('is shown as over to a visitor who is signed out; only a click leads back', async () => {
    const visitor = new Browser(world.app);
    for (const fields of [{ id_token_hint: hint }, { client_id: the.application.id }]) {
      const page = await visitor.get(
        logoutUrl({ ...fields, post_logout_redirect_uri: SIGNED_OUT, state: 'a b' }),
      );
      expect([page.statusCode, page.headers.location, postsItself(page)]).toEqual([200, undefined, false]);
      expect(plain(page.body)).toContain(`href="${SIGNED_OUT}?state=a%20b"`);
    }
    const page = await visitor.get('/oauth/logout');
    expect(page.body).toContain('You are signed out');
    const wrong = await visitor.get(
      logoutUrl({ id_token_hint: hint, post_logout_redirect_uri: 'https://evil.example' }),
    );
    expect(wrong.statusCode).toBe(400);
    expect(wrong.body).not.toContain('evil.example');
  });
});

describe('a wrong logout request', () => {
  test.each([
    'https://evil.example/signed-out',
    `${SIGNED_OUT}?more=1`,
    `${SIGNED_OUT}/`,
    `${SIGNED_OUT}#fragment`,
    'https://CLIENT.example/signed-out',
    'https://client.example/callback',
    'javascript:alert(1)',
    '/profile',
  ])('with the redirect URI %j leads nowhere', (post_logout_redirect_uri) =>
    expectRefused(
      { id_token_hint: hint, post_logout_redirect_uri, state: 's' },
      /post_logout_redirect_uri is not registered/,
    ),
  );

  test('with a redirect URI but no application leads nowhere', () =>
    expectRefused({ post_logout_redirect_uri: SIGNED_OUT }, /requires the client_id or an id_token_hint/));

  test('with the ID token of another application leads nowhere', async () => {
    const other = await anApplication(world, await aUser(world));
    const { id_token } = await tokensOf({ ...the, ...other });
    const fields = { id_token_hint: id_token, post_logout_redirect_uri: SIGNED_OUT };
    await expectRefused(fields, /not registered for the application/);
    the = { ...the, browser: await signedIn(world, the.user) };
    await expectRefused(
      { ...fields, client_id: the.application.id },
      /client_id is not the application that the id_token_hint was issued to/,
    );
  });

  test('of an application that is unknown, blocked or deleted leads nowhere', async () => {
    const fields = { id_token_hint: hint, post_logout_redirect_uri: SIGNED_OUT };
    await expectRefused(
      { ...fields, id_token_hint: '', client_id: 'x' },
      /not registered, or it was deleted/,
    );
    for (const change of [{ blocked_ms: 1 }, { revoked_ms: 1 }]) {
      await world.accounts.applications.change(the.application.id, (application) => ({
        next: { ...(application ?? the.application), ...change },
        result: undefined,
      }));
      the = { ...the, browser: await signedIn(world, the.user) };
      await expectRefused(fields, /not registered, or it was deleted or blocked/);
    }
  });

  test('with a parameter that comes twice or that no text can be is refused', async () => {
    await expectRefused({ id_token_hint: hint, state: ['a', 'b'] }, /more than once/);
    for (const query of ['state=%ff', 'state=%00', `state=${'a'.repeat(9000)}`]) {
      the = { ...the, browser: await signedIn(world, the.user) };
      expect((await the.browser.get(`/oauth/logout?${query}`)).statusCode, query.slice(0, 20)).toBe(400);
      expect(await hasSession()).toBe(true);
    }
  });
});

describe('an id_token_hint that this service did not issue is refused', () => {
  const refuse = (id_token_hint: string) =>
    expectRefused(
      { id_token_hint, client_id: the.application.id, post_logout_redirect_uri: SIGNED_OUT },
      /The id_token_hint is not an ID token of this service/,
    );
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());
  const partsOf = (token: string) => {
    const [head, claims, signature = ''] = token.split('.');
    return { head: decode(head), claims: decode(claims), signature };
  };

  test('a text of another kind, or a token of another kind', async () => {
    const { access_token } = await tokensOf(the);
    for (const text of ['x', 'a.b.c', access_token, `${hint}.`, hint.slice(0, -8)]) {
      the = { ...the, browser: await signedIn(world, the.user) };
      await refuse(text);
    }
  });

  test('modified claims or a modified signature', async () => {
    const { head, claims, signature } = partsOf(hint);
    const victim = await aUser(world);
    await refuse(`${encode(head)}.${encode({ ...claims, sub: victim.id })}.${signature}`);
    the = { ...the, browser: await signedIn(world, the.user) };
    const first = signature.startsWith('A') ? 'B' : 'A';
    await refuse(`${encode(head)}.${encode(claims)}.${first}${signature.slice(1)}`);
  });

  test('none, and HS256 with the public key as its secret', async () => {
    const { head, claims } = partsOf(hint);
    await refuse(`${encode({ ...head, alg: 'none' })}.${encode(claims)}.`);
    const [jwk] = await new SigningKeys(world.accounts).published();
    for (const text of [JSON.stringify(jwk), jwk?.n ?? '']) {
      the = { ...the, browser: await signedIn(world, the.user) };
      const forged = new SignJWT(claims).setProtectedHeader({ ...head, alg: 'HS256' });
      await refuse(await forged.sign(createSecretKey(Buffer.from(text.padEnd(32, '.')))));
    }
  });

  test('one that another key signed, under the id of our key, an unknown id, or with the key inside', async () => {
    const { head, claims } = partsOf(hint);
    const { privateKey } = await generateKeyPair('RS256');
    for (const more of [{}, { kid: 'unknown' }, { kid: '../../etc/passwd' }, { kid: undefined }]) {
      the = { ...the, browser: await signedIn(world, the.user) };
      const forged = new SignJWT(claims).setProtectedHeader({ ...head, ...more });
      await refuse(await forged.sign(privateKey));
    }
  });

  test('one of another issuer, and one whose key was revoked', async () => {
    const { head, claims } = partsOf(hint);
    const keys = new SigningKeys(world.accounts);
    const { key, kid } = await keys.signer('RS256');
    const foreign = new SignJWT({ ...claims, iss: 'https://other.example' });
    await refuse(await foreign.setProtectedHeader({ ...head, kid }).sign(key));
    the = { ...the, browser: await signedIn(world, the.user) };
    await keys.rotate({ revoke: true });
    await refuse(hint);
  });
});

describe('a forged logout', () => {
  test('by a form of another site is answered by the page, which changes nothing', async () => {
    const fields = { client_id: the.application.id, post_logout_redirect_uri: SIGNED_OUT, state: 'a b' };
    const answer = await post(world, '/oauth/logout', { ...fields, id_token_hint: hint, more: 'x' });
    expect(answer.statusCode).toBe(303);
    expect(answer.cookies).toEqual([]);
    const location = new URL(String(answer.headers.location), 'http://localhost');
    expect(location.pathname).toBe('/oauth/logout');
    expect(Object.fromEntries(location.searchParams)).toEqual({ ...fields, id_token_hint: hint });
    const own = await the.browser.post('/oauth/logout', { ...fields, confirmed: 'yes' });
    expect(own.statusCode).toBe(303);
    expect(await hasSession()).toBe(true);
  });

  test('that presses the button from another site, or without the token of our page, is refused', async () => {
    const fields = hiddenFields((await the.browser.get(logoutUrl({ id_token_hint: hint }))).body, CONFIRM);
    const stranger = await signedIn(world, await aUser(world));
    const foreign = hiddenFields((await stranger.get('/oauth/logout')).body, CONFIRM);
    const attempts: [Fields, Record<string, string>][] = [
      [{}, {}],
      [foreign, {}],
      [{ ...fields, form_token: 'x' }, {}],
      [fields, { origin: 'https://evil.example' }],
      [fields, { 'sec-fetch-site': 'cross-site' }],
    ];
    for (const [sent, headers] of attempts) {
      expect((await the.browser.post(CONFIRM, sent, headers)).statusCode).toBe(403);
      expect(await hasSession()).toBe(true);
    }
  });

  test('by GET or HEAD ends nothing', async () => {
    for (const method of ['GET', 'HEAD'] as const) {
      for (const url of [logoutUrl({ id_token_hint: hint }), '/oauth/logout', CONFIRM]) {
        const cookie = [...the.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
        await world.app.inject({ method, url, headers: { cookie } });
      }
    }
    expect(await hasSession()).toBe(true);
  });

  test('cannot send the user elsewhere by what it adds to the form', async () => {
    const page = await the.browser.get(logoutUrl({ id_token_hint: hint }));
    const fields = hiddenFields(page.body, CONFIRM);
    const more = { client_id: the.application.id, post_logout_redirect_uri: 'https://evil.example/' };
    const answer = await the.browser.post(CONFIRM, { ...fields, ...more });
    expect([answer.statusCode, answer.headers.location]).toEqual([400, undefined]);
    expect(await hasSession()).toBe(true);
  });
});
