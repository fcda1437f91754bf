import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../serve/accounts/keys.ts';
import {
  aPair,
  authorizeUrl,
  type Pair,
  type Party,
  party,
  post,
  refreshOf,
} from '../identity/oauth/flow.ts';
import type { Browser } from './browser.ts';
import { aUser, openWorld, signedIn, type World } from './world.ts';

const MAX = 4;
const HERE = '198.51.100.30';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world, { scopes: ['api', 'read_user', 'openid'] });
});
afterAll(() => world.close());

/** A server of its own, in a minute in which nothing was counted. */
function strict(settings: Record<string, string>): Promise<World> {
  world.advance(60_000 - (world.now() % 60_000));
  return world.beside(settings);
}

const asking =
  ({ app }: World) =>
  (url: string, headers: Record<string, string> = {}) =>
    app.inject({ url, headers, remoteAddress: HERE });
const sending =
  ({ app }: World) =>
  (url: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url,
      remoteAddress: HERE,
      headers: { ...FORM, ...headers },
      payload: new URLSearchParams(fields).toString(),
    });
const cookieOf = ({ cookies }: Browser) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('an address that has used up its requests to /oauth', () => {
  let server: World;
  let pair: Pair;
  beforeAll(async () => {
    pair = await aPair(the, { scope: 'read_user openid' });
    server = await strict({ OAUTH_PER_MINUTE: String(MAX) });
    for (let i = 0; i < MAX; i++) await sending(server)('/oauth/token', { grant_type: 'x' });
  });
  afterAll(() => server.close());

  test('is refused without a token, or with one that is invented', async () => {
    const send = sending(server);
    const invented = `${pair.refresh_token.slice(0, -3)}AAA`;
    const stolenId = `${pair.refresh_token.slice(0, 26)}${'A'.repeat(86)}`;
    expect((await send('/oauth/token', { grant_type: 'password' })).statusCode).toBe(429);
    for (const token of [stolenId, `cmr_${'A'.repeat(108)}`, 'x']) {
      expect((await send('/oauth/token', refreshOf(the, token))).statusCode).toBe(429);
      expect((await send('/oauth/revoke', { token })).statusCode).toBe(429);
    }
    expect(invented).not.toBe(pair.refresh_token);
    expect((await asking(server)('/oauth/userinfo', bearer('x'))).statusCode).toBe(429);
    expect((await asking(server)(authorizeUrl(the))).statusCode).toBe(429);
  });

  test('still answers a session, a token, a refresh token and a code, each by account', async () => {
    const ask = asking(server);
    expect((await ask('/oauth/userinfo', bearer(pair.access_token))).statusCode).toBe(200);
    expect((await ask('/api/v4/user', bearer(pair.access_token))).statusCode).toBe(200);
    expect((await ask(authorizeUrl(the), { cookie: cookieOf(the.browser) })).statusCode).toBe(200);
    expect((await sending(server)('/oauth/token', refreshOf(the, pair.refresh_token))).statusCode).toBe(200);
    // The account has sent as many as an address may.
    expect((await ask(authorizeUrl(the), { cookie: cookieOf(the.browser) })).statusCode).toBe(429);
    const other = await signedIn(world, await aUser(world));
    expect((await ask(authorizeUrl(the), { cookie: cookieOf(other) })).statusCode).toBe(200);
  });
});

describe('an address that has used up the requests of callers without a key', () => {
  test('still answers who is signed in, and tokens of any scope', async () => {
    await using server = await strict({ ANONYMOUS_PER_MINUTE: String(MAX) });
    const ask = asking(server);
    const user = await aUser(world);
    const cookie = cookieOf(await signedIn(world, user));
    const reader = await createKey(world.accounts, user, 'personal', {
      name: 'r',
      scopes: ['read_user'],
      expires_ms: 0,
    });
    for (let i = 0; i < MAX; i++) expect((await ask('/api/daily-tps')).statusCode).toBe(200);
    for (const path of ['/api/daily-tps', '/charts', '/docs/guides', '/nowhere']) {
      const anonymous = await ask(path, { accept: 'text/html' });
      expect([path, anonymous.statusCode]).toEqual([path, 429]);
    }
    expect((await ask('/charts', { cookie: 'session=invented' })).statusCode).toBe(429);
    expect((await ask('/charts', { cookie })).statusCode).toBe(200);
    expect((await ask('/docs/guides', { cookie })).statusCode).toBe(200);
    expect((await ask('/api/daily-tps', { cookie })).headers['ratelimit-remaining']).toBe('1');
    expect((await ask('/api/daily-tps', bearer(reader.text))).statusCode).toBe(200);
    expect((await ask('/api/daily-tps', bearer(reader.text))).statusCode).toBe(429);
  });
});

describe('an address that has used up its messages for wallets', () => {
  test('still makes one for who is signed in', async () => {
    await using server = await strict({ WALLET_CHALLENGES_PER_MINUTE: String(MAX) });
    const cookie = cookieOf(await signedIn(world, await aUser(world)));
    const statusOf = async (headers: Record<string, string>) =>
      (await sending(server)('/wallet/challenge', {}, headers)).statusCode;
    for (let i = 0; i < MAX; i++) expect(await statusOf({})).not.toBe(429);
    expect(await statusOf({})).toBe(429);
    expect(await statusOf({ cookie })).not.toBe(429);
  });
});

test('a client that is refused is told when to come again, in the words of OAuth', async () => {
  await using server = await strict({ OAUTH_PER_MINUTE: '1' });
  await post(server, '/oauth/token', {});
  const answer = await post(server, '/oauth/token', {});
  expect([answer.statusCode, answer.json().error]).toEqual([429, 'temporarily_unavailable']);
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
});
