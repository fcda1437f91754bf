import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { revokeGrant } from '../../../serve/accounts/grants.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import { KEYS_PER_ACCOUNT } from '../../../serve/accounts/limits.ts';
import { changeUser } from '../../../serve/accounts/users.ts';
import { Browser } from './browser.ts';
import { aKey, anApplication, aUser, openWorld, signedIn, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({ ANONYMOUS_PER_MINUTE: '2', TRUST_PROXY: '1' });
});
afterAll(() => world.close());

const PATH = '/api/daily-tps';
let address = 0;
const ask = (headers: Record<string, string> = {}, url = PATH) =>
  world.app.inject({ url, headers: { 'x-forwarded-for': `198.51.100.${++address % 250}`, ...headers } });
const key = (text: string) => ({ authorization: `Bearer ${text}` });

describe('an API key', () => {
  test('removes the rate limit, cached or not', async () => {
    const { text } = await aKey(world, await aUser(world));
    for (let i = 0; i < 10; i++) {
      const answer = await ask({ ...key(text), 'x-forwarded-for': '203.0.113.1' });
      expect(answer.statusCode).toBe(200);
      expect(answer.headers.ratelimit).toBeUndefined();
    }
    const without = [
      await ask({ 'x-forwarded-for': '203.0.113.1' }),
      await ask({ 'x-forwarded-for': '203.0.113.1' }),
      await ask({ 'x-forwarded-for': '203.0.113.1' }),
    ];
    expect(without.map(({ statusCode }) => statusCode)).toEqual([200, 200, 429]);
  });

  test('works as query parameter and does not appear in the response', async () => {
    const { text } = await aKey(world, await aUser(world));
    const answer = await ask({}, `${PATH}?relay_chain=polkadot&limit=1&access_token=${text}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers.ratelimit).toBeUndefined();
    expect(JSON.stringify(answer.headers)).not.toContain(text);
    const plain = await ask({}, `${PATH}?relay_chain=polkadot&limit=1`);
    expect(answer.headers.etag).toBe(plain.headers.etag);
  });

  test('is refused when sent in two ways at once', async () => {
    const { text } = await aKey(world, await aUser(world));
    expect((await ask(key(text), `${PATH}?access_token=${text}`)).statusCode).toBe(400);
  });

  test.each([
    ['nonsense', 'Bearer x'],
    ['an empty one', 'Bearer '],
    ['an unknown one', `Bearer cmk_${'A'.repeat(65)}`],
    ['another scheme', 'Basic eDp5'],
    ['invalid bytes', 'Bearer \u00ff\u00fe'],
  ])('%s is 401, never taken for anonymous', async (_, authorization) => {
    const answer = await ask({ authorization });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(answer.json()).toMatchObject({
      status: 401,
      detail: 'This API key or access token is unknown, expired or revoked, or it is for another resource.',
    });
  });

  test('with any wrong character is 401, also after the correct key was cached', async () => {
    const { text } = await aKey(world, await aUser(world));
    expect((await ask(key(text))).statusCode).toBe(200);
    for (const at of [0, 5, 25, 30, text.length - 1]) {
      const wrong = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
      expect((await ask(key(wrong))).statusCode).toBe(401);
    }
    expect((await ask(key(`${text}A`))).statusCode).toBe(401);
  });

  test('that was revoked is 401 immediately in the same process', async () => {
    const { text, id } = await aKey(world, await aUser(world));
    expect((await ask(key(text))).statusCode).toBe(200);
    await revokeGrant(world.accounts, id);
    expect((await ask(key(text))).statusCode).toBe(401);
  });

  test('is checked for a cached answer too', async () => {
    const { text, id } = await aKey(world, await aUser(world));
    const answers = [await ask(key(text)), await ask(key(text)), await ask(key(text))];
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.ratelimit])).toEqual(
      Array.from({ length: 3 }, () => [200, undefined]),
    );
    expect((await ask(key(`${text.slice(0, -1)}-`))).statusCode).toBe(401);
    await revokeGrant(world.accounts, id);
    expect((await ask(key(text))).statusCode).toBe(401);
  });

  test('that was revoked by another process is 401 after at most KEY_CACHE_SECONDS', async () => {
    await using other = await world.beside({ ANONYMOUS_PER_MINUTE: '2', KEY_CACHE_SECONDS: '5' });
    const { text, id } = await aKey(world, await aUser(world));
    const there = () => other.app.inject({ url: PATH, headers: key(text) });
    expect((await there()).statusCode).toBe(200);
    await revokeGrant(world.accounts, id);
    world.advance(5_001);
    expect((await there()).statusCode).toBe(401);
  });

  test('of a locked account is 401 immediately, and works again after unlocking', async () => {
    const user = await aUser(world);
    const { text } = await aKey(world, user);
    expect((await ask(key(text))).statusCode).toBe(200);
    await changeUser(world.accounts, user.id, () => ({ locked_ms: 1 }));
    expect((await ask(key(text))).statusCode).toBe(401);
    await changeUser(world.accounts, user.id, () => ({ locked_ms: 0 }));
    expect((await ask(key(text))).statusCode).toBe(200);
  });

  test('expires on its last day, also while it is cached', async () => {
    const user = await aUser(world);
    const made = await createKey(world.accounts, user, 'key', {
      name: 'short',
      scopes: [],
      expires_ms: world.now() + 2000,
    });
    expect((await ask(key(made.text))).statusCode).toBe(200);
    world.advance(2001);
    expect((await ask(key(made.text))).statusCode).toBe(401);
  });

  test('gives no access to the account', async () => {
    const { text } = await aKey(world, await aUser(world));
    expect((await ask(key(text), '/api/v4/user')).statusCode).toBe(403);
    expect((await ask(key(text), '/oauth/token/info')).statusCode).toBe(401);
    expect(
      (
        await ask(
          { authorization: `Basic ${Buffer.from(`oauth2:${text}`).toString('base64')}` },
          '/oauth/git',
        )
      ).statusCode,
    ).toBe(401);
  });

  test('works and stays revoked after keyValue was emptied', async () => {
    const user = await aUser(world);
    const [live, dead] = [await aKey(world, user), await aKey(world, user)];
    await revokeGrant(world.accounts, dead.id);
    const { keyValue } = world.pipeline.runtime;
    for (const id of [live.id, dead.id]) await keyValue.delete(`grants/${id}`);
    expect((await ask(key(live.text))).statusCode).toBe(200);
    expect((await ask(key(dead.text))).statusCode).toBe(401);
  });
});

describe('the pages of keys and tokens', () => {
  test('show a key once, then its name and last use, and revoke it', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const made = await browser.submitAndFollow('/profile/keys', '/profile/keys', { name: 'my <program>' });
    const text = /id="secret">(cmk_[\w-]+)</.exec(made.body)?.[1] ?? '';
    expect(text).toHaveLength(69);
    const page = await browser.get('/profile/keys');
    expect(page.body).not.toContain(text.slice(30));
    expect(page.body).toContain('my &#60;program&#62;');
    expect(page.body).toMatch(/Never/);
    const before = Math.floor(world.now() / 1000) * 1000;
    expect((await ask(key(text))).statusCode).toBe(200);
    const [, used] = (await browser.get('/profile/keys')).body.matchAll(/<time datetime="([^"]+)"/g);
    const lastUse = Date.parse(used?.[1] ?? '');
    expect(lastUse).toBeGreaterThanOrEqual(before);
    expect(lastUse).toBeLessThanOrEqual(world.now());
    const action = /href="(\/profile\/keys\/[^"]+\/revoke)"/.exec(page.body)?.[1] ?? '';
    const stranger = await signedIn(world, await aUser(world));
    await stranger.submit('/profile/keys', action, { confirmed: 'yes' });
    expect((await stranger.get(action)).headers.location).toBe('/profile/keys');
    const unasked = await browser.submit('/profile/keys', action, {});
    expect(unasked.statusCode).toBe(422);
    expect(unasked.body).toContain('Revoke my &#60;program&#62;?');
    expect(unasked.body).toMatch(/Last used<\/dt><dd><time/);
    expect((await ask(key(text))).statusCode).toBe(200);
    await browser.submit(action, action, {});
    expect((await ask(key(text))).statusCode).toBe(401);
  });

  test.each([
    ['/profile/keys', { name: '' }, 'name-fault'],
    ['/profile/keys', { name: 'x', expires: '2001-01-01' }, 'expires-fault'],
    ['/profile/keys', { name: 'x', expires: 'soon' }, 'expires-fault'],
    ['/profile/keys', { name: 'a\u202eb' }, 'name-fault'],
    ['/profile/keys', { name: '\u3164' }, 'name-fault'],
    ['/profile/keys', { name: 'a\u200bb' }, 'name-fault'],
    ['/profile/tokens', { name: '\u2800', scopes: 'api' }, 'name-fault'],
    ['/profile/tokens', { name: 'a\u034fb', scopes: 'api' }, 'name-fault'],
    ['/profile/tokens', { name: 'x' }, 'scopes-fault'],
    ['/profile/tokens', { name: 'x', scopes: 'sudo' }, 'scopes-fault'],
  ])('%s with %j names the field at fault', async (path, fields, fault) => {
    const browser = await signedIn(world, await aUser(world));
    const answer = await browser.submit(path, path, fields);
    expect(answer.statusCode).toBe(422);
    expect(answer.body).toContain(`id="${fault}"`);
  });

  test('ask before an application and its tokens end', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const { application } = await anApplication(world, user, { name: 'Block <Watcher>' });
    const end = `/profile/applications/${application.id}/remove`;
    const unasked = await browser.submit(end, end, { confirmed: '' });
    expect(unasked.statusCode).toBe(422);
    expect(unasked.body).toContain('Delete the application Block &#60;Watcher&#62;?');
    const stranger = await signedIn(world, await aUser(world));
    expect((await stranger.get(end)).statusCode).toBe(404);
    expect((await browser.submit(end, end, {})).headers.location).toBe('/profile/applications');
    expect((await browser.get(end)).statusCode).toBe(404);
  });

  test('allow at most KEYS_PER_ACCOUNT keys', async () => {
    const user = await aUser(world);
    const create = (name: string) =>
      createKey(world.accounts, user, 'key', { name, scopes: [], expires_ms: 0 });
    for (let i = 0; i < KEYS_PER_ACCOUNT; i++) await create(`key ${i}`);
    await expect(create('one more')).rejects.toThrow(/Revoke one first/);
  });

  test('require a session', async () => {
    for (const path of [
      '/profile',
      '/profile/keys',
      '/profile/tokens',
      '/profile/applications',
      '/profile/security',
      '/profile/sessions',
      '/profile/wallets',
      '/profile/authorized-applications',
    ]) {
      expect((await new Browser(world.app).get(path)).headers.location).toBe(
        `/sign-in?next=${encodeURIComponent(path)}`,
      );
    }
  });
});
