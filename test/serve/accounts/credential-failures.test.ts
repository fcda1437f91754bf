import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { revokeGrant } from '../../../serve/accounts/grants.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import { newSecret } from '../../../serve/accounts/secrets.ts';
import { makeToken } from '../../../serve/accounts/tokens.ts';
import { aPair, party } from '../identity/oauth/flow.ts';
import type { Browser } from './browser.ts';
import { aKey, aUser, openWorld, signedIn, type World } from './world.ts';

const MAX = 3;
const HERE = '198.51.100.20';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** A server of its own, in a minute in which nothing has failed. */
function strict(settings: Record<string, string> = {}): Promise<World> {
  world.advance(60_000 - (world.now() % 60_000));
  return world.beside({ FAILED_KEYS_PER_MINUTE: String(MAX), KEY_CACHE_SECONDS: '0', ...settings });
}

const wrongKey = () => makeToken('key', newSecret().slice(0, 22)).text;

const asking =
  ({ app }: World) =>
  (url: string, headers: Record<string, string>, remoteAddress = HERE) =>
    app.inject({ url, headers, remoteAddress });
const cookieOf = ({ cookies }: Browser) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
const bearing = (token: string) => ({ authorization: `Bearer ${token}` });

async function failed(at: World): Promise<void> {
  for (let i = 0; i < MAX; i++) {
    const { statusCode } = await asking(at)('/api/daily-tps', bearing(wrongKey()));
    expect(statusCode).toBe(401);
  }
}

describe('an address that sends keys that are not valid', () => {
  test('is refused after so many a minute, and costs the store nothing more', async () => {
    await using server = await strict();
    const ask = asking(server);
    await failed(server);
    const look = vi.spyOn(server.accounts.grants, 'get');
    const refused = await ask('/api/daily-tps', bearing(wrongKey()));
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ status: 429, title: 'Too Many Requests' });
    expect(refused.headers).toMatchObject({
      'retry-after': refused.headers['ratelimit-reset'],
      'ratelimit-limit': String(MAX),
      'ratelimit-remaining': '0',
      'ratelimit-policy': `"failed-keys";q=${MAX};w=60`,
    });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask('/api/daily-tps', { authorization: 'Basic Og==' })).statusCode).toBe(429);
    expect(look).not.toHaveBeenCalled();
    expect((await ask('/api/daily-tps', {})).statusCode).toBe(200);
    expect((await ask('/api/daily-tps', bearing(wrongKey()), '198.51.100.21')).statusCode).toBe(401);
    world.advance(60_000);
    expect((await ask('/api/daily-tps', bearing(wrongKey()))).statusCode).toBe(401);
  });

  test('uses up nothing of a valid key, whether it was seen before or not', async () => {
    await using server = await strict();
    const ask = asking(server);
    const user = await aUser(world);
    const [known, unknown] = [await aKey(world, user), await aKey(world, user)];
    const statusOf = async ({ text }: { text: string }) =>
      (await ask('/api/daily-tps', bearing(text))).statusCode;
    for (let i = 0; i <= MAX; i++) expect(await statusOf(known)).toBe(200);
    await failed(server);
    expect([await statusOf(known), await statusOf(unknown)]).toEqual([200, 200]);
  });

  test('uses up nothing of any valid credential in a process that has never seen one', async () => {
    await using server = await strict();
    const user = await aUser(world);
    const { text: key } = await aKey(world, user);
    const personal = await createKey(world.accounts, user, 'personal', {
      name: 't',
      scopes: ['read_user'],
      expires_ms: 0,
    });
    const { access_token } = await aPair(await party(world, { scopes: ['read_user'] }), {
      scope: 'read_user',
    });
    const cookie = cookieOf(await signedIn(world, user));
    await failed(server);
    await using restarted = await world.beside({ FAILED_KEYS_PER_MINUTE: String(MAX) });
    for (const at of [server, restarted]) {
      const ask = asking(at);
      expect((await ask('/api/daily-tps', bearing(wrongKey()))).statusCode).toBe(429);
      expect((await ask('/api/daily-tps', bearing(key))).statusCode).toBe(200);
      expect((await ask('/api/v4/user', bearing(personal.text))).statusCode).toBe(200);
      expect((await ask('/api/v4/user', { 'private-token': personal.text })).statusCode).toBe(200);
      expect((await ask('/api/v4/user', bearing(access_token))).statusCode).toBe(200);
      expect((await ask('/profile', { cookie })).statusCode).toBe(200);
    }
  });

  test('is refused with one that is no longer valid, or whose secret is wrong', async () => {
    await using server = await strict();
    const user = await aUser(world);
    const [key, revoked] = [await aKey(world, user), await aKey(world, user)];
    await revokeGrant(world.accounts, revoked.id);
    await failed(server);
    const ask = asking(server);
    for (const text of [revoked.text, `${key.text.slice(0, -2)}AA`, `${key.text}A`, '']) {
      expect((await ask('/api/daily-tps', bearing(text))).statusCode).toBe(429);
    }
  });

  test('asks the store for many invented ones at once', async () => {
    await using server = await strict();
    await failed(server);
    const rows = vi.spyOn(world.pipeline.runtime.store, 'rows');
    const before = rows.mock.calls.length;
    const asked = Array.from({ length: 200 }, () => asking(server)('/api/v4/user', bearing(wrongKey())));
    expect(new Set((await Promise.all(asked)).map(({ statusCode }) => statusCode))).toEqual(new Set([429]));
    expect(rows.mock.calls.length - before).toBeLessThan(50);
    rows.mockRestore();
  });

  test('is refused by each API in its own words, and by Git without any', async () => {
    await using server = await strict();
    const ask = asking(server);
    await failed(server);
    const user = await ask('/api/v4/user', bearing(wrongKey()));
    expect(user).toMatchObject({ statusCode: 429 });
    expect(user.json()).toMatchObject({ error: 'temporarily_unavailable' });
    const projects = await ask('/api/v4/projects', bearing(wrongKey()));
    expect(projects).toMatchObject({ statusCode: 429 });
    expect(projects.json().message).toMatch(/^429 More than/);
    const info = await ask(`/oauth/token/info?access_token=${wrongKey()}`, {});
    expect(info).toMatchObject({ statusCode: 429 });
    const basic = Buffer.from(`oauth2:${wrongKey()}`).toString('base64');
    const git = await ask('/oauth/git', { authorization: `Basic ${basic}` });
    expect(git).toMatchObject({ statusCode: 429, body: '' });
    expect(Number(git.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask('/oauth/git', {})).statusCode).toBe(401);
  });

  test('is counted alike for sessions that never were, while one that is goes on', async () => {
    await using server = await strict();
    const ask = asking(server);
    const browser = await signedIn(server, await aUser(world));
    const cookie = cookieOf(browser);
    expect((await ask('/profile', { cookie })).statusCode).toBe(200);
    const invented = () => ask('/profile', { cookie: `session=${newSecret()}` });
    for (let i = 0; i < MAX; i++) expect((await invented()).statusCode).toBe(303);
    const refused = await invented();
    expect(refused.statusCode).toBe(429);
    expect(refused.headers['content-type']).toContain('text/html');
    expect((await ask('/profile', { cookie })).statusCode).toBe(200);
    expect((await ask('/sign-in', {})).statusCode).toBe(200);
  });
});
