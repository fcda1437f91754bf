import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { handleUsersRequest } from '../../../../serve/accounts/operator.ts';
import { handleApplicationsRequest } from '../../../../serve/identity/oauth/application-requests.ts';
import { updateApplication } from '../../../../serve/identity/oauth/applications.ts';
import { plain } from '../../accounts/browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from '../../accounts/world.ts';
import {
  aCode,
  aPair,
  authorizeUrl,
  bearer,
  exchangeOf,
  infoOf,
  isActive,
  type Party,
  party,
  post,
  refreshOf,
  refusal,
} from './flow.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const userOf = (token: string) => world.app.inject({ url: '/api/v4/user', headers: bearer(token) });
const refreshed = (the: Party, token: string, more = {}) =>
  post(world, '/oauth/token', { ...refreshOf(the, token), ...more });

describe('an application that lost scopes', () => {
  const cut = async ({ application }: Party, scopes: string[]) => {
    const owner = await world.accounts.users.get(application.owner_id);
    if (owner === null) throw new Error('no owner');
    await updateApplication(world.accounts, owner, application.id, {
      name: application.name,
      redirect_uris: application.redirect_uris.join('\n'),
      post_logout_redirect_uris: '',
      id_token_alg: application.id_token_alg,
      scopes,
    });
  };

  test('loses them in tokens that it holds, and gets none of them by a refresh', async () => {
    const the = await party(world);
    const pair = await aPair(the, { scope: 'api read_user openid' });
    await cut(the, ['read_user']);
    expect((await infoOf(world, pair.access_token)).json()).toMatchObject({ scope: ['read_user'] });
    const userinfo = await world.app.inject({ url: '/oauth/userinfo', headers: bearer(pair.access_token) });
    expect(userinfo.statusCode).toBe(403);
    const beyond = await refreshed(the, pair.refresh_token, { scope: 'api' });
    expect([beyond.statusCode, beyond.json()]).toEqual([400, refusal('invalid_scope')]);
    const next = await refreshed(the, pair.refresh_token);
    expect(next.json()).toMatchObject({ scope: 'read_user' });
  });

  test('gets no tokens when no granted scope is left, and uses up no refresh token', async () => {
    const the = await party(world);
    const pair = await aPair(the, { scope: 'api' });
    const code = await aCode(the, { scope: 'api' });
    await cut(the, ['read_user']);
    for (const answer of [
      await refreshed(the, pair.refresh_token),
      await post(world, '/oauth/token', exchangeOf(the, code)),
    ])
      expect([answer.statusCode, answer.json()]).toEqual([400, refusal('invalid_grant')]);
    await cut(the, ['api']);
    expect((await refreshed(the, pair.refresh_token)).json()).toMatchObject({ scope: 'api' });
  });
});

describe('an application that an operator blocked', () => {
  test('works in no way until it is unblocked, and users and its owner see that', async () => {
    const the = await party(world);
    const pair = await aPair(the);
    const code = await aCode(the);
    const { id } = the.application;
    const owner = await world.accounts.users.get(the.application.owner_id);
    const ofOwner = await signedIn(world, owner ?? the.user);

    const { applications } = await handleApplicationsRequest(world.accounts, { action: 'block', id });
    expect(applications).toMatchObject([{ id, owner: owner?.username, is_blocked: true }]);
    expect((await userOf(pair.access_token)).statusCode).toBe(401);
    expect((await refreshed(the, pair.refresh_token)).json()).toEqual(refusal('invalid_client'));
    expect((await post(world, '/oauth/token', exchangeOf(the, code))).json()).toEqual(
      refusal('invalid_client'),
    );
    const asked = await the.browser.get(authorizeUrl(the));
    expect([asked.statusCode, asked.headers.location]).toEqual([400, undefined]);
    expect((await the.browser.get('/profile/authorized-applications')).body).toContain('Blocked');
    expect(plain((await ofOwner.get(`/profile/applications/${id}`)).body)).toContain('has blocked');

    await handleApplicationsRequest(world.accounts, { action: 'unblock', id });
    expect((await userOf(pair.access_token)).statusCode).toBe(200);
    expect((await refreshed(the, pair.refresh_token)).statusCode).toBe(200);
    await expect(
      handleApplicationsRequest(world.accounts, { action: 'block', id: 'f'.repeat(64) }),
    ).rejects.toMatchObject({ code: 'usage' });
  });

  test('is stopped by the lock of its owner as well', async () => {
    const the = await party(world);
    const pair = await aPair(the);
    const owner = await world.accounts.users.get(the.application.owner_id);
    const order = (action: 'lock' | 'unlock') =>
      handleUsersRequest(world.accounts, { action, username: owner?.username ?? '' });
    await order('lock');
    expect((await userOf(pair.access_token)).statusCode).toBe(401);
    expect((await refreshed(the, pair.refresh_token)).statusCode).toBe(401);
    expect((await the.browser.get(authorizeUrl(the))).statusCode).toBe(400);
    const { applications } = await handleApplicationsRequest(world.accounts, { action: 'list' });
    expect(applications.find(({ id }) => id === the.application.id)).toMatchObject({
      is_blocked: false,
      is_owner_locked: true,
    });
    await order('unlock');
    expect((await userOf(pair.access_token)).statusCode).toBe(200);
  });
});

describe('a password that was changed', () => {
  const tokenOf = async (username: string, password: string) => {
    const answer = await post(world, '/oauth/token', { grant_type: 'password', username, password });
    return String(answer.json().access_token);
  };
  const NEW = 'five other quiet words here';

  test('by an operator revokes the tokens that the old one obtained', async () => {
    const { username } = await aUser(world);
    const token = await tokenOf(username, PASSWORD);
    expect(await isActive(world, token)).toBe(true);
    await handleUsersRequest(world.accounts, { action: 'reset-password', username, password: NEW });
    expect(await isActive(world, token)).toBe(false);
    expect(await isActive(world, await tokenOf(username, NEW))).toBe(true);
  });

  test('by the user revokes them as well, also one that was obtained at the same time', async () => {
    const user = await aUser(world);
    const browser = await signedIn(world, user);
    const token = await tokenOf(user.username, PASSWORD);
    const fields = { password: PASSWORD, new_password: NEW };
    const [changed, late] = await Promise.all([
      browser.submit('/profile/security', '/profile/security/password', fields),
      tokenOf(user.username, PASSWORD),
    ]);
    expect(changed.statusCode).toBe(303);
    for (const one of [token, late]) expect(await isActive(world, one)).toBe(false);
    expect(await isActive(world, await tokenOf(user.username, NEW))).toBe(true);
  });

  test('leaves the tokens of authorized applications', async () => {
    const the = await party(world);
    const pair = await aPair(the);
    const { username } = the.user;
    await handleUsersRequest(world.accounts, { action: 'reset-password', username, password: NEW });
    expect(await isActive(world, pair.access_token)).toBe(true);
  });
});
