import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../../serve/accounts/keys.ts';
import { Browser, encoded, hiddenFields } from '../../accounts/browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from '../../accounts/world.ts';
import {
  aCode,
  answerOf,
  aPair,
  authorizeUrl,
  basic,
  bearer,
  challengeOf,
  decide,
  exchangeOf,
  isActive,
  type Party,
  party,
  post,
  refreshOf,
  refusal,
  verifierOf,
} from './flow.ts';

let world: World;
let the: Party;
let thief: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
  thief = await party(world);
});
afterAll(() => world.close());

const token = (fields: Record<string, string>, headers = {}) => post(world, '/oauth/token', fields, headers);

describe('the attacks of RFC 9700', () => {
  test('§4.1 open redirect: redirect URIs are compared exactly; others get an error page', async () => {
    for (const redirect_uri of [
      'https://client.example.evil.example/callback',
      'https://client.example/callback/../evil',
      'https://client.example/callback#@evil.example',
      'https://client.example/callback?next=https://evil.example',
      'https://client.example%2f@evil.example/callback',
      'https://сlient.example/callback',
      'https://CLIENT.example/callback',
      'https://client.example/callback\r\nLocation: https://evil.example',
      'javascript:alert(1)',
      'data:text/html,x',
      '//client.example/callback',
    ]) {
      const answer = await the.browser.get(authorizeUrl(the, { redirect_uri }));
      expect([redirect_uri, answer.statusCode, answer.headers.location]).toEqual([
        redirect_uri,
        400,
        undefined,
      ]);
    }
  });

  test('§4.2 secrets in URLs: refused before anything is consumed, and no referrer is sent', async () => {
    const fields = exchangeOf(the, await aCode(the));
    for (const name of ['code', 'client_secret']) {
      const { [name]: value = '', ...rest } = fields;
      const answer = await token.call(null, rest);
      expect(answer.statusCode).not.toBe(200);
      const inQuery = await post(world, `/oauth/token?${encoded({ [name]: value })}`, rest);
      expect(inQuery.json()).toEqual(refusal('invalid_request'));
    }
    expect((await world.app.inject(`/oauth/token?${encoded(fields)}`)).statusCode).toBe(405);
    expect((await token(fields)).statusCode).toBe(200);
    expect((await decide(the)).headers['referrer-policy']).toBe('no-referrer');
  });

  test('§4.4 mix-up: every response has the issuer of the discovery document (RFC 9207)', async () => {
    const { issuer } = (await world.app.inject('/.well-known/oauth-authorization-server')).json();
    expect(answerOf(await decide(the)).get('iss')).toBe(issuer);
    expect(answerOf(await decide(the, {}, 'deny')).get('iss')).toBe(issuer);
  });

  test('§4.5 code injection: a stolen code is refused for another client, redirect_uri or verifier', async () => {
    const verifier = verifierOf();
    const code = await aCode(the, { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' });
    const attempts = [
      { ...exchangeOf(thief, code), code_verifier: verifier },
      { ...exchangeOf(the, code), code_verifier: verifierOf() },
      { ...exchangeOf(the, code), code_verifier: verifier, redirect_uri: 'https://client.example/x' },
    ];
    for (const attempt of attempts) expect((await token(attempt)).json()).toEqual(refusal('invalid_grant'));
    expect((await token(exchangeOf(the, code))).json()).toEqual(refusal('invalid_request'));
    expect((await token({ ...exchangeOf(the, code), code_verifier: verifier })).statusCode).toBe(200);
  });

  test('§4.5 replay: the second use of a code revokes the tokens of the first', async () => {
    const code = await aCode(the);
    const pair = (await token(exchangeOf(the, code))).json();
    expect((await token(exchangeOf(the, code))).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(world, pair.access_token)).toBe(false);
  });

  test('§4.6 and §4.7 CSRF: a form requires its token, its session and the same origin', async () => {
    const page = await the.browser.get(authorizeUrl(the));
    const fields = { ...hiddenFields(page.body, '/oauth/authorize'), decision: 'allow' };
    const stranger = await signedIn(world, await aUser(world));
    expect((await stranger.post('/oauth/authorize', fields)).statusCode).toBe(403);
    expect((await new Browser(world.app).post('/oauth/authorize', fields)).statusCode).toBe(403);
    for (const path of [
      '/sign-in',
      '/sign-up',
      '/sign-out',
      '/profile/keys',
      '/profile/tokens',
      '/profile/applications',
      '/profile/security/password',
      '/profile/security/two-factor/off',
      '/profile/sessions/end-all',
      '/wallet/challenge',
    ]) {
      expect([path, (await the.browser.post(path, {})).statusCode]).toEqual([path, 403]);
    }
  });

  test('§4.7 login CSRF: a form of the attacker’s browser is refused in another browser', async () => {
    const attacker = new Browser(world.app);
    const form = hiddenFields((await attacker.get('/sign-in')).body, '/sign-in');
    const victim = new Browser(world.app);
    await victim.get('/sign-in');
    const answer = await victim.post('/sign-in', { ...form, login: thief.user.username, password: PASSWORD });
    expect(answer.statusCode).toBe(403);
    expect((await victim.get('/profile')).statusCode).toBe(303);
  });

  test('§4.8 PKCE downgrade: neither a dropped challenge nor an added verifier is accepted', async () => {
    const verifier = verifierOf();
    const dropped = await aCode(the);
    expect((await token({ ...exchangeOf(the, dropped), code_verifier: verifier })).json()).toEqual(
      refusal('invalid_grant'),
    );
    const open = await party(world, { is_confidential: false });
    const answer = await open.browser.get(authorizeUrl(open));
    expect(answerOf(answer).get('error')).toBe('invalid_request');
    const plain = await the.browser.get(
      authorizeUrl(the, { code_challenge: verifier, code_challenge_method: 'plain' }),
    );
    expect(answerOf(plain).get('error')).toBe('invalid_request');
  });

  test('§4.10 token substitution: one kind of token never counts as another', async () => {
    const pair = await aPair(the);
    const code = await aCode(the);
    const { text: personal } = await createKey(world.accounts, the.user, 'personal', {
      name: 'p',
      scopes: ['api'],
      expires_ms: 0,
    });
    const secretOf = (text: string) => text.slice(4);
    for (const wrong of [
      pair.refresh_token,
      code,
      the.secret,
      `cma_${secretOf(personal)}`,
      `cmp_${secretOf(pair.access_token)}`,
      `cmk_${secretOf(pair.access_token)}`,
      `cma_${secretOf(code)}`,
    ]) {
      const answer = await world.app.inject({ url: '/api/v4/user', headers: bearer(wrong) });
      expect(answer.statusCode).toBe(401);
    }
    for (const wrong of [pair.access_token, personal, `cmr_${secretOf(pair.access_token)}`]) {
      expect((await token(refreshOf(the, wrong))).json()).toEqual(refusal('invalid_grant'));
    }
    expect((await token(exchangeOf(the, pair.access_token))).json()).toEqual(refusal('invalid_grant'));
    expect((await token({ ...exchangeOf(thief, code) })).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(world, pair.access_token)).toBe(true);
  });

  test('§4.12 credentials are not forwarded: every redirect after a form is 303', async () => {
    const browser = new Browser(world.app);
    const signIn = await browser.submit('/sign-in', '/sign-in', {
      login: the.user.username,
      password: PASSWORD,
    });
    expect([
      signIn.statusCode,
      (await decide(the)).statusCode,
      (await decide(the, {}, 'deny')).statusCode,
    ]).toEqual([303, 303, 303]);
  });

  test('§4.14 refresh token reuse: the whole family is revoked', async () => {
    const stolen = await aPair(the);
    const owner = (await token(refreshOf(the, stolen.refresh_token))).json();
    expect((await token(refreshOf(the, stolen.refresh_token))).json()).toEqual(refusal('invalid_grant'));
    expect((await token(refreshOf(the, owner.refresh_token))).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(world, owner.access_token)).toBe(false);
  });

  test('§4.15 a client cannot impersonate a user: ids of clients and users never share a field', async () => {
    const { access_token } = await aPair(the, { scope: 'openid' });
    const { sub } = (
      await world.app.inject({ url: '/oauth/userinfo', headers: bearer(access_token) })
    ).json();
    expect(sub).toBe(the.user.id);
    expect(sub).not.toBe(the.application.id);
  });

  test('§4.16 clickjacking: no page can be framed', async () => {
    for (const path of ['/sign-in', '/sign-up', '/profile', authorizeUrl(the)]) {
      const page = await the.browser.get(path);
      if (page.statusCode !== 200) continue;
      expect(page.headers['x-frame-options'], path).toBe('DENY');
      expect(String(page.headers['content-security-policy']), path).toContain("frame-ancestors 'none'");
    }
  });

  test('§2.4 and §2.1.2: no implicit grant, and no token in a URL', async () => {
    for (const response_type of ['token', 'id_token', 'code token', 'none']) {
      const answer = await the.browser.get(authorizeUrl(the, { response_type }));
      expect(answerOf(answer).get('error')).toBe('unsupported_response_type');
      expect(String(answer.headers.location)).not.toContain('#');
    }
  });

  test('client secrets are compared exactly: a prefix, a longer one and one of another client are refused', async () => {
    const code = await aCode(the);
    for (const secret of [the.secret.slice(0, -1), `${the.secret}x`, thief.secret, '', ' ']) {
      expect((await token({ ...exchangeOf(the, code), client_secret: secret })).statusCode).toBe(401);
    }
    const { client_secret: _, client_id: __, ...fields } = exchangeOf(the, code);
    expect((await token(fields, basic(the.application.id, ''))).statusCode).toBe(401);
  });
});
