import { Secret, TOTP } from 'otpauth';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '../../../../serve/accounts/tables.ts';
import { enableTwoFactor, newTotpSecret } from '../../../../serve/accounts/two-factor.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { anApplication, aUser, openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { type ClientApplication, openClientApplication } from './client-application.ts';

const hasChromium = canRun(CHROMIUM);

let world: World;
let client: ClientApplication;
let browser: Browser;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  if (!hasChromium) return;
  world = await openWorld();
  const issuer = await world.app.listen({ host: '127.0.0.1', port: 0 });
  client = await openClientApplication();
  const { application, secret } = await anApplication(world, await aUser(world), {
    redirect_uris: client.redirectUri,
  });
  client.register({ issuer, id: application.id, secret });
  browser = await launchBrowser();
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await client[Symbol.asyncDispose]();
  await world.close();
});

/** Opens a browser in which nobody is signed in. */
async function newBrowser(): Promise<void> {
  await context?.close();
  context = await browser.newContext();
  context.setDefaultTimeout(15_000);
  page = await context.newPage();
}

async function signIn(user: User, on = page): Promise<void> {
  await on.getByLabel('Username or email').fill(user.username);
  await on.getByLabel('Password').fill(PASSWORD);
  await on.getByRole('button', { name: 'Sign in', exact: true }).click();
}
const press = (name: string, on = page) => on.getByRole('button', { name, exact: true }).click();
const start = (state = '', more = '') =>
  page.goto(`${client.origin}/start?${new URLSearchParams({ state, more })}`);
const userShown = () => page.locator('#user').textContent();

/** Authorizes the application for the first time, so that later sign-ins ask for nothing. */
async function authorizeOnce(user: User): Promise<void> {
  await newBrowser();
  await start();
  await signIn(user);
  await press('Authorize');
  expect(await userShown()).toBe(user.username);
}

async function withTwoFactor(user: User): Promise<TOTP> {
  const secret = newTotpSecret();
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  await enableTwoFactor(world.accounts, user, secret, totp.generate({ timestamp: world.now() }));
  return totp;
}
async function enterCode(totp: TOTP, on = page): Promise<void> {
  world.advance(30_000);
  await on.getByLabel('Verification code').fill(totp.generate({ timestamp: world.now() }));
  await press('Verify code', on);
}

describe.runIf(hasChromium)('in Chromium, a confidential application of another origin', () => {
  test('gets a user back who signs in again', async () => {
    const user = await aUser(world);
    await authorizeOnce(user);
    await newBrowser();
    await start();
    await signIn(user);
    expect(await userShown()).toBe(user.username);
    expect(new URL(page.url()).origin).toBe(client.origin);
  });

  test('gets a user back who signs in again with a second factor', async () => {
    const user = await aUser(world);
    await authorizeOnce(user);
    const totp = await withTwoFactor(user);
    await newBrowser();
    await start();
    await signIn(user);
    await enterCode(totp);
    expect(await userShown()).toBe(user.username);
  });

  test('may send the user on from its callback to a third origin, after sign-in and after consent', async () => {
    const user = await aUser(world);
    await newBrowser();
    await start('onward');
    await signIn(user);
    await press('Authorize');
    expect(await userShown()).toBe(user.username);
    expect(new URL(page.url()).origin).toBe(client.onward);
    await newBrowser();
    await start('onward');
    await signIn(user);
    expect(await userShown()).toBe(user.username);
  });

  test('gets the answer of a user who denies, and one who creates an account on the way', async () => {
    await newBrowser();
    await start('onward');
    await page.getByRole('link', { name: 'Create account' }).click();
    await page.getByLabel('Username').fill('newcomer');
    await page.getByLabel('Password').fill(PASSWORD);
    await press('Create account');
    await press('Deny');
    expect(await userShown()).toBe('refused: access_denied');
    await start('onward');
    await press('Authorize');
    expect(await userShown()).toBe('newcomer');
  });

  test('can have a user who is signed in sign in once more', async () => {
    const user = await aUser(world);
    await authorizeOnce(user);
    world.advance(1000);
    await start('', '&prompt=login');
    await signIn(user);
    expect(await userShown()).toBe(user.username);
    await start('', '&prompt=select_account');
    await page.getByRole('link', { name: `Continue as ${user.username}` }).click();
    expect(await userShown()).toBe(user.username);
  });

  test('signs users in by a popup, which reports to the page that opened it', async () => {
    const user = await aUser(world);
    const totp = await withTwoFactor(user);
    const openPopup = async () => {
      await page.goto(client.origin);
      const [popup] = await Promise.all([page.waitForEvent('popup'), page.locator('#popup').click()]);
      await signIn(user, popup);
      await enterCode(totp, popup);
      return popup;
    };
    await newBrowser();
    await press('Authorize', await openPopup());
    await page.getByText(user.username, { exact: true }).waitFor();
    await newBrowser();
    await openPopup();
    await page.getByText(user.username, { exact: true }).waitFor();
    // Signed in and authorized: the popup passes through without a page.
    await page.reload();
    await page.locator('#popup').click();
    await page.getByText(user.username, { exact: true }).waitFor();
  });
});
