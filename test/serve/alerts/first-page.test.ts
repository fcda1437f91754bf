import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { launchBrowser } from '../../support/browser.ts';
import { CHROMIUM, canRun } from '../../support/needed.ts';
import { PageReceiver } from './paging/team.ts';
import { Service } from './service.ts';

const isPossible = canRun(CHROMIUM);
/** A phone. */
const PHONE = { width: 360, height: 740 };

let service: Service;
let origin: string;
let receiver: PageReceiver;
let browser: Browser;

beforeAll(async () => {
  if (!isPossible) return;
  service = await Service.open({ ALERT_PRIVATE_TARGETS: 'true' });
  receiver = await PageReceiver.open();
  origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  receiver?.close();
  await service?.close();
});

const newest = () => receiver.received.at(-1)?.body;

/** Clicks what leads to another page, and expects that page to be no wider than the phone. */
async function press(page: Page, name: string): Promise<void> {
  const button = page.getByRole('main').getByRole('button', { name, exact: true });
  await Promise.all([page.waitForEvent('load'), button.last().click()]);
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  expect([page.url(), isWide]).toEqual([page.url(), false]);
}

async function signUp(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${origin}/sign-up`);
  await page.getByLabel('Username').fill('ann');
  await page.getByLabel('Password').fill('a long enough passphrase 17');
  await page.locator('main form button').last().click();
  await page.waitForURL(/\/profile/);
  return page;
}

async function proveContact(page: Page): Promise<void> {
  await page.goto(`${origin}/profile/notifications`);
  await page.getByLabel('Type').selectOption('webhook');
  await page.getByLabel('Address', { exact: true }).fill(receiver.url);
  await press(page, 'Add contact');
  await page.getByLabel('Code', { exact: true }).fill(newest().code);
  await press(page, 'Confirm');
  await expect(page.getByText('is verified.').count()).resolves.toBe(1);
}

/** Makes a project with an integration. Returns its path, and the address and key for alerts. */
async function makeProject(page: Page) {
  await page.goto(`${origin}/projects`);
  await page.getByLabel('Name').fill('Validators');
  await press(page, 'Create project');
  const path = new URL(page.url()).pathname.replace('/integrations', '');
  await page.getByLabel('Type').selectOption('http');
  await page.getByLabel('Name', { exact: true }).fill('Monitoring');
  await press(page, 'Add integration');
  const address = (await page.locator('#address').textContent()) ?? '';
  const key = (await page.locator('#secret').textContent()) ?? '';
  return { path, address, key };
}

async function makeSchedule(page: Page, path: string): Promise<void> {
  await page.goto(`${origin}${path}/oncall`);
  await page.getByLabel('Name').fill('Primary');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await press(page, 'Create schedule');
  await page.getByLabel('Name').fill('Always');
  await page.getByLabel('First handoff').fill('2026-01-05T09:00');
  await page.getByLabel('Turn 1', { exact: true }).selectOption({ label: '@ann' });
  await press(page, 'Add rotation');
}

async function makePolicy(page: Page, path: string): Promise<void> {
  await page.goto(`${origin}${path}/escalation/new`);
  await page.getByLabel('Name').fill('Night');
  await page.getByLabel('Step 1, target 1').selectOption({ label: 'Primary' });
  await press(page, 'Add policy');
}

// From nothing to a page that is acknowledged, on a phone and without a script.
test.runIf(isPossible)('who signs up is paged by clicks alone, and acknowledges by the link', async () => {
  const context = await browser.newContext({ viewport: PHONE, javaScriptEnabled: false });
  const page = await signUp(context);
  await proveContact(page);
  const { path, address, key } = await makeProject(page);
  await makeSchedule(page, path);
  await makePolicy(page, path);
  const sent = await fetch(address, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'Node is down', severity: 'critical' }),
  });
  expect(sent.status).toBe(200);
  await until('the page arrives', async () => newest()?.event === 'triggered');
  expect(newest()).toMatchObject({ object_attributes: { title: 'Node is down' }, page: { policy: 'Night' } });
  // Another browser, which nobody has signed in to.
  const other = await browser.newContext({ viewport: PHONE, javaScriptEnabled: false });
  const linked = await other.newPage();
  await linked.goto(newest().acknowledge_url);
  await press(linked, 'Acknowledge');
  expect(await linked.getByRole('main').textContent()).toContain('Acknowledged by ann');
  await page.goto(`${origin}${path}/alerts/1`);
  expect(await page.locator('.status-acknowledged').count()).toBeGreaterThan(0);
});
