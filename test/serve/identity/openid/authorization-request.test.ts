import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readToken } from '../../../../serve/accounts/tokens.ts';
import { type Answer, Browser, type Fields, hiddenFields, plain } from '../../accounts/browser.ts';
import { openWorld, PASSWORD, signedIn, type World } from '../../accounts/world.ts';
import {
  aCode,
  answerOf,
  aPair,
  authorizeUrl,
  decide,
  exchangeOf,
  type Party,
  party,
  post,
} from '../oauth/flow.ts';
import { issuerOf } from './verify.ts';

const RESOURCES = ['https://mcp.example', 'urn:example:reports'];

let world: World;
/** A user who has authorized the application before, and one who has not. */
let the: Party;
let other: Party;
let idToken: string;
beforeAll(async () => {
  world = await openWorld({ OAUTH_RESOURCES: RESOURCES.join() });
  the = await party(world);
  other = await party(world);
  const exchanged = await post(
    world,
    '/oauth/token',
    exchangeOf(the, await aCode(the, { scope: 'openid api' })),
  );
  idToken = exchanged.json().id_token;
});
afterAll(() => world.close());

const codeOf = (answer: Answer) => answerOf(answer).get('code') ?? '';
const errorOf = (answer: Answer) => answerOf(answer).get('error');
const ask = (more: Fields, browser = the.browser) => browser.get(authorizeUrl(the, more));
const grantOf = (code: string) => world.accounts.grants.get(readToken(code)?.id ?? '');

/** Signs in on the page that an answer leads to, and opens the request again. */
async function signInAt(browser: Browser, away: Answer, user = the.user): Promise<Answer> {
  expect(away.headers.location).toMatch(/^\/sign-in\?/);
  const fields = { login: user.username, password: PASSWORD };
  return browser.submitAndFollow(String(away.headers.location), '/sign-in', fields);
}

describe('parameters without a meaning here are ignored (OpenID Connect Core §3.1.2.1)', () => {
  test.each<Fields>([
    { extra: 'foobar', 'a[b]': 'c' },
    { display: 'page' },
    { display: 'popup' },
    { ui_locales: 'se-SV fr' },
    { claims_locales: 'se' },
    { acr_values: '1 2' },
    { claims: '{"id_token":{"name":{"essential":true}}}' },
    { login_hint: 'nobody@example.org' },
  ])('%j', async (more) => {
    expect(codeOf(await ask(more))).toMatch(/^cmc_/);
  });
});

describe('parameters that change the request are refused by their own errors (§3.1.2.6)', () => {
  test.each<[string, Fields]>([
    ['request_not_supported', { request: 'eyJhbGciOiJub25lIn0.e30.' }],
    ['request_not_supported', { request: 'x'.repeat(9000), response_type: '' }],
    ['request_uri_not_supported', { request_uri: 'https://client.example/request.jwt' }],
    ['registration_not_supported', { registration: '{}' }],
  ])('%s', async (error, more) => {
    const given = answerOf(await ask(more));
    expect([given.get('error'), given.get('state')]).toEqual([error, 'a state']);
    expect(given.get('iss')).not.toBeNull();
  });
});

describe('scope', () => {
  test('left out, is what the application registered', async () => {
    const page = await ask({ scope: '', prompt: 'consent' });
    const scope = 'api read_user openid email';
    expect(hiddenFields(page.body, '/oauth/authorize').scope).toBe(scope);
    expect((await grantOf(await aCode(other, { scope: '' })))?.scopes).toEqual(scope.split(' '));
  });

  test('offline_access is accepted and ignored, here and at a refresh', async () => {
    const pair = await aPair(the, { scope: 'openid offline_access' });
    expect(pair).toMatchObject({ scope: 'openid', refresh_token: expect.any(String) });
    const refresh = { grant_type: 'refresh_token', refresh_token: pair.refresh_token };
    const client = { client_id: the.application.id, client_secret: the.secret };
    const again = await post(world, '/oauth/token', {
      ...refresh,
      ...client,
      scope: 'openid offline_access',
    });
    expect(again.json().scope).toBe('openid');
    expect(errorOf(await ask({ scope: 'offline_access' }))).toBe('invalid_scope');
  });
});

describe('login_hint', () => {
  const loginOf = ({ body }: Answer) => plain(/name="login"[^>]* value="([^"]*)"/.exec(body)?.[1] ?? '');
  const signInFor = async (url: string) => {
    const browser = new Browser(world.app);
    return browser.get(String((await browser.get(url)).headers.location));
  };

  test('fills the sign-in form, escaped', async () => {
    for (const login_hint of [the.user.email, '"><script>alert(1)</script>']) {
      const page = await signInFor(authorizeUrl(the, { login_hint, prompt: 'login' }));
      expect(loginOf(page)).toBe(login_hint);
      expect(page.body).not.toContain('<script>alert');
    }
    expect(loginOf(await signInFor(authorizeUrl(the)))).toBe('');
  });

  test('fills nothing for another page or an unknown application', async () => {
    const browser = new Browser(world.app);
    for (const next of ['/profile?login_hint=eve', '/oauth/authorize?client_id=x&login_hint=eve'])
      expect(loginOf(await browser.get(`/sign-in?next=${encodeURIComponent(next)}`))).toBe('');
  });
});

describe('id_token_hint', () => {
  test('of the user who is signed in changes nothing, also when it expired', async () => {
    expect(codeOf(await ask({ id_token_hint: idToken, prompt: 'none' }))).toMatch(/^cmc_/);
    expect(codeOf(await ask({ id_token_hint: idToken }))).toMatch(/^cmc_/);
    world.advance(2 * 3_600_000);
    expect(codeOf(await ask({ id_token_hint: idToken, prompt: 'none' }))).toMatch(/^cmc_/);
  });

  test('of another user is login_required for prompt=none, as is one that cannot be verified', async () => {
    const [head, payload, signature] = idToken.split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const altered = `${head}.${payload}.${signature?.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`;
    const hint = { id_token_hint: idToken, prompt: 'none' };
    expect(errorOf(await ask(hint, other.browser))).toBe('login_required');
    for (const id_token_hint of [unsigned, altered, 'x', 'a.b.c'])
      expect(errorOf(await ask({ ...hint, id_token_hint }))).toBe('login_required');
    // A token of another application says nothing to this one.
    expect(errorOf(await the.browser.get(authorizeUrl(other, hint)))).toBe('login_required');
  });

  test('of another user leads to a sign-in, and an error if it is still another user', async () => {
    const hint = { id_token_hint: idToken };
    const browser = await signedIn(world, other.user);
    world.advance(1000);
    const right = await signInAt(browser, await ask(hint, browser));
    expect(codeOf(right)).toMatch(/^cmc_/);
    const wrong = await signInAt(browser, await ask(hint, other.browser), other.user);
    expect(errorOf(wrong)).toBe('login_required');
    const stranger = new Browser(world.app);
    const first = await signInAt(stranger, await ask(hint, stranger), other.user);
    expect(errorOf(first)).toBe('login_required');
  });

  test('that cannot be verified is ignored without prompt=none; select_account asks once with a hint', async () => {
    expect(codeOf(await ask({ id_token_hint: 'x' }))).toMatch(/^cmc_/);
    const away = await ask({ id_token_hint: idToken, prompt: 'select_account' });
    const next = new URL(String(away.headers.location), 'http://here').searchParams.get('next') ?? '';
    expect(codeOf(await the.browser.get(next))).toMatch(/^cmc_/);
  });
});

describe('an authorization request by POST (§3.1.2.1)', () => {
  test('becomes the same request by GET, from another site and without a form token', async () => {
    const url = authorizeUrl(the, { nonce: 'a&b', resource: RESOURCES, state: 'é' });
    const fields = [...new URL(url, 'http://here').searchParams];
    const body = Object.fromEntries(
      fields.map(([name]) => [name, fields.flatMap((f) => (f[0] === name ? f[1] : []))]),
    );
    const headers = { origin: 'https://client.example', 'sec-fetch-site': 'cross-site' };
    for (const browser of [the.browser, new Browser(world.app)]) {
      const answer = await browser.post('/oauth/authorize', body, headers);
      expect(answer.statusCode).toBe(303);
      const { pathname, searchParams } = new URL(String(answer.headers.location), 'http://here');
      expect([pathname, [...searchParams]]).toEqual(['/oauth/authorize', fields]);
    }
  });

  test('is refused when it is longer than an address may be', async () => {
    const state = 'x'.repeat(10_000);
    const fields = Object.fromEntries(new URL(authorizeUrl(the, { state }), 'http://x').searchParams);
    const answer = await new Browser(world.app).post('/oauth/authorize', fields);
    expect([answer.statusCode, answer.body.includes('longer than 8192 characters')]).toEqual([400, true]);
  });

  test('with a decision needs the form token as ever', async () => {
    const fields = Object.fromEntries(new URL(authorizeUrl(the), 'http://here').searchParams);
    for (const decision of ['allow', 'deny', '']) {
      const answer = await the.browser.post('/oauth/authorize', { ...fields, decision });
      expect([answer.statusCode, answer.headers.location]).toEqual([403, undefined]);
    }
  });
});

describe('resource (RFC 8707 §2.1)', () => {
  test('is shown, kept through the consent and stored with the code', async () => {
    const own = await party(world);
    const page = await own.browser.get(authorizeUrl(own, { resource: RESOURCES }));
    expect(plain(page.body)).toContain(`<dt>Access to</dt><dd>${RESOURCES.join(', ')}</dd>`);
    const shown = [...page.body.matchAll(/name="resource" value="([^"]*)"/g)].map(([, uri = '']) =>
      plain(uri),
    );
    expect(shown).toEqual(RESOURCES);
    const fields = { ...hiddenFields(page.body, '/oauth/authorize'), resource: shown, decision: 'allow' };
    const code = codeOf(await own.browser.post('/oauth/authorize', fields));
    expect((await grantOf(code))?.resources).toEqual(RESOURCES);
  });

  test('beyond those of an earlier consent asks again; none is the API of this server', async () => {
    const api = `${await issuerOf(world)}/api`;
    const askFor = (resource: readonly string[]) => ask({ resource });
    expect(codeOf(await askFor([api]))).toMatch(/^cmc_/);
    expect((await askFor(['https://mcp.example'])).statusCode).toBe(200);
    const own = await party(world);
    const pair = await decide(own, { resource: 'https://mcp.example' });
    await post(world, '/oauth/token', exchangeOf(own, codeOf(pair)));
    const url = (resource: string) => authorizeUrl(own, resource === '' ? {} : { resource });
    expect(codeOf(await own.browser.get(url('https://mcp.example')))).toMatch(/^cmc_/);
    expect((await own.browser.get(url(''))).statusCode).toBe(200);
  });

  test('that is unknown is invalid_target', async () => {
    expect(errorOf(await ask({ resource: 'https://evil.example' }))).toBe('invalid_target');
  });
});
