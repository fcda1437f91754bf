import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../accounts/world.ts';
import {
  aCode,
  aPair,
  bearer,
  exchangeOf,
  infoOf,
  type Pair,
  type Party,
  party,
  post,
  refreshOf,
} from '../oauth/flow.ts';
import { verified } from './verify.ts';

type Tokens = Pair & { readonly id_token: string };

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world, { scopes: ['openid', 'email', 'api'] });
});
afterAll(() => world.close());

const tokens = async (more: Record<string, string> = {}, of = the) =>
  (await aPair(of, { scope: 'openid', ...more })) as Tokens;
const refreshed = async ({ refresh_token }: Pair, more: Record<string, string> = {}) =>
  (await post(world, '/oauth/token', { ...refreshOf(the, refresh_token), ...more })).json() as Tokens;
const claimsOf = async ({ id_token }: Tokens, of = the) =>
  (await verified(world, id_token, of.application.id)).payload;
const halfHash = (text: string) =>
  createHash('sha256').update(text, 'ascii').digest().subarray(0, 16).toString('base64url');

describe('an ID token (OpenID Connect Core §2)', () => {
  test('is signed by a published key, and describes the user as userinfo and token info do', async () => {
    const given = await tokens({ scope: 'openid email' });
    const { payload, protectedHeader } = await verified(world, given.id_token, the.application.id);
    expect(protectedHeader).toMatchObject({ alg: 'RS256', typ: 'JWT', kid: expect.any(String) });
    const userinfo = await world.app.inject({
      url: '/oauth/userinfo',
      headers: bearer(given.access_token),
    });
    expect(payload).toMatchObject(userinfo.json());
    expect(payload).toMatchObject({ email: the.user.email, email_verified: false });
    const info = (await infoOf(world, given.access_token)).json();
    expect(payload.sub).toBe(String(info.resource_owner_id));
    expect(payload.aud).toBe(the.application.id);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
    expect(payload.at_hash).toBe(halfHash(given.access_token));
    expect(payload).not.toHaveProperty('nonce');
    expect(payload).not.toHaveProperty('azp');
  });

  test('has no email without the scope', async () => {
    expect(await claimsOf(await tokens())).not.toHaveProperty('email');
  });

  test('is not issued without the scope openid', async () => {
    const pair = await aPair(the, { scope: 'api' });
    expect(pair).not.toHaveProperty('id_token');
    expect(await refreshed(pair)).not.toHaveProperty('id_token');
  });

  test('is signed with ES256 for an application that chose it', async () => {
    const modern = await party(world, { scopes: ['openid'] });
    await world.accounts.applications.change(modern.application.id, (found) => {
      if (found === null) throw new Error('no application');
      return { next: { ...found, id_token_alg: 'ES256' }, result: null };
    });
    const given = await tokens({}, modern);
    const { payload, protectedHeader } = await verified(world, given.id_token, modern.application.id);
    expect(protectedHeader.alg).toBe('ES256');
    expect(payload.at_hash).toBe(halfHash(given.access_token));
  });

  test('is never issued by the password grant', async () => {
    const answer = await post(world, '/oauth/token', {
      grant_type: 'password',
      username: the.user.username,
      password: 'four quiet words suffice',
      scope: 'openid',
      client_id: the.application.id,
      client_secret: the.secret,
    });
    expect([answer.statusCode, 'id_token' in answer.json()]).toEqual([200, false]);
  });
});

describe('a refresh (OpenID Connect Core §12.2)', () => {
  test('issues an ID token with the same iss, sub, aud and auth_time, for the new access token', async () => {
    const first = await tokens();
    const before = await claimsOf(first);
    world.advance(5000);
    const second = await refreshed(first);
    const after = await claimsOf(second);
    for (const name of ['iss', 'sub', 'aud', 'auth_time', 'amr'])
      expect(after[name], name).toEqual(before[name]);
    expect(after.iat).toBeGreaterThan(before.iat ?? 0);
    expect(after.at_hash).toBe(halfHash(second.access_token));
  });

  test('to scopes without openid issues none', async () => {
    const first = await tokens({ scope: 'openid api' });
    expect(await refreshed(first, { scope: 'api' })).not.toHaveProperty('id_token');
  });

  test('issues none once the application lost the scope openid', async () => {
    const shrinking = await party(world, { scopes: ['openid', 'api'] });
    const code = await aCode(shrinking, { scope: 'openid api' });
    await world.accounts.applications.change(shrinking.application.id, (found) => {
      if (found === null) throw new Error('no application');
      return { next: { ...found, scopes: ['api'] }, result: null };
    });
    const pair = (await post(world, '/oauth/token', exchangeOf(shrinking, code))).json();
    expect([pair.scope, 'id_token' in pair]).toEqual(['api', false]);
  });
});
