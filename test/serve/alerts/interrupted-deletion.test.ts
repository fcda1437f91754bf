import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { deleteAccount, finishDeletions } from '../../../serve/accounts/account-removal.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { changeUser } from '../../../serve/accounts/users.ts';
import { alertSilences, type SilenceRow } from '../../../serve/alerts/model/suppression-tables.ts';
import { members, projects } from '../../../serve/alerts/model/tables.ts';
import { anApplication } from '../accounts/world.ts';
import { type Person, Service } from './service.ts';

let service: Service;
let people = 0;
beforeAll(async () => {
  service = await Service.open();
});
afterAll(() => service?.close());

/** A project with two Owners. */
async function aTeam(): Promise<{ ann: Person; bob: Person; path: string }> {
  const ann = await service.person(`ann-${++people}`);
  const bob = await service.person(`bob-${people}`);
  const path = `/projects/${await service.project(ann, { name: 'Render farm' })}`;
  await service.api(ann, 'POST', `${path}/members`, { username: bob.user.username, access_level: 50 });
  return { ann, bob, path };
}

const versionsOf = ({ id }: User) =>
  service.accounts.store.rows<User>(sql`SELECT * FROM ${service.accounts.users.table} WHERE id = ${id}`);

test('a deletion that fails before its mark leaves the account and its memberships', async () => {
  const { ann, path } = await aTeam();
  const marking = vi.spyOn(service.accounts.users, 'change').mockRejectedValueOnce(new Error('killed'));
  await expect(deleteAccount(service.accounts, ann.user)).rejects.toThrow('killed');
  marking.mockRestore();
  await finishDeletions(service.accounts);
  const { body } = await service.api(ann, 'GET', `${path}/members`);
  expect(body).toContainEqual(expect.objectContaining({ id: Number(ann.user.id), access_level: 50 }));
});

test('a project that a request in flight creates has an Owner, or is refused', async () => {
  const { ann } = await aTeam();
  let creation: ReturnType<Service['api']> | undefined;
  // The request is authenticated, and waits for this lock while the account is deleted.
  await service.accounts.locks.run('projects', async () => {
    creation = service.api(ann, 'POST', '/projects', { name: 'Late' });
    await setTimeout(200);
    expect(await deleteAccount(service.accounts, ann.user)).toEqual([]);
  });
  expect([401, 409]).toContain((await creation)?.status);
  const { store } = service.accounts;
  expect(await store.rows(sql`SELECT id FROM ${projects} WHERE name = 'Late'`)).toEqual([]);
  for (let round = 0; round < 5; round++) {
    const { ann: other } = await aTeam();
    const [created, blockers] = await Promise.all([
      service.api(other, 'POST', '/projects', { name: 'Same moment' }),
      deleteAccount(service.accounts, other.user),
    ]);
    expect(created.status === 201).toBe(blockers.length > 0);
  }
});

test('a locked Owner is not the other Owner of a project', async () => {
  const { ann, bob, path } = await aTeam();
  await changeUser(service.accounts, bob.user.id, () => ({ locked_ms: 1 }));
  expect(await deleteAccount(service.accounts, ann.user)).toMatchObject([{ path: `${path}/members` }]);
  expect((await service.api(ann, 'DELETE', `${path}/members/${ann.user.id}`)).status).toBe(409);
  expect((await service.api(ann, 'DELETE', `${path}/members/${bob.user.id}`)).status).toBe(204);
});

test('no version of an emptied row keeps a name after a kill', async () => {
  const { ann } = await aTeam();
  const run = service.accounts.store.run.bind(service.accounts.store);
  const dropping = vi
    .spyOn(service.accounts.store, 'run')
    .mockImplementation((statement, ...more) =>
      JSON.stringify(statement).includes("AND username != ''")
        ? Promise.reject(new Error('killed'))
        : run(statement, ...more),
    );
  await expect(deleteAccount(service.accounts, ann.user)).rejects.toThrow('killed');
  dropping.mockRestore();
  expect((await versionsOf(ann.user)).some(({ username }) => username !== '')).toBe(true);
  await finishDeletions(service.accounts);
  expect(await versionsOf(ann.user)).toMatchObject([{ username: '', email: '' }]);
});

test('the sweep ends what requests in flight wrote after the removal', async () => {
  const { ann, bob, path } = await aTeam();
  const silence = await service.api(ann, 'POST', `${path}/silences`, {
    ...{ matchers: ['title="x"'], comment: 'repair' },
    ends_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const { accounts } = service;
  const { store } = accounts;
  const [row] = await store.rows<SilenceRow>(
    sql`SELECT * FROM ${alertSilences} WHERE id = ${silence.body.id}`,
  );
  expect(await deleteAccount(accounts, ann.user)).toEqual([]);

  const { grant } = await createKey(accounts, ann.user, 'key', { name: 'late', scopes: [], expires_ms: 0 });
  const { application } = await anApplication(service, ann.user);
  const late = { ...(row as SilenceRow), id: 'late', created_ms: Date.now() + 1 };
  await store.insert(alertSilences, [late] as never);
  await finishDeletions(accounts);

  for (const stored of [await accounts.grants.get(grant.id), await accounts.applications.get(application.id)])
    expect([stored?.revoked_ms, stored?.expires_ms].every((ms) => Number(ms) > 0)).toBe(true);
  const named = await store.rows(
    sql`SELECT id FROM ${alertSilences} FINAL WHERE created_by = ${ann.user.username}`,
  );
  expect(named).toEqual([]);
  const levels = await store.rows(
    sql`SELECT access_level FROM ${members} FINAL WHERE user_id = ${ann.user.id} AND access_level > 0`,
  );
  expect(levels).toEqual([]);
  expect((await service.api(bob, 'GET', path)).status).toBe(200);
});
