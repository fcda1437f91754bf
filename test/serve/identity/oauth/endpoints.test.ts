import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../../serve/identity/accounts/keys.ts';
import { changeUser } from '../../../../serve/identity/accounts/users.ts';
import { deleteApplication, revokeAuthorization } from '../../../../serve/identity/oauth/applications.ts';
import { aKey, aUser, openWorld, PASSWORD, type World } from '../accounts/world.ts';
import { aPair, basic, bearer, infoOf, isLive, type Party, party, post, refreshOf, refusal } from './flow.ts';

let world: World;
let the: Party;
let other: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
  other = await party(world);
});
afterAll(() => world.close());

const client = ({ application, secret }: Party) => ({ client_id: application.id, client_secret: secret });
const get = (url: string, headers: Record<string, string> = {}) => world.app.inject({ url, headers });

describe('the password grant (RFC 6749 §4.3)', () => {
  const ask = (fields: Record<string, string>, headers = {}) =>
    post(world, '/oauth/token', { grant_type: 'password', ...fields }, headers);

  test('answers as the document shows: no refresh_token, no created_at', async () => {
    const answer = await ask({ username: the.user.username, password: PASSWORD });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^cma_/),
      token_type: 'bearer',
      expires_in: 7200,
      scope: 'api',
    });
  });

  test('takes an e-mail address, and credentials of an application by HTTP Basic', async () => {
    const answer = await ask(
      { username: the.user.email, password: PASSWORD },
      basic(the.application.id, the.secret),
    );
    expect(answer.statusCode).toBe(200);
    expect((await infoOf(world, answer.json().access_token)).json().application).toEqual({
      uid: the.application.id,
    });
  });

  test('a wrong application is invalid_client, a scope beyond it invalid_scope', async () => {
    const fields = { username: the.user.username, password: PASSWORD };
    expect((await ask(fields, basic(the.application.id, 'wrong'))).json()).toEqual(refusal('invalid_client'));
    const beyond = { ...fields, scope: 'write_repository' };
    expect((await ask(beyond, basic(the.application.id, the.secret))).json()).toEqual(
      refusal('invalid_scope'),
    );
    expect((await ask({ ...fields, scope: 'everything' })).json()).toEqual(refusal('invalid_scope'));
  });

  test.each(['username', 'password'])('names a missing %s', async (name) => {
    const answer = await ask({ username: the.user.username, password: PASSWORD, [name]: '' });
    expect(answer.json()).toEqual({
      error: 'invalid_request',
      error_description: `Missing required parameter: ${name}.`,
    });
  });

  test('wrong credentials, a second factor and a locked account are the same invalid_grant', async () => {
    const [guarded, locked] = [await aUser(world), await aUser(world)];
    await changeUser(world.accounts, guarded.id, () => ({ totp_secret: 'sealed' }));
    await changeUser(world.accounts, locked.id, () => ({ locked_ms: 1 }));
    const answers = [
      await ask({ username: the.user.username, password: 'wrong' }),
      await ask({ username: 'nobody-at-all', password: PASSWORD }),
      await ask({ username: guarded.username, password: PASSWORD }),
      await ask({ username: locked.username, password: PASSWORD }),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 400, 400]);
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers[0]?.json()).toEqual(refusal('invalid_grant'));
  });

  test('is throttled like a sign-in', async () => {
    const user = await aUser(world);
    for (let i = 0; i < 10; i++) await ask({ username: user.username, password: 'wrong' });
    const answer = await ask({ username: user.username, password: PASSWORD });
    expect(answer.json()).toEqual(refusal('invalid_grant'));
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('an operator may want a registered application', async () => {
    await using strict = await world.beside({ OAUTH_PASSWORD_WITHOUT_CLIENT: 'false' });
    const fields = { grant_type: 'password', username: the.user.username, password: PASSWORD };
    expect((await post(strict, '/oauth/token', fields)).json()).toEqual(refusal('invalid_client'));
    expect(
      (await post(strict, '/oauth/token', fields, basic(the.application.id, the.secret))).statusCode,
    ).toBe(200);
  });
});

describe('GET /oauth/token/info', () => {
  test('tells what the document lists; expires_in is what remains', async () => {
    const pair = await aPair(the, { scope: 'api openid' });
    world.advance(200_000);
    const answer = await infoOf(world, pair.access_token);
    expect(answer.headers['cache-control']).toBe('no-store');
    const told = answer.json();
    expect(told).toEqual({
      resource_owner_id: Number(the.user.id),
      scope: ['api', 'openid'],
      expires_in: expect.any(Number),
      application: { uid: the.application.id },
      created_at: expect.any(Number),
      scopes: ['api', 'openid'],
      expires_in_seconds: told.expires_in,
    });
    expect(told.expires_in).toBeGreaterThan(6990);
    expect(told.expires_in).toBeLessThanOrEqual(7000);
  });

  test('takes the token as query parameter too, in one way at a time (RFC 6750 §2)', async () => {
    const { access_token } = await aPair(the);
    expect((await get(`/oauth/token/info?access_token=${access_token}`)).statusCode).toBe(200);
    const twice = await get(`/oauth/token/info?access_token=${access_token}`, bearer(access_token));
    expect([twice.statusCode, twice.json()]).toEqual([400, refusal('invalid_request')]);
    const doubled = await get(`/oauth/token/info?access_token=${access_token}&access_token=${access_token}`);
    expect(doubled.statusCode).toBe(400);
  });

  test('a personal access token that never ends has expires_in null', async () => {
    const { text } = await createKey(world.accounts, the.user, 'personal', {
      name: 't',
      scopes: ['api'],
      expires_ms: 0,
    });
    expect((await infoOf(world, text)).json()).toMatchObject({
      expires_in: null,
      expires_in_seconds: null,
      scope: ['api'],
    });
  });

  test('says the same of every token that is no good: 401 invalid_token (RFC 6750 §3.1)', async () => {
    const [expired, revoked] = [await aPair(the), await aPair(the)];
    await post(world, '/oauth/revoke', { ...client(the), token: revoked.access_token });
    const refresh = await aPair(the);
    const key = await aKey(world, the.user);
    world.advance(7_201_000);
    for (const token of [
      expired.access_token,
      revoked.access_token,
      refresh.refresh_token,
      key.text,
      'x',
      'cma_',
      'Ünïcode',
    ]) {
      const answer = await infoOf(world, encodeURIComponent(token));
      expect(answer.statusCode).toBe(401);
      expect(answer.json()).toEqual({
        error: 'invalid_token',
        error_description: 'The access token is invalid',
      });
      expect(answer.headers['www-authenticate']).toMatch(
        /^Bearer realm="Chain Metrics", error="invalid_token"/,
      );
    }
    expect((await get('/oauth/token/info')).statusCode).toBe(401);
    expect((await get('/oauth/token/info?access_token=')).statusCode).toBe(401);
  });
});

describe('POST /oauth/revoke (RFC 7009)', () => {
  const revoke = (fields: Record<string, string>, headers = {}) =>
    post(world, '/oauth/revoke', fields, headers);

  test.each(['access_token', 'refresh_token'] as const)(
    'of the %s ends the pair, and answers {}',
    async (kind) => {
      const pair = await aPair(the);
      const answer = await revoke({ ...client(the), token: pair[kind] });
      expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
      expect(await isLive(world, pair.access_token)).toBe(false);
      expect((await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).json()).toEqual(
        refusal('invalid_grant'),
      );
    },
  );

  test('ends the refresh token of an access token that has expired', async () => {
    const pair = await aPair(the);
    world.advance(7_201_000);
    await revoke({ ...client(the), token: pair.access_token, token_type_hint: 'refresh_token' });
    expect((await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).statusCode).toBe(400);
  });

  test.each(['', 'unknown', `cma_${'A'.repeat(65)}`])('is as good as done for %j (§2.2)', async (token) => {
    const answer = await revoke({ ...client(the), token });
    expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
  });

  test('twice is once', async () => {
    const { access_token: token } = await aPair(the);
    await revoke({ ...client(the), token });
    expect((await revoke({ ...client(the), token })).statusCode).toBe(200);
  });

  test('of another client’s token is 403 unauthorized_client, and revokes nothing', async () => {
    const { access_token: token } = await aPair(the);
    const answer = await revoke({ ...client(other), token });
    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toEqual({
      error: 'unauthorized_client',
      error_description: 'You are not authorized to revoke this token',
    });
    expect(await isLive(world, token)).toBe(true);
  });

  test('without the secret is 401 invalid_client, and revokes nothing', async () => {
    const { access_token: token } = await aPair(the);
    const answer = await revoke({ ...client(the), client_secret: 'wrong', token });
    expect([answer.statusCode, answer.json()]).toEqual([401, refusal('invalid_client')]);
    expect((await revoke({ token })).statusCode).toBe(401);
    expect((await revoke({ token }, basic(the.application.id, the.secret))).statusCode).toBe(200);
    expect(await isLive(world, token)).toBe(false);
  });
});

describe('POST /oauth/introspect (RFC 7662)', () => {
  const ask = (of: Party, token: string) => post(world, '/oauth/introspect', { ...client(of), token });

  test('tells an application about its own live tokens', async () => {
    const pair = await aPair(the, { scope: 'api email' });
    const answer = await ask(the, pair.access_token);
    expect(answer.json()).toEqual({
      active: true,
      scope: 'api email',
      client_id: the.application.id,
      username: the.user.username,
      sub: the.user.id,
      iss: expect.stringMatching(/^http/),
      token_type: 'bearer',
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
    expect((await ask(the, pair.refresh_token)).json()).toMatchObject({ active: true, scope: 'api email' });
  });

  test('of anything else tells {active: false} and nothing more (§2.2)', async () => {
    const [pair, gone] = [await aPair(the), await aPair(the)];
    await post(world, '/oauth/revoke', { ...client(the), token: gone.access_token });
    const next = (await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).json();
    for (const token of ['x', gone.access_token, gone.refresh_token, pair.access_token, pair.refresh_token]) {
      expect((await ask(the, token)).json()).toEqual({ active: false });
    }
    expect((await ask(other, next.access_token)).json()).toEqual({ active: false });
    expect((await ask(the, next.access_token)).json().active).toBe(true);
  });

  test('wants a secret (§2.1)', async () => {
    const open = await party(world, { is_confidential: false });
    const answer = await post(world, '/oauth/introspect', { client_id: open.application.id, token: 'x' });
    expect([answer.statusCode, answer.json()]).toEqual([401, refusal('invalid_client')]);
    expect((await post(world, '/oauth/introspect', { token: 'x' })).statusCode).toBe(401);
    expect((await ask(the, '')).json()).toEqual(refusal('invalid_request'));
  });
});

describe('/oauth/userinfo (OpenID Connect Core §5.3)', () => {
  test.each(['GET', 'POST'] as const)(
    '%s tells who the user is, the address only with the scope email',
    async (method) => {
      const { access_token } = await aPair(the, { scope: 'openid email' });
      const answer = await world.app.inject({
        method,
        url: '/oauth/userinfo',
        headers: bearer(access_token),
      });
      expect(answer.json()).toEqual({
        sub: the.user.id,
        name: the.user.name,
        nickname: the.user.username,
        preferred_username: the.user.username,
        email: the.user.email,
        email_verified: false,
        profile: expect.stringMatching(/\/profile$/),
      });
      const without = await aPair(other, { scope: 'openid' });
      const told = await world.app.inject({
        method,
        url: '/oauth/userinfo',
        headers: bearer(without.access_token),
      });
      expect(told.json()).not.toHaveProperty('email');
    },
  );

  test('takes the token in a form (RFC 6750 §2.2)', async () => {
    const { access_token } = await aPair(the, { scope: 'openid' });
    expect((await post(world, '/oauth/userinfo', { access_token })).statusCode).toBe(200);
    expect((await post(world, '/oauth/userinfo', { access_token }, bearer(access_token))).statusCode).toBe(
      400,
    );
  });

  test('without openid is 403 insufficient_scope, without a token 401 (RFC 6750 §3.1)', async () => {
    const { access_token } = await aPair(the, { scope: 'api' });
    const answer = await get('/oauth/userinfo', bearer(access_token));
    expect([answer.statusCode, answer.json()]).toEqual([403, refusal('insufficient_scope')]);
    expect(answer.headers['www-authenticate']).toContain('scope="openid"');
    expect((await get('/oauth/userinfo')).statusCode).toBe(401);
    expect((await the.browser.get('/oauth/userinfo')).statusCode).toBe(401);
  });
});

describe('GET /api/v4/user', () => {
  test.each(['api', 'read_user'])('with scope %s tells who the user is', async (scope) => {
    const { access_token } = await aPair(the, { scope });
    const answer = await get('/api/v4/user', bearer(access_token));
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      id: Number(the.user.id),
      username: the.user.username,
      name: the.user.name,
      email: the.user.email,
      state: 'active',
      two_factor_enabled: false,
    });
    expect((await get(`/api/v4/user?access_token=${access_token}`)).statusCode).toBe(200);
  });

  test('with other scopes is 403, with an API key too', async () => {
    const { access_token } = await aPair(the, { scope: 'openid email' });
    const key = await aKey(world, the.user);
    for (const token of [access_token, key.text]) {
      const answer = await get('/api/v4/user', bearer(token));
      expect([answer.statusCode, answer.json()]).toEqual([403, refusal('insufficient_scope')]);
      expect(answer.headers['www-authenticate']).toContain('scope="api read_user"');
    }
  });

  test('tells a holder why a token works no more (RFC 6750 §3.1)', async () => {
    const [expired, revoked] = [await aPair(the), await aPair(the)];
    await post(world, '/oauth/revoke', { ...client(the), token: revoked.access_token });
    expect((await get('/api/v4/user', bearer(revoked.access_token))).json().error_description).toMatch(
      /revoked/,
    );
    world.advance(7_201_000);
    expect((await get('/api/v4/user', bearer(expired.access_token))).json().error_description).toMatch(
      /expired/,
    );
    expect((await get('/api/v4/user')).statusCode).toBe(401);
  });
});

describe('what ends tokens', () => {
  test('removing the application, taking access back, locking the account', async () => {
    const own = await party(world);
    const [a, b] = [await aPair(own), await aPair(own)];
    await revokeAuthorization(world.accounts, own.user, own.application.id);
    expect([await isLive(world, a.access_token), await isLive(world, b.access_token)]).toEqual([
      false,
      false,
    ]);
    const c = await aPair(own);
    await changeUser(world.accounts, own.user.id, () => ({ locked_ms: 1 }));
    expect(await isLive(world, c.access_token)).toBe(false);
    await changeUser(world.accounts, own.user.id, () => ({ locked_ms: 0 }));
    expect(await isLive(world, c.access_token)).toBe(true);
    const owner = await world.accounts.users.get(own.application.owner_id);
    if (owner) await deleteApplication(world.accounts, owner, own.application.id);
    expect(await isLive(world, c.access_token)).toBe(false);
    expect((await post(world, '/oauth/token', refreshOf(own, c.refresh_token))).json()).toEqual(
      refusal('invalid_client'),
    );
  });
});

describe('discovery (RFC 8414 §3)', () => {
  test('tells what there is, and each endpoint is there', async () => {
    const told = (await get('/.well-known/oauth-authorization-server')).json();
    expect(told).toMatchObject({
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'password'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: [
        'api',
        'read_user',
        'profile',
        'read_repository',
        'write_repository',
        'openid',
        'email',
      ],
    });
    for (const [name, value] of Object.entries<string>(told).filter(([key]) => key.endsWith('_endpoint'))) {
      expect(value.startsWith(told.issuer), name).toBe(true);
      const { pathname } = new URL(value);
      const method = /authorize|userinfo/.test(pathname) ? 'GET' : 'POST';
      expect((await world.app.inject({ method, url: pathname })).statusCode, name).not.toBe(404);
    }
  });

  test('promises no ID tokens: there is no OpenID configuration', async () => {
    expect((await get('/.well-known/openid-configuration')).statusCode).toBe(404);
  });
});

describe('cross-origin calls', () => {
  const METHODS: Record<string, string> = {
    '/oauth/token': 'POST',
    '/oauth/revoke': 'POST',
    '/oauth/userinfo': 'GET, HEAD, POST',
    '/.well-known/oauth-authorization-server': 'GET, HEAD',
  };
  const preflight = (url: string, wanted?: string) =>
    world.app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin: 'https://client.example',
        'access-control-request-method': 'POST',
        ...(wanted === undefined ? {} : { 'access-control-request-headers': wanted }),
      },
    });

  test.each(Object.entries(METHODS))('%s answers a preflight with %s', async (url, methods) => {
    const answer = await preflight(url, 'Authorization, X-Requested-With');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toBe(methods);
    expect(answer.headers['access-control-allow-headers']).toBe('Authorization');
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    expect(
      (await preflight(url, 'X-Requested-With')).headers['access-control-allow-headers'],
    ).toBeUndefined();
    expect((await preflight(url)).headers['access-control-allow-headers']).toBeUndefined();
  });

  test('answers and errors can be read from everywhere, without cookies', async () => {
    for (const answer of [await post(world, '/oauth/token', {}), await get('/oauth/userinfo')]) {
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test.each(['/oauth/authorize', '/oauth/token/info', '/oauth/introspect'])('%s is not open', async (url) => {
    expect(
      (await get(url, { origin: 'https://client.example' })).headers['access-control-allow-origin'],
    ).toBeUndefined();
    if (url === '/oauth/authorize')
      expect((await preflight(url)).headers['access-control-allow-origin']).toBeUndefined();
  });
});

describe('limits', () => {
  test('an address that asks too often is told when to come back, in the shape of the endpoint', async () => {
    await using busy = await world.beside({ OAUTH_PER_MINUTE: '2' });
    const ask = () => post(busy, '/oauth/token', { grant_type: 'password' });
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 429]);
    expect(answers[2]?.json()).toEqual(refusal('temporarily_unavailable'));
    expect(Number(answers[2]?.headers['retry-after'])).toBeGreaterThan(0);
  });
});
