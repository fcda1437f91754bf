import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, Browser, hiddenFields, plain } from '../../accounts/browser.ts';
import { openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import {
  answerOf,
  authorizeUrl,
  challengeOf,
  decide,
  exchangeOf,
  type Party,
  party,
  post,
  verifierOf,
} from './flow.ts';

let world: World;
let the: Party;
let open: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
  open = await party(world, { is_confidential: false });
});
afterAll(() => world.close());

const PKCE = () => ({ code_challenge: challengeOf(verifierOf()), code_challenge_method: 'S256' });

describe('GET /oauth/authorize (RFC 6749 §4.1.1)', () => {
  test('redirects to the sign-in page and then back to the same request', async () => {
    const browser = new Browser(world.app);
    const url = authorizeUrl(the, { state: 'x y&ü' });
    const away = await browser.get(url);
    expect(away.statusCode).toBe(303);
    const signIn = String(away.headers.location);
    const back = await browser.submit(signIn, '/sign-in', { login: the.user.username, password: PASSWORD });
    expect(back.headers.location).toBe(url);
    expect((await browser.get(url)).statusCode).toBe(200);
  });

  test('shows the application, the scopes, the user and the destination', async () => {
    const page = await the.browser.get(authorizeUrl(the, { scope: 'read_user openid' }));
    expect(page.statusCode).toBe(200);
    const text = plain(page.body);
    for (const word of [
      the.application.name,
      'Read your personal information',
      'Authenticate you',
      'client.example',
      the.user.username,
    ])
      expect(text).toContain(word);
  });

  test('answers consent with code, state and iss (RFC 6749 §4.1.2, RFC 9207 §2) by 303 (RFC 9700 §4.12)', async () => {
    const answer = await decide(the, { state: 'xyz' });
    expect(answer.statusCode).toBe(303);
    const given = answerOf(answer);
    expect(String(answer.headers.location)).toMatch(/^https:\/\/client\.example\/callback\?/);
    expect(given.get('state')).toBe('xyz');
    expect(given.get('iss')).toMatch(/^http:\/\//);
    expect(given.get('code')).toMatch(/^cmc_/);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('answers denial with access_denied (RFC 6749 §4.1.2.1)', async () => {
    const given = answerOf(await decide(the, {}, 'deny'));
    expect(given.get('error')).toBe('access_denied');
    expect(given.get('state')).toBe('a state');
    expect(given.get('iss')).not.toBeNull();
    expect(given.get('code')).toBeNull();
  });

  test.each(['ünïcødé ☃', 'a b+c%20d', '🚀', '"><script>', 'a\r\nSet-Cookie: x=1', '='.repeat(500)])(
    'echoes state verbatim: %j',
    async (state) => {
      expect(answerOf(await decide(the, { state })).get('state')).toBe(state);
    },
  );

  test('omits state when none was sent', async () => {
    expect(answerOf(await decide(the, { state: '' })).has('state')).toBe(false);
  });

  test('does not ask a confidential application for consent again while the grant is active', async () => {
    const own = await party(world);
    const code = answerOf(await decide(own, { scope: 'api read_user' })).get('code') ?? '';
    await post(world, '/oauth/token', exchangeOf(own, code));
    const again = await own.browser.get(authorizeUrl(own, { scope: 'api' }));
    expect(again.statusCode).toBe(303);
    expect(answerOf(again).get('code')).toMatch(/^cmc_/);
    const more = await own.browser.get(authorizeUrl(own, { scope: 'api email' }));
    expect(more.statusCode).toBe(200);
  });

  test('always asks for a public application (RFC 8252 §8.6)', async () => {
    await decide(open, PKCE());
    expect((await open.browser.get(authorizeUrl(open, PKCE()))).statusCode).toBe(200);
  });
});

describe('errors that are never sent by a redirect (RFC 6749 §4.1.2.1)', () => {
  const cases: [string, Record<string, string | string[]>, RegExp][] = [
    ['no client_id', { client_id: '' }, /has no client_id/],
    ['an unknown client_id', { client_id: 'f'.repeat(64) }, /not registered/],
    ['a client_id that is none', { client_id: "' OR 1=1 --" }, /not registered/],
    ['no redirect_uri', { redirect_uri: '' }, /has no redirect_uri/],
    [
      'an unregistered redirect_uri',
      { redirect_uri: 'https://evil.example/callback' },
      /not registered for the application. If you are its developer, add it to the redirect URIs/,
    ],
    ['one with more path', { redirect_uri: 'https://client.example/callback/x' }, /not registered/],
    ['one with a query', { redirect_uri: 'https://client.example/callback?x=1' }, /not registered/],
    ['one of another case', { redirect_uri: 'https://client.example/Callback' }, /not registered/],
    ['one of another port', { redirect_uri: 'https://client.example:8443/callback' }, /not registered/],
    ['one with a user', { redirect_uri: 'https://client.example@evil.example/callback' }, /not registered/],
    [
      'two redirect_uris',
      { redirect_uri: ['https://client.example/callback', 'https://evil.example'] },
      /more than one/,
    ],
    ['two client_ids', { client_id: ['a', 'b'] }, /more than one/],
  ];
  test.each(cases)('%s', async (_, wrong, says) => {
    const answer = await the.browser.get(authorizeUrl(the, wrong));
    expect(answer.statusCode).toBe(400);
    expect(answer.headers.location).toBeUndefined();
    expect(answer.body).toMatch(says);
  });

  test('malformed percent-encoding and invalid UTF-8', async () => {
    for (const bad of ['%', '%zz', '%ff%fe', '%c0%af']) {
      const answer = await the.browser.get(`${authorizeUrl(the)}&x=${bad}`);
      expect(answer.statusCode).toBe(400);
      expect(answer.headers.location).toBeUndefined();
    }
  });
});

describe('errors that are sent to the application (RFC 6749 §4.1.2.1)', () => {
  const good = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };
  const cases: [string, string, Record<string, string | string[]>][] = [
    ['invalid_request', 'no response_type', { response_type: '' }],
    ['unsupported_response_type', 'the implicit grant, which is not offered', { response_type: 'token' }],
    ['unsupported_response_type', 'a hybrid flow', { response_type: 'code id_token' }],
    ['unsupported_response_mode', 'another response_mode', { response_mode: 'fragment' }],
    ['invalid_scope', 'a scope without names', { scope: ' ' }],
    ['invalid_scope', 'an unknown scope', { scope: 'api everything' }],
    ['invalid_scope', 'a scope beyond the registered ones', { scope: 'write_repository' }],
    ['invalid_scope', 'scopes parted by a line break', { scope: 'api\nread_user' }],
    ['invalid_request', 'a parameter that came twice (§3.1)', { scope: ['api', 'read_user'] }],
    ['invalid_request', 'state that came twice', { state: ['a', 'b'] }],
    ['invalid_request', 'the plain method (RFC 7636 §4.3)', { ...good, code_challenge_method: 'plain' }],
    ['invalid_request', 'no method, which would mean plain', { ...good, code_challenge_method: '' }],
    ['invalid_request', 'a method without a challenge', { code_challenge_method: 'S256' }],
    ['invalid_request', 'a challenge that is too short', { ...good, code_challenge: 'a'.repeat(42) }],
    ['invalid_request', 'a challenge with padding', { ...good, code_challenge: `${'a'.repeat(43)}=` }],
  ];
  test.each(cases)('%s for %s', async (error, _, wrong) => {
    const answer = await the.browser.get(authorizeUrl(the, wrong));
    expect(answer.statusCode).toBe(303);
    const given = answerOf(answer);
    expect(given.get('error')).toBe(error);
    expect(given.get('error_description')).toBeTruthy();
    expect(given.get('iss')).not.toBeNull();
    if (!Array.isArray(wrong.state)) expect(given.get('state')).toBe('a state');
  });

  test('PKCE is required for public applications (RFC 9700 §2.1.1)', async () => {
    const answer = await open.browser.get(authorizeUrl(open));
    expect(answerOf(answer).get('error')).toBe('invalid_request');
    expect(answerOf(answer).get('error_description')).toContain('code_challenge');
  });
});

describe('redirect_uri', () => {
  test('keeps its registered query, and response parameters replace those of the same name', async () => {
    const own = await party(world, { redirect_uris: 'https://client.example/cb?tenant=a%20b&code=mine' });
    const location = String((await decide(own)).headers.location);
    expect(location).toMatch(/^https:\/\/client\.example\/cb\?tenant=a%20b&code=cmc_/);
    expect(new URL(location).searchParams.getAll('code')).toHaveLength(1);
  });

  test('may differ only in the port of a loopback address (RFC 8252 §7.3)', async () => {
    const own = await party(world, {
      redirect_uris: 'http://127.0.0.1/cb\nhttp://[::1]:1/cb\nhttp://localhost:1234/cb',
    });
    const ask = async (redirect_uri: string) =>
      (await own.browser.get(authorizeUrl(own, { redirect_uri }))).statusCode;
    expect(await ask('http://127.0.0.1:51004/cb')).toBe(200);
    expect(await ask('http://[::1]:51004/cb')).toBe(200);
    expect(await ask('http://localhost:1234/cb')).toBe(200);
    expect(await ask('http://localhost:51004/cb')).toBe(200);
    expect(await ask('http://localhost/cb')).toBe(200);
    for (const wrong of [
      'http://localhost:51004/other',
      'http://localhost:51004/cb?x=1',
      'https://localhost:51004/cb',
      'http://localhost:65536/cb',
      'http://localhost:51004@evil.example/cb',
      'http://localhost.evil.example/cb',
      'http://evil.localhost:51004/cb',
      'http://LOCALHOST:51004/cb',
      'http://127.0.0.2:51004/cb',
      'http://127.0.0.1:51004/other',
      'https://127.0.0.1:51004/cb',
      'http://127.0.0.1:51004@evil.example/cb',
      'http://127.0.0.1:999999/cb',
      'http://127.0.0.1:99999/cb',
      'http://127.0.0.1:65536/cb',
      'http://127.0.0.1.evil.example/cb',
    ])
      expect([wrong, await ask(wrong)]).toEqual([wrong, 400]);
  });
});

describe('the consent form', () => {
  test('requires its token (RFC 9700 §4.7)', async () => {
    const page = await the.browser.get(authorizeUrl(the));
    const { form_token: _, ...fields } = hiddenFields(page.body, '/oauth/authorize');
    const answer = await the.browser.post('/oauth/authorize', { ...fields, decision: 'allow' });
    expect(answer.statusCode).toBe(403);
    expect(answer.headers.location).toBeUndefined();
  });

  test('is refused when it comes from another site', async () => {
    const page = await the.browser.get(authorizeUrl(the));
    const fields = { ...hiddenFields(page.body, '/oauth/authorize'), decision: 'allow' };
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      expect((await the.browser.post('/oauth/authorize', fields, headers)).statusCode).toBe(403);
    }
    const own = { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' };
    expect((await the.browser.post('/oauth/authorize', fields, own)).statusCode).toBe(303);
  });

  test('is validated again, since it could have been changed', async () => {
    const page = await the.browser.get(authorizeUrl(the));
    const fields = { ...hiddenFields(page.body, '/oauth/authorize'), decision: 'allow' };
    const elsewhere = await the.browser.post('/oauth/authorize', {
      ...fields,
      redirect_uri: 'https://evil.example',
    });
    expect(elsewhere.statusCode).toBe(400);
    const more = await the.browser.post('/oauth/authorize', { ...fields, scope: 'write_repository' });
    expect(answerOf(more).get('error')).toBe('invalid_scope');
  });

  test('cannot be framed (RFC 9700 §4.16) and runs no foreign scripts', async () => {
    const page = await the.browser.get(authorizeUrl(the));
    expect(page.headers['x-frame-options']).toBe('DENY');
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(page.headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('the steps of an authorization', () => {
  const next = '/sign-in?next=';
  const protection = ({ headers }: Answer) => [
    headers['cross-origin-opener-policy'],
    headers['content-security-policy'] === undefined
      ? null
      : String(headers['content-security-policy']).includes("form-action 'self'"),
  ];

  test('keep the opener of a popup, and let a form lead to the application and further', async () => {
    const browser = new Browser(world.app);
    const away = await browser.get(authorizeUrl(the));
    expect(protection(away)).toEqual(['unsafe-none', null]);
    const signIn = String(away.headers.location);
    expect((await browser.get(signIn)).body).toContain(`<b>${the.application.name}</b> asks you to sign in`);
    expect((await browser.get('/sign-in')).body).not.toContain('asks you to sign in');
    expect(protection(await browser.get(signIn))).toEqual(['unsafe-none', false]);
    expect(protection(await browser.get(signIn.replace('/sign-in', '/sign-up')))).toEqual([
      'unsafe-none',
      false,
    ]);
    const wrong = await browser.submit(signIn, '/sign-in', { login: the.user.username, password: 'wrong' });
    expect([wrong.statusCode, ...protection(wrong)]).toEqual([401, 'unsafe-none', false]);
    const right = await browser.submit(signIn, '/sign-in', {
      login: the.user.username,
      password: PASSWORD,
    });
    expect([right.statusCode, ...protection(right)]).toEqual([303, 'unsafe-none', null]);
    expect(protection(await browser.get(authorizeUrl(the)))).toEqual(['unsafe-none', false]);
  });

  test('are no other pages: those accept forms to this origin only, and have no opener', async () => {
    for (const path of [
      '/sign-in',
      '/sign-up',
      `${next}/profile`,
      `${next}/oauth/authorized`,
      `${next}//evil.example/oauth/authorize`,
      '/profile',
      `/profile?next=/oauth/authorize`,
      '/profile/keys?next=/oauth/authorize',
      '/',
    ]) {
      const answer = await the.browser.get(path);
      expect([path, ...protection(answer)]).toEqual([
        path,
        'same-origin',
        answer.statusCode === 200 ? true : null,
      ]);
    }
  });
});
