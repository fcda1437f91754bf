import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeViolations, loadAxe } from '../../../support/axe.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { PASSWORD } from '../../accounts/world.ts';
import { type MailWorld, openMailWorld } from './mailing.ts';

const hasChromium = canRun(CHROMIUM);
const SCREENS = new URL('../../../output/screens/', import.meta.url).pathname;
const DESK_WIDTH = 1280;
const NEW_PASSWORD = 'another four quiet words';

let mail: MailWorld;
let origin: string;
let browser: Browser;
beforeAll(async () => {
  if (!hasChromium) return;
  mkdirSync(SCREENS, { recursive: true });
  mail = await openMailWorld();
  const address = await mail.world.app.listen({ host: '127.0.0.1', port: 0 });
  // The links of mails name it.
  origin = `http://metrics.test:${new URL(address).port}`;
  browser = await launchBrowser();
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  await mail.close();
});

const path = (page: Page) => new URL(page.url()).pathname;
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const fill = (page: Page, label: string, value: string) =>
  page.getByLabel(label, { exact: true }).fill(value);

/** Takes a screenshot. Nothing may be wider than the screen, or break a rule of WCAG 2.1 AA. */
async function look(page: Page, name: string): Promise<void> {
  const { width = 0 } = page.viewportSize() ?? {};
  await page.screenshot({ path: join(SCREENS, `mail-${name}-${width}.png`), fullPage: true });
  const main = await page.locator('main').boundingBox();
  expect((main?.x ?? 0) + (main?.width ?? 0), name).toBeLessThanOrEqual(width);
  // axe is a script.
  if (width < DESK_WIDTH) return;
  await loadAxe(page);
  expect(await axeViolations(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']), name).toEqual([]);
}

describe.runIf(hasChromium).each([
  ['on a phone, without scripts', 360, false],
  ['on a desk', DESK_WIDTH, true],
])('in Chromium %s', (_, width, javaScriptEnabled) => {
  test('a person confirms an email, changes it, and sets a forgotten password', async () => {
    const context = await browser.newContext({ viewport: { width, height: 800 }, javaScriptEnabled });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const [username, first, second] = [
      `eve-${width}`,
      `first-${width}@example.org`,
      `new-${width}@example.org`,
    ];
    await page.goto(`${origin}/sign-up`);
    await fill(page, 'Username', username);
    await fill(page, 'Email (optional)', first);
    await fill(page, 'Password', PASSWORD);
    await press(page, 'Create account');
    await page.goto(`${origin}/profile/email`);
    await look(page, 'not-confirmed');
    await page.goto(origin + (await mail.linkTo(first)));
    await look(page, 'confirm');
    await press(page, 'Confirm email');
    expect(await page.getByRole('status').textContent()).toBe(`${first} is confirmed.`);
    await look(page, 'confirmed');
    await fill(page, 'New email', second);
    await fill(page, 'Current password', 'not this one');
    await press(page, 'Send confirmation link');
    await page.getByRole('alert').waitFor();
    await look(page, 'refused');
    await fill(page, 'Current password', PASSWORD);
    await press(page, 'Send confirmation link');
    await page.goto(origin + (await mail.linkTo(second)));
    await press(page, 'Confirm email');
    await press(page, 'Sign out');
    await page.getByRole('link', { name: 'Forgotten password?' }).click();
    await look(page, 'forgotten');
    await fill(page, 'Email', second);
    await press(page, 'Send link');
    await look(page, 'requested');
    const link = origin + (await mail.linkTo(second));
    await page.goto(link);
    await fill(page, 'New password', 'short');
    await press(page, 'Set password');
    await look(page, 'reset');
    await fill(page, 'New password', NEW_PASSWORD);
    await press(page, 'Set password');
    await fill(page, 'Username or email', second);
    await fill(page, 'Password', NEW_PASSWORD);
    await press(page, 'Sign in');
    expect(path(page)).toBe('/profile');
    await page.goto(link);
    expect(await page.locator('h1').textContent()).toBe('This link is not valid any more');
    await look(page, 'ended');
    await context.close();
  });
});
