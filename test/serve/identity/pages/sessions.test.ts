import { afterAll, beforeAll, expect, test } from 'vitest';
import { changeUser, createUser } from '../../../../serve/accounts/users.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { Browser } from '../../accounts/browser.ts';
import { aUser, openWorld, PASSWORD, signedIn, type World } from '../../accounts/world.ts';
import { look } from '../../alerts/look.ts';

const PAGE = '/profile/sessions';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const rowsOf = (body: string) =>
  [...body.matchAll(/<tr><th scope="row">([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    row
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );

test('each session has its browser, address, times and kind of sign-in', async () => {
  const user = await aUser(world);
  const here = await signedIn(world, user);
  const there = new Browser(world.app, '198.51.100.7');
  await there.submit('/sign-in', '/sign-in', { login: user.username, password: PASSWORD });
  const rows = rowsOf((await here.get(PAGE)).body);
  expect(rows).toHaveLength(2);
  const moment = /\d+ \w{3} \d{4}, \d\d:\d\d UTC/.source;
  const times = `Signed in ${moment} by password Last active ${moment}`;
  expect(rows.find((row) => row.includes('Current session'))).toMatch(
    new RegExp(`^Unknown browser at 192\\.0\\.2\\.1 Current session ${times} Sign out$`),
  );
  expect(rows.find((row) => !row.includes('Current session'))).toMatch(
    new RegExp(`^Unknown browser at 198\\.51\\.100\\.7 ${times} Revoke$`),
  );
});

test('each session can be ended, this one too', async () => {
  const user = await aUser(world);
  const [here, there] = [await signedIn(world, user), await signedIn(world, user)];
  const [, action = ''] =
    /action="(\/profile\/sessions\/[^"]+\/end)"/.exec((await here.get(PAGE)).body) ?? [];
  await here.submit(PAGE, action, {});
  expect((await there.get('/profile')).statusCode).toBe(303);
  expect(rowsOf((await here.get(PAGE)).body)).toHaveLength(1);
  await here.submit(PAGE, '/sign-out', {});
  expect((await here.get('/profile')).statusCode).toBe(303);
});

test('a session that awaits the second factor, has ended or has expired is not listed', async () => {
  const user = await aUser(world);
  const here = await signedIn(world, user);
  await (await signedIn(world, user)).submit('/profile', '/sign-out', {});
  await changeUser(world.accounts, user.id, () => ({ totp_secret: 'sealed' }));
  await new Browser(world.app).submit('/sign-in', '/sign-in', { login: user.username, password: PASSWORD });
  expect(rowsOf((await here.get(PAGE)).body)).toHaveLength(1);
});

test.runIf(canRun(CHROMIUM))('the page fits a phone and is accessible', async () => {
  const user = await createUser(world.accounts, { username: 'on-a-phone', email: '', password: PASSWORD });
  await signedIn(world, user);
  const origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const chromium = await launchBrowser();
  try {
    const page = await (await chromium.newContext()).newPage();
    page.setDefaultTimeout(15_000);
    await page.goto(`${origin}/sign-in?next=${PAGE}`);
    await page.getByLabel('Username or email').fill('on-a-phone');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Current session').waitFor();
    await look(page, 'sessions');
    await page.getByRole('button', { name: /^Revoke the session/ }).click();
    await page.getByText('The session was revoked.').waitFor();
    await page.getByRole('button', { name: 'Sign out of this session' }).click();
    await page.waitForURL(/\/sign-in|\/$/);
  } finally {
    await chromium.close();
  }
});
