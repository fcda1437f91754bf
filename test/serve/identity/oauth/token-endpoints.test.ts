import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../../serve/accounts/keys.ts';
import { changeUser } from '../../../../serve/accounts/users.ts';
import { deleteApplication, revokeAuthorization } from '../../../../serve/identity/oauth/applications.ts';
import { aKey, openWorld, type World } from '../../accounts/world.ts';
import {
  aPair,
  basic,
  bearer,
  infoOf,
  isActive,
  type Party,
  party,
  post,
  refreshOf,
  refusal,
} from './flow.ts';

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

describe('GET /oauth/token/info', () => {
  test('answers as documented; expires_in is the remaining lifetime', async () => {
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

  test('accepts the token as query parameter, but not in two ways at once (RFC 6750 §2)', async () => {
    const { access_token } = await aPair(the);
    expect((await get(`/oauth/token/info?access_token=${access_token}`)).statusCode).toBe(200);
    const twice = await get(`/oauth/token/info?access_token=${access_token}`, bearer(access_token));
    expect([twice.statusCode, twice.json()]).toEqual([400, refusal('invalid_request')]);
    const doubled = await get(`/oauth/token/info?access_token=${access_token}&access_token=${access_token}`);
    expect(doubled.statusCode).toBe(400);
  });

  test('expires_in is null for a personal access token without expiration', async () => {
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

  test('gives the same error for every invalid token: 401 invalid_token (RFC 6750 §3.1)', async () => {
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
    'of the %s revokes the pair, and answers {}',
    async (kind) => {
      const pair = await aPair(the);
      const answer = await revoke({ ...client(the), token: pair[kind] });
      expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
      expect(await isActive(world, pair.access_token)).toBe(false);
      expect((await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).json()).toEqual(
        refusal('invalid_grant'),
      );
    },
  );

  test('revokes the refresh token of an expired access token', async () => {
    const pair = await aPair(the);
    world.advance(7_201_000);
    await revoke({ ...client(the), token: pair.access_token, token_type_hint: 'refresh_token' });
    expect((await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).statusCode).toBe(400);
  });

  test.each(['', 'unknown', `cma_${'A'.repeat(65)}`])(
    'succeeds for the unknown token %j (§2.2)',
    async (token) => {
      const answer = await revoke({ ...client(the), token });
      expect([answer.statusCode, answer.json()]).toEqual([200, {}]);
    },
  );

  test('can be repeated', async () => {
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
    expect(await isActive(world, token)).toBe(true);
  });

  test('without the secret is 401 invalid_client, and revokes nothing', async () => {
    const { access_token: token } = await aPair(the);
    const answer = await revoke({ ...client(the), client_secret: 'wrong', token });
    expect([answer.statusCode, answer.json()]).toEqual([401, refusal('invalid_client')]);
    expect((await revoke({ token })).statusCode).toBe(401);
    expect((await revoke({ token }, basic(the.application.id, the.secret))).statusCode).toBe(200);
    expect(await isActive(world, token)).toBe(false);
  });
});

describe('POST /oauth/introspect (RFC 7662)', () => {
  const ask = (of: Party, token: string) => post(world, '/oauth/introspect', { ...client(of), token });

  test('describes the active tokens of the application', async () => {
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

  test('answers {active: false} for all other tokens (§2.2)', async () => {
    const [pair, gone] = [await aPair(the), await aPair(the)];
    await post(world, '/oauth/revoke', { ...client(the), token: gone.access_token });
    const next = (await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).json();
    for (const token of ['x', gone.access_token, gone.refresh_token, pair.access_token, pair.refresh_token]) {
      expect((await ask(the, token)).json()).toEqual({ active: false });
    }
    expect((await ask(other, next.access_token)).json()).toEqual({ active: false });
    expect((await ask(the, next.access_token)).json().active).toBe(true);
  });

  test('requires client authentication with a secret (§2.1)', async () => {
    const open = await party(world, { is_confidential: false });
    const answer = await post(world, '/oauth/introspect', { client_id: open.application.id, token: 'x' });
    expect([answer.statusCode, answer.json()]).toEqual([401, refusal('invalid_client')]);
    expect(answer.headers['www-authenticate']).toBeUndefined();
    const byHeader = await post(world, '/oauth/introspect', { token: 'x' }, basic(open.application.id, ''));
    expect([byHeader.statusCode, byHeader.json()]).toEqual([401, refusal('invalid_client')]);
    expect(byHeader.headers['www-authenticate']).toMatch(/^Basic realm=/);
    expect((await post(world, '/oauth/introspect', { token: 'x' })).statusCode).toBe(401);
    expect((await ask(the, '')).json()).toEqual(refusal('invalid_request'));
  });
});

describe('tokens are invalidated', () => {
  test('by deleting the application, revoking its access and locking the account', async () => {
    const own = await party(world);
    const [a, b] = [await aPair(own), await aPair(own)];
    await revokeAuthorization(world.accounts, own.user, own.application.id);
    expect([await isActive(world, a.access_token), await isActive(world, b.access_token)]).toEqual([
      false,
      false,
    ]);
    const c = await aPair(own);
    await changeUser(world.accounts, own.user.id, () => ({ locked_ms: 1 }));
    expect(await isActive(world, c.access_token)).toBe(false);
    await changeUser(world.accounts, own.user.id, () => ({ locked_ms: 0 }));
    expect(await isActive(world, c.access_token)).toBe(true);
    const owner = await world.accounts.users.get(own.application.owner_id);
    if (owner) await deleteApplication(world.accounts, owner, own.application.id);
    expect(await isActive(world, c.access_token)).toBe(false);
    expect((await post(world, '/oauth/token', refreshOf(own, c.refresh_token))).json()).toEqual(
      refusal('invalid_client'),
    );
  });
});
