import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { handleUsersRequest } from '../../../../serve/accounts/operator.ts';
import { aKey, openWorld, type World } from '../../accounts/world.ts';
import { aPair, bearer, type Party, party, post, refusal } from './flow.ts';

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

describe('/oauth/userinfo (OpenID Connect Core §5.3)', () => {
  test.each(['GET', 'POST'] as const)(
    '%s describes the user; the email requires the scope email',
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

  test('the scope profile adds nothing to openid; it and email alone open nothing', async () => {
    const scopes = ['openid', 'profile', 'email'];
    const asking = await party(world, { scopes });
    const told = async (scope: string) => {
      const { access_token } = await aPair(asking, { scope });
      return get('/oauth/userinfo', bearer(access_token));
    };
    expect((await told('openid profile')).json()).toEqual((await told('openid')).json());
    for (const scope of ['profile', 'email', 'profile email']) {
      const answer = await told(scope);
      expect([answer.statusCode, answer.json()]).toEqual([403, refusal('insufficient_scope')]);
      expect(answer.headers['www-authenticate']).toContain('scope="openid"');
    }
  });

  test('accepts the token in a form (RFC 6750 §2.2)', async () => {
    const { access_token } = await aPair(the, { scope: 'openid' });
    expect((await post(world, '/oauth/userinfo', { access_token })).statusCode).toBe(200);
    expect((await post(world, '/oauth/userinfo', { access_token }, bearer(access_token))).statusCode).toBe(
      400,
    );
  });

  test('accepts the token in the query (RFC 6750 §2.3), once', async () => {
    const { access_token } = await aPair(the, { scope: 'openid' });
    const url = `/oauth/userinfo?access_token=${access_token}`;
    expect((await get(url)).statusCode).toBe(200);
    expect((await get(url, bearer(access_token))).statusCode).toBe(400);
    expect((await get(`${url}&access_token=${access_token}`)).statusCode).toBe(400);
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
  test.each(['api', 'read_user'])('with scope %s describes the user', async (scope) => {
    const { access_token } = await aPair(the, { scope });
    const answer = await get('/api/v4/user', bearer(access_token));
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      id: Number(the.user.id),
      username: the.user.username,
      name: the.user.name,
      state: 'active',
      two_factor_enabled: false,
    });
    expect((await get(`/api/v4/user?access_token=${access_token}`)).statusCode).toBe(200);
  });

  test('gives an email only when an operator has confirmed it', async () => {
    const own = await party(world);
    const { access_token } = await aPair(own, { scope: 'read_user openid email' });
    const user = async () => (await get('/api/v4/user', bearer(access_token))).json();
    const info = async () => (await get('/oauth/userinfo', bearer(access_token))).json();
    expect(await user()).toMatchObject({ email: null, confirmed_at: null });
    expect(await info()).toMatchObject({ email: own.user.email, email_verified: false });
    expect((await own.browser.get('/profile')).body).toContain('Not confirmed');
    const { username } = own.user;
    await handleUsersRequest(world.accounts, { action: 'confirm-email', username });
    expect(await user()).toMatchObject({
      email: own.user.email,
      confirmed_at: expect.stringMatching(/^20..-..-..T/),
    });
    expect(await info()).toMatchObject({ email: own.user.email, email_verified: true });
  });

  test('refusals are not stored, on any path of the API', async () => {
    const { access_token } = await aPair(the, { scope: 'openid' });
    for (const [token, status] of [
      ['zz', 401],
      [access_token, 403],
    ] as const) {
      for (const path of ['/api/v4/user', '/api/v4/projects']) {
        const { statusCode, headers } = await get(path, bearer(token));
        expect([statusCode, headers['cache-control'], headers.pragma]).toEqual([
          status,
          'no-store',
          'no-cache',
        ]);
      }
    }
  });

  test('with other scopes or an API key is 403', async () => {
    const { access_token } = await aPair(the, { scope: 'openid email' });
    const key = await aKey(world, the.user);
    for (const token of [access_token, key.text]) {
      const answer = await get('/api/v4/user', bearer(token));
      expect([answer.statusCode, answer.json()]).toEqual([403, refusal('insufficient_scope')]);
      expect(answer.headers['www-authenticate']).toContain('scope="api read_user"');
    }
  });

  test('explains to the holder why a token is invalid (RFC 6750 §3.1)', async () => {
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
