import type { Browser as Chromium, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { exportAccount } from '../../../serve/accounts/account-export.ts';
import { deleteAccount } from '../../../serve/accounts/account-removal.ts';
import { handleUsersRequest } from '../../../serve/accounts/operator.ts';
import { findUser } from '../../../serve/accounts/users.ts';
import { notificationRules } from '../../../serve/alerts/model/oncall-tables.ts';
import { launchBrowser } from '../../support/browser.ts';
import { CHROMIUM, canRun } from '../../support/needed.ts';
import { PASSWORD, signedIn } from '../accounts/world.ts';
import { look } from './look.ts';
import { Recorder } from './recorder.ts';
import { type Person, Service, type Source } from './service.ts';

const DELETE = '/profile/account/delete';

let service: Service;
let receiver: Recorder;
let origin: string;
let people = 0;
beforeAll(async () => {
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
  receiver = await Recorder.open();
  origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  receiver?.close();
  await service?.close();
});

interface Team {
  readonly ann: Person;
  readonly bob: Person;
  readonly project: number;
  readonly source: Source;
}

/** Two Owners, of whom ann is on call, in a policy and has a verified contact. */
async function aTeam(): Promise<Team> {
  const ann = await service.person(`ann-${++people}`, PASSWORD);
  const bob = await service.person(`bob-${people}`, PASSWORD);
  const project = await service.project(ann, { name: `Render farm ${people}` });
  const path = `/projects/${project}`;
  await service.api(ann, 'POST', `${path}/members`, { username: bob.user.username, access_level: 50 });
  const schedule = await service.api(ann, 'POST', `${path}/oncall_schedules`, {
    ...{ name: 'Primary', time_zone: 'UTC' },
  });
  const rotation = await service.api(ann, 'POST', `${path}/oncall_schedules/${schedule.body.id}/rotations`, {
    ...{ name: 'Weekly', starts_at: '2026-01-05T09:00' },
    turns: [[Number(ann.user.id)], [Number(bob.user.id)]],
  });
  expect(rotation.status).toBe(201);
  const policy = await service.api(ann, 'POST', `${path}/escalation_policies`, {
    name: 'Nights',
    steps: [{ targets: [{ type: 'user', id: ann.user.id }], delay_minutes: 5 }],
  });
  expect(policy.status).toBe(201);
  const browser = await signedIn(service, ann.user);
  const contacts = '/profile/notifications';
  await browser.submit(contacts, `${contacts}/contacts`, {
    type: 'webhook',
    address: `${receiver.url}/${ann.user.username}`,
  });
  const [{ id }] = (await service.api(ann, 'GET', '/user/contact_methods')).body;
  await browser.submit(contacts, `${contacts}/contacts/${id}/verify`, { code: receiver.last.body.code });
  return { ann, bob, project, source: await service.source(ann, project) };
}

describe('an account in projects', () => {
  test('cannot be deleted while a project has no other Owner', async () => {
    const { ann, bob, project } = await aTeam();
    await service.api(ann, 'DELETE', `/projects/${project}/members/${bob.user.id}`);
    const browser = await signedIn(service, ann.user);
    const page = await browser.get(DELETE);
    expect(page.body).toContain(`The project Render farm ${people} has no other Owner`);
    expect(page.body).toContain(`href="/projects/${project}/members"`);
    expect(page.body).not.toContain('name="confirmed"');
    expect(await deleteAccount(service.accounts, ann.user)).toHaveLength(1);
    await expect(
      handleUsersRequest(service.accounts, { action: 'delete', username: ann.user.username }),
    ).rejects.toThrow('cannot be deleted yet: The project');
    expect((await service.api(ann, 'GET', `/projects/${project}`)).status).toBe(200);
    await service.api(ann, 'DELETE', `/projects/${project}`);
    expect(await deleteAccount(service.accounts, ann.user)).toEqual([]);
  });

  test('of two Owners who delete theirs at once, one stays', async () => {
    for (let round = 0; round < 3; round++) {
      const { ann, bob, project } = await aTeam();
      const left = await Promise.all([ann, bob].map(({ user }) => deleteAccount(service.accounts, user)));
      expect(left.filter((blockers) => blockers.length > 0)).toHaveLength(1);
      const stays = left[0]?.length ? ann : bob;
      expect((await service.api(stays, 'GET', `/projects/${project}/members`)).body).toMatchObject([
        { id: Number(stays.user.id), access_level: 50 },
      ]);
    }
  });

  test('leaves them, and what it wrote there stays without its name', async () => {
    const { ann, bob, project, source } = await aTeam();
    const path = `/projects/${project}`;
    await service.send(source, { title: 'disk full' });
    await service.api(ann, 'PUT', `${path}/alerts/1`, {
      status: 'acknowledged',
      assignee_ids: [Number(ann.user.id)],
    });
    expect((await service.api(ann, 'POST', `${path}/alerts/1/notes`, { body: 'I take it.' })).status).toBe(
      201,
    );
    const silence = await service.api(ann, 'POST', `${path}/silences`, {
      ...{ matchers: ['title="x"'], comment: 'repair' },
      ends_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(silence.status).toBe(201);
    const browser = await signedIn(service, ann.user);
    expect((await browser.get(DELETE)).body).toMatch(/Primary of Render farm[\s\S]*Nights of Render farm/);

    expect(await deleteAccount(service.accounts, ann.user)).toEqual([]);
    for (const page of ['/alerts', '/alerts/1', '/oncall', '/escalation', '/silences', '/members']) {
      const { statusCode, body } = await (await signedIn(service, bob.user)).get(
        `/projects/${project}${page}`,
      );
      expect([page, statusCode]).toEqual([page, 200]);
      expect(body, page).not.toMatch(new RegExp(`${ann.user.username}|undefined`));
    }
    expect((await service.api(bob, 'GET', `${path}/alerts/1/notes`)).body).toMatchObject([
      { body: 'I take it.', author: null },
    ]);
    expect((await service.api(bob, 'GET', `${path}/alerts/1`)).body.assignees).toEqual([]);
    expect((await service.api(bob, 'GET', `${path}/silences/${silence.body.id}`)).body.created_by).toBe(
      'deleted-user',
    );
    expect((await service.api(bob, 'GET', `${path}/on_call`)).body[0]).toMatchObject({
      users: [{ username: bob.user.username }],
    });
    const again = { username: ann.user.username, access_level: 30 };
    expect((await service.api(bob, 'POST', `${path}/members`, again)).status).toBe(404);
  });

  test('is not the one that another project calls by the same name', async () => {
    const { ann } = await aTeam();
    const other = await aTeam();
    const silence = await service.api(other.ann, 'POST', `/projects/${other.project}/silences`, {
      ...{ matchers: ['title="x"'], comment: 'of others', created_by: ann.user.username },
      ends_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(JSON.stringify(await exportAccount(service.accounts, ann.user))).not.toContain('of others');
    expect(await deleteAccount(service.accounts, ann.user)).toEqual([]);
    const path = `/projects/${other.project}/silences/${silence.body.id}`;
    expect((await service.api(other.ann, 'GET', path)).body.created_by).toBe(ann.user.username);
  });

  test('loses its calendar feed', async () => {
    const { ann, bob } = await aTeam();
    const browser = await signedIn(service, ann.user);
    const page = '/profile/notifications';
    const { body } = await browser.submitAndFollow(page, `${page}/calendar`, {});
    const [feed = ''] = /\/oncall_calendars\/[\w-]+\.ics/.exec(body) ?? [];
    expect((await service.app.inject(feed)).statusCode).toBe(200);
    expect(await deleteAccount(service.accounts, ann.user)).toEqual([]);
    expect((await service.app.inject(feed)).statusCode).toBe(404);
    expect(
      await service.accounts.store.rows(sql`SELECT id FROM ${notificationRules} WHERE id = ${ann.user.id}`),
    ).toEqual([]);
    expect(await findUser(service.accounts, bob.user.username)).not.toBeNull();
  });
});

test('the page exports and deletes the account, and asks for username and password', async () => {
  const { ann } = await aTeam();
  const browser = await signedIn(service, ann.user);
  const exported = await browser.submit('/profile/account', '/profile/account/export', {});
  expect(exported.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': `attachment; filename="chain-metrics-${ann.user.username}.json"`,
    'cache-control': 'no-store',
  });
  expect(exported.json()).toMatchObject({
    account: { username: ann.user.username },
    sessions: Array(2).fill(expect.objectContaining({ address: '192.0.2.1', amr: ['pwd'] })),
    contacts: [{ type: 'webhook', address: `${receiver.url}/${ann.user.username}` }],
    policies: [{ name: 'Nights' }],
    personal_access_tokens: [{ name: 'test' }],
  });
  const wrong = [
    [{ name: ann.user.username, password: 'not the password' }, 'Current password is incorrect.'],
    [{ name: 'somebody', password: PASSWORD }, 'Type your username.'],
    [{ name: ann.user.username }, 'Current password is incorrect.'],
  ] as const;
  for (const [fields, says] of wrong) {
    const { statusCode, body } = await browser.submit(DELETE, DELETE, fields);
    expect([statusCode, body.includes(says)]).toEqual([422, true]);
  }
  const done = await browser.submit(DELETE, DELETE, { name: ann.user.username, password: PASSWORD });
  expect(done.headers.location).toBe('/sign-in');
  expect((await browser.get('/sign-in')).body).toContain('Your account was deleted.');
  expect((await browser.get('/profile')).statusCode).toBe(303);
});

describe.runIf(canRun(CHROMIUM))('in Chromium', () => {
  let chromium: Chromium;
  let page: Page;
  beforeAll(async () => {
    chromium = await launchBrowser();
    // Without scripts: axe runs beside them.
    page = await (await chromium.newContext()).newPage();
    page.setDefaultTimeout(15_000);
  });
  afterAll(() => chromium?.close());

  test('a user downloads the data and deletes the account', async () => {
    const { ann, bob } = await aTeam();
    const only = await service.project(bob, { name: 'Only mine' });
    await page.goto(`${origin}/sign-in`);
    await page.getByLabel('Username or email').fill(bob.user.username);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('link', { name: 'Export and deletion' }).click();
    await look(page, 'account');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download your data' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`chain-metrics-${bob.user.username}.json`);
    await page.getByRole('link', { name: 'Delete account' }).click();
    expect(await page.textContent('main')).toContain('The project Only mine has no other Owner');
    await look(page, 'account-obstacle');
    await service.api(bob, 'DELETE', `/projects/${only}`);
    await page.reload();
    await look(page, 'account-delete');
    await page.getByLabel(/^Type /).fill(bob.user.username);
    await page.getByLabel('Current password').fill('not the password');
    await page.getByRole('button', { name: 'Delete account' }).click();
    await page.getByText('Current password is incorrect.').waitFor();
    await look(page, 'account-delete-refused');
    await page.getByLabel(/^Type /).fill(bob.user.username);
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Delete account' }).click();
    await page.getByText('Your account was deleted.').waitFor();
    await look(page, 'account-deleted');
    expect(await findUser(service.accounts, bob.user.username)).toBeNull();
    expect(await findUser(service.accounts, ann.user.username)).not.toBeNull();
  });
});
