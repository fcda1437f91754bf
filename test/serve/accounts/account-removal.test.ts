import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../infra/days.ts';
import { sql } from '../../../infra/sql.ts';
import { deleteAccount } from '../../../serve/accounts/account-removal.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import { sweep } from '../../../serve/accounts/maintenance.ts';
import { handleUsersRequest } from '../../../serve/accounts/operator.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { changeUser, createUser, findUser } from '../../../serve/accounts/users.ts';
import { aPair, isActive, type Party, party, post, refreshOf } from '../identity/oauth/flow.ts';
import { Browser } from './browser.ts';
import { challenge, keyOf, signIn } from './wallet.ts';
import { aKey, anApplication, aUser, openWorld, PASSWORD, signedIn, type World } from './world.ts';

let world: World;
/** A second server on the same store and `keyValue`. */
let second: World;
beforeAll(async () => {
  world = await openWorld();
  second = await world.beside({});
});
afterAll(async () => {
  await second.close();
  await world.close();
});

const withToken = (server: World, token: string) =>
  server.app.inject({ url: '/api/v4/user', headers: { authorization: `Bearer ${token}` } });

/** What a kill leaves after the first write of a deletion. */
const killedAfterMark = ({ accounts }: World, { id }: User) =>
  changeUser(accounts, id, () => ({ deleted_ms: accounts.clock.now() }));

describe('a deleted account', () => {
  let the: Party;
  let owner: User;
  beforeAll(async () => {
    the = await party(world);
    owner = (await world.accounts.users.get(the.application.owner_id)) as User;
  });

  test('has no access any more, on any server', async () => {
    const pair = await aPair(the);
    const key = await aKey(world, the.user);
    const personal = await createKey(world.accounts, the.user, 'personal', {
      name: 'script',
      scopes: ['api'],
      expires_ms: 0,
    });
    for (const server of [world, second]) {
      expect((await withToken(server, personal.text)).statusCode).toBe(200);
      expect(await isActive(server, pair.access_token)).toBe(true);
    }
    expect(await deleteAccount(world.accounts, the.user)).toEqual([]);
    for (const server of [world, second]) {
      expect((await withToken(server, personal.text)).statusCode).toBe(401);
      expect((await withToken(server, key.text)).statusCode).toBe(401);
      expect(await isActive(server, pair.access_token)).toBe(false);
      expect((await post(server, '/oauth/token', refreshOf(the, pair.refresh_token))).statusCode).toBe(400);
      const password = { grant_type: 'password', username: the.user.username, password: PASSWORD };
      expect((await post(server, '/oauth/token', password)).statusCode).toBe(400);
    }
    expect((await the.browser.get('/profile')).headers.location).toMatch(/^\/sign-in/);
    await expect(signedIn(world, the.user)).rejects.toThrow('no sign-in');
  });

  test('keeps nothing but its id, in no version of its row', async () => {
    expect(await world.accounts.users.get(the.user.id)).toBeNull();
    const rows = await world.accounts.store.rows<User>(
      sql`SELECT * FROM ${world.accounts.users.table} WHERE id = ${the.user.id}`,
    );
    expect(rows).toHaveLength(1);
    const [{ deleted_ms = 0, ...row } = {} as Partial<User>] = rows;
    expect(deleted_ms).toBeGreaterThan(0);
    expect(row).toMatchObject({ username: '', name: '', email: '', password_hash: '', totp_secret: '' });
    expect((await handleUsersRequest(world.accounts, { action: 'list' })).users).not.toContainEqual(
      expect.objectContaining({ id: Number(the.user.id) }),
    );
  });

  test('frees its names for an account with another id', async () => {
    const { username, email } = the.user;
    const next = await createUser(world.accounts, { username, email, password: PASSWORD });
    expect(Number(next.id)).toBeGreaterThan(Number(the.user.id));
    expect((await signedIn(second, next)).cookies.size).toBeGreaterThan(0);
  });

  test('takes its applications with it: tokens of their users end', async () => {
    const another = await party(world);
    const pair = await aPair({ ...another, application: the.application, secret: the.secret });
    expect((await withToken(second, pair.access_token)).statusCode).toBe(200);
    await deleteAccount(world.accounts, owner);
    expect((await withToken(world, pair.access_token)).statusCode).toBe(401);
    expect((await another.browser.get('/profile/authorized-applications')).body).not.toContain(
      the.application.name,
    );
  });

  test('its sessions, tokens, keys and applications are gone after two days', async () => {
    world.advance(2 * DAY_MS);
    await sweep(world.accounts);
    const { store, sessions, grants, applications } = world.accounts;
    for (const [{ table }, column] of [
      [sessions, 'user_id'],
      [grants, 'user_id'],
      [applications, 'owner_id'],
    ] as const) {
      const rows = await store.rows<Record<string, string>>(sql`SELECT * FROM ${table}`);
      expect(rows.filter((row) => [the.user.id, owner.id].includes(String(row[column])))).toEqual([]);
    }
  });
});

describe('a deletion', () => {
  test('beats refreshes and sign-ins that run at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      const the = await party(world);
      const pair = await aPair(the);
      const [refreshed] = await Promise.all([
        post(second, '/oauth/token', refreshOf(the, pair.refresh_token)),
        deleteAccount(world.accounts, the.user),
        signedIn(second, the.user).catch(() => null),
        createKey(second.accounts, the.user, 'key', { name: 'late', scopes: [], expires_ms: 0 }),
      ]);
      expect([200, 400]).toContain(refreshed.statusCode);
      if (refreshed.statusCode === 200) {
        const { access_token, refresh_token } = refreshed.json();
        expect(await isActive(second, access_token)).toBe(false);
        expect((await post(second, '/oauth/token', refreshOf(the, refresh_token))).statusCode).toBe(400);
      }
      expect(await world.accounts.users.get(the.user.id)).toBeNull();
      expect(await findUser(second.accounts, the.user.username)).toBeNull();
    }
  });

  test('that is asked for many times at once is done once', async () => {
    const user = await aUser(world);
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => deleteAccount((i % 2 ? world : second).accounts, user)),
    );
    expect(await world.accounts.users.get(user.id)).toBeNull();
  });

  test('that was killed keeps the names until the sweep of any server finishes it', async () => {
    const user = await aUser(world, 'half-gone');
    const { application } = await anApplication(world, user);
    const key = await aKey(world, user);
    await killedAfterMark(world, user);
    expect((await withToken(world, key.text)).statusCode).toBe(401);
    const again = { username: 'half-gone', email: '', password: PASSWORD };
    await expect(createUser(world.accounts, again)).rejects.toThrow('already taken');
    world.advance(DAY_MS);
    await sweep(second.accounts);
    expect((await world.accounts.applications.get(application.id))?.revoked_ms).toBeGreaterThan(0);
    expect((await createUser(world.accounts, again)).id).not.toBe(user.id);
  });

  test('that was killed lets its wallet sign in to a new account only', async () => {
    const wallet = keyOf('sr25519', 77);
    const enter = async () => {
      const browser = new Browser(world.app);
      const { sealed, message } = await challenge(browser, wallet);
      await signIn(browser, sealed, wallet.sign(message));
      return browser;
    };
    const userOf = async (browser: Browser) =>
      /<dt>Username<\/dt><dd>([\w-]+)</.exec((await browser.get('/profile')).body)?.[1] ?? '';
    const first = await userOf(await enter());
    const user = (await findUser(world.accounts, first)) as User;
    await killedAfterMark(world, user);
    const browser = await enter();
    const next = await userOf(browser);
    expect([next.startsWith(first), next === first]).toEqual([true, false]);
    await deleteAccount(world.accounts, { ...user, deleted_ms: 1 });
    expect(await userOf(await enter())).toBe(next);
  });

  test('that was killed is finished by the command, which meets no other account', async () => {
    const user = await aUser(world, 'quarter-gone');
    await killedAfterMark(world, user);
    const done = await handleUsersRequest(world.accounts, { action: 'delete', username: 'quarter-gone' });
    expect(done.users).toMatchObject([{ id: Number(user.id), username: 'quarter-gone' }]);
    await expect(
      handleUsersRequest(world.accounts, { action: 'delete', username: 'quarter-gone' }),
    ).rejects.toThrow('there is no account quarter-gone');
  });
});
