import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { revokeGrant } from '../../../serve/accounts/grants.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { aPair, party } from '../identity/oauth/flow.ts';
import { aKey, aUser, openWorld, type World } from './world.ts';

let world: World;
let user: User;
let token: { readonly text: string; readonly id: string };
beforeAll(async () => {
  world = await openWorld({ ANONYMOUS_PER_MINUTE: '2', TRUST_PROXY: '1' });
  user = await aUser(world);
});
beforeEach(async () => {
  token = await aToken(['api', 'read_user', 'openid']);
});
afterAll(() => world.close());

async function aToken(scopes: string[]) {
  const { text, grant } = await createKey(world.accounts, user, 'personal', {
    name: 'script',
    scopes,
    expires_ms: 0,
  });
  return { text, id: grant.id };
}

let address = 0;
const ask = (url: string, headers: Record<string, string | string[]> = {}) =>
  world.app.inject({ url, headers: { 'x-forwarded-for': `198.51.100.${++address % 250}`, ...headers } });
const personal = (text = token.text) => ({ 'PRIVATE-TOKEN': text });

const PATHS = ['/api/v4/user', '/api/v4/projects', '/api/daily-tps', '/oauth/token/info', '/oauth/userinfo'];

describe('a personal access token in PRIVATE-TOKEN', () => {
  test.each(PATHS)('is accepted by %s, where Bearer is', async (path) => {
    expect((await ask(path, personal())).statusCode).toBe(200);
    expect((await ask(path, { authorization: `Bearer ${token.text}` })).statusCode).toBe(200);
  });

  test.each(PATHS)('is refused by %s when it is wrong, revoked or of another kind', async (path) => {
    const { access_token } = await aPair(await party(world));
    const revoked = await aToken(['api']);
    await revokeGrant(world.accounts, revoked.id);
    const key = await aKey(world, user);
    for (const wrong of [
      `${token.text.slice(0, -1)}${token.text.endsWith('A') ? 'B' : 'A'}`,
      `${token.text}A`,
      token.text.slice(0, -1),
      revoked.text,
      key.text,
      access_token,
      `Bearer ${token.text}`,
      `${token.text}, ${token.text}`,
      'x',
      '',
    ]) {
      const answer = await ask(path, personal(wrong));
      expect([wrong, answer.statusCode]).toEqual([wrong, 401]);
    }
  });

  test.each(PATHS)('is refused by %s beside another token, even the same one', async (path) => {
    for (const [url, more] of [
      [path, { authorization: `Bearer ${token.text}` }],
      [path, { authorization: 'Basic eDp5' }],
      [path, { authorization: '' }],
      [`${path}?access_token=${token.text}`, {}],
      [`${path}?access_token=`, {}],
    ] as const) {
      const answer = await ask(url, { ...personal(), ...more });
      expect([url, more, answer.statusCode]).toEqual([url, more, 400]);
    }
  });

  test('has its own scopes', async () => {
    const reader = await aToken(['read_user']);
    expect((await ask('/api/v4/user', personal(reader.text))).statusCode).toBe(200);
    expect((await ask('/api/v4/projects', personal(reader.text))).statusCode).toBe(403);
  });

  test('lifts the limit of callers without a key, and a wrong one is never anonymous, though answers are cached', async () => {
    const here = { 'x-forwarded-for': '203.0.113.9' };
    for (let i = 0; i < 6; i++) {
      const answer = await ask('/api/daily-tps', { ...personal(), ...here });
      expect([answer.statusCode, answer.headers.ratelimit]).toEqual([200, undefined]);
    }
    expect((await ask('/api/daily-tps')).statusCode).toBe(200);
    expect((await ask('/api/daily-tps', personal('cmp_x'))).statusCode).toBe(401);
  });

  test('beside a form of /oauth/userinfo is a second token', async () => {
    const send = (payload: string, headers = {}) =>
      world.app.inject({
        method: 'POST',
        url: '/oauth/userinfo',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload,
      });
    expect((await send('', personal())).statusCode).toBe(200);
    expect((await send(`access_token=${token.text}`, personal())).statusCode).toBe(400);
  });

  test('is no credential of the endpoints for clients', async () => {
    const send = (url: string) =>
      world.app.inject({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...personal() },
        payload: `grant_type=refresh_token&refresh_token=x&token=${token.text}`,
      });
    for (const url of ['/oauth/token', '/oauth/revoke', '/oauth/introspect']) {
      expect((await send(url)).json()).toMatchObject({ error: 'invalid_client' });
    }
  });
});
