import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '../../../../serve/accounts/tables.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { anApplication, aUser, openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { type ClientApplication, openClientApplication } from '../pages/client-application.ts';

const hasChromium = canRun(CHROMIUM);

let world: World;
let issuer: string;
let client: ClientApplication;
let browser: Browser;
let applicationId: string;

beforeAll(async () => {
  if (!hasChromium) return;
  world = await openWorld();
  issuer = await world.app.listen({ host: '127.0.0.1', port: 0 });
  client = await openClientApplication();
  const { application, secret } = await anApplication(world, await aUser(world), {
    redirect_uris: client.redirectUri,
  });
  applicationId = application.id;
  client.register({ issuer, id: application.id, secret });
  browser = await launchBrowser();
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await client[Symbol.asyncDispose]();
  await world.close();
});

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
async function newPage(options: { javaScriptEnabled?: boolean } = {}): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(15_000);
  return page;
}
async function signIn(page: Page, user: User): Promise<void> {
  await page.getByLabel('Username or email').fill(user.username);
  await page.getByLabel('Password').fill(PASSWORD);
  await press(page, 'Sign in');
}

describe.runIf(hasChromium)('in Chromium', () => {
  test.each([true, false])(
    'form_post reaches the application, with scripts: %s',
    async (javaScriptEnabled) => {
      const user = await aUser(world);
      const page = await newPage({ javaScriptEnabled });
      const shown = async () => {
        if (!javaScriptEnabled) await press(page, 'Continue');
        await page.waitForURL(/^http:\/\/localhost:/);
        return page.locator('#user').textContent();
      };
      const start = `${client.origin}/start?more=%26response_mode%3Dform_post`;
      await page.goto(start);
      await signIn(page, user);
      await press(page, 'Deny');
      expect(await shown()).toBe('refused: access_denied');
      await page.goto(start);
      await press(page, 'Authorize');
      expect(await shown()).toBe(user.username);
      // Authorized before, the user passes through; the application sends them on to a third origin.
      await page.goto(`${start}&state=onward`);
      expect(await shown()).toBe(user.username);
      expect(new URL(page.url()).origin).toBe(client.onward);
    },
  );

  test('a request that another site posts finds the session of the user', async () => {
    const user = await aUser(world);
    const page = await newPage();
    await page.goto(`${issuer}/sign-in`);
    await signIn(page, user);
    await page.goto(client.origin);
    const request = {
      client_id: applicationId,
      redirect_uri: client.redirectUri,
      response_type: 'code',
      scope: 'read_user',
      state: '',
    };
    const fields = Object.entries(request).map(([name, value]) => `<input name="${name}" value="${value}">`);
    await page.setContent(
      `<form method="post" action="${issuer}/oauth/authorize">${fields.join('')}<button>Go</button></form>`,
    );
    await press(page, 'Go');
    await press(page, 'Authorize');
    expect(await page.locator('#user').textContent()).toBe(user.username);
  });

  test('login_hint fills the field of the user name', async () => {
    const page = await newPage();
    await page.goto(`${client.origin}/start?more=${encodeURIComponent('&login_hint=alice%40example.org')}`);
    expect(await page.getByLabel('Username or email').inputValue()).toBe('alice@example.org');
  });
});
