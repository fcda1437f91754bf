import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { finishDeletions } from '../../../serve/accounts/account-removal.ts';
import type { Accounts } from '../../../serve/accounts/accounts.ts';
import { activeKeys, createKey } from '../../../serve/accounts/keys.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { type Member, members } from '../../../serve/alerts/model/tables.ts';
import { openPipeline } from '../../../serve/application/compose/compose.ts';
import { SocketClient } from '../../../serve/application/operations/socket-client.ts';
import { Records } from '../../../serve/stored-records/records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { testConfig } from '../../support/test-config.ts';
import { serve } from '../application/cli/program.ts';

/** Milliseconds between the order to delete an account and the kill; the last comes after the answer. */
const MOMENTS = [15, 40, 90, Number.POSITIVE_INFINITY];
const MEMBERSHIPS = 5;

async function withAccounts<T>(directory: string, work: (accounts: Accounts) => Promise<T>): Promise<T> {
  const pipeline = await openPipeline(testConfig({ DATA_DIR: directory, LOG_LEVEL: 'error' }));
  try {
    return await work(pipeline.accounts());
  } finally {
    await pipeline.close();
  }
}

async function aMember(accounts: Accounts, username: string): Promise<User> {
  const user = await createUser(accounts, { username, email: `${username}@example.org`, password: null });
  await createKey(accounts, user, 'key', { name: 'script', scopes: [], expires_ms: 0 });
  const rows = new Records<Member>(accounts, members);
  for (let project = 1; project <= MEMBERSHIPS; project++)
    await rows.add({
      id: `${project}/${user.id}`,
      ...{ project_id: String(project), user_id: user.id, access_level: 30, created_ms: 1, expires_ms: 0 },
    });
  return user;
}

/** What is left of a user: versions of the row that have a name, memberships and keys. */
async function leftOf(accounts: Accounts, user: User) {
  const named = await accounts.store.rows(
    sql`SELECT version FROM ${accounts.users.table} WHERE id = ${user.id} AND username != ''`,
  );
  const memberships = await accounts.store.rows(
    sql`SELECT id FROM ${members} FINAL WHERE user_id = ${user.id} AND access_level > 0`,
  );
  const keys = await activeKeys(accounts, user.id, 'key');
  return { isNamed: named.length > 0, memberships: memberships.length, keys: keys.length };
}

test('kill -9 during a deletion leaves a whole account, or one that the sweep finishes', async () => {
  using directory = temporaryDirectory();
  const users = await withAccounts(directory.path, async (accounts) => {
    const made: User[] = [];
    for (const i of MOMENTS.keys()) made.push(await aMember(accounts, `ann-${i}`));
    return made;
  });
  const confirmed = new Set<string>();
  for (const [i, moment] of MOMENTS.entries()) {
    const { id, username } = users[i] as User;
    const server = await serve([], { DATA_DIR: directory.path, LOG_LEVEL: 'error' });
    const client = (await SocketClient.connect(directory.path)) as SocketClient;
    // The first order loads the code that handles it.
    await client.call('users', { action: 'list' });
    const order = client.call('users', { action: 'delete', username }).then(
      () => confirmed.add(id),
      () => null,
    );
    await (moment === Number.POSITIVE_INFINITY ? order : setTimeout(moment));
    await server.end('SIGKILL');
    await order;
  }
  await withAccounts(directory.path, async (accounts) => {
    const whole = { isNamed: true, memberships: MEMBERSHIPS, keys: 1 };
    const gone = { isNamed: false, memberships: 0, keys: 0 };
    for (const user of users) {
      const isMarked = (await accounts.users.get(user.id)) === null;
      if (!isMarked) expect(await leftOf(accounts, user)).toEqual(whole);
      if (confirmed.has(user.id)) expect(await leftOf(accounts, user)).toEqual(gone);
    }
    await finishDeletions(accounts);
    const left = await Promise.all(users.map((user) => leftOf(accounts, user)));
    for (const [i, user] of users.entries())
      expect(left[i]).toEqual((await accounts.users.get(user.id)) === null ? gone : whole);
    expect(confirmed.size).toBeGreaterThan(0);
  });
});
