import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser } from '../../support/browser.ts';
import { CHROMIUM, canRun } from '../../support/needed.ts';
import { look } from './look.ts';
import { Service } from './service.ts';

const isPossible = canRun(CHROMIUM);

let service: Service;
let origin: string;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  if (!isPossible) return;
  service = await Service.open();
  origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
  const context = await browser.newContext({ javaScriptEnabled: false });
  page = await context.newPage();
  await page.goto(`${origin}/sign-up`);
  await page.getByLabel('Username').fill('ann');
  await page.getByLabel('Password').fill('a long enough passphrase 17');
  await page.locator('main form button').last().click();
  await page.goto(`${origin}/projects`);
  await page.getByLabel('Name').fill('Render farm');
  await clickButton('Create project');
  await page.goto(`${origin}/projects/1/escalation/new`);
  await page.getByLabel('Name').fill('Storage team');
  await page.getByLabel('Step 1, target 1').selectOption({ label: '@ann' });
  await clickButton('Add policy');
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

const clickButton = (name: string) => page.getByRole('button', { name, exact: true }).last().click();
const goTo = (tab: string) =>
  page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: tab, exact: true }).click();
const text = async () => ((await page.locator('main').textContent()) ?? '').replace(/\s+/g, ' ');

/** Axe is a script, so it looks at the page as a browser with scripts shows it. */
async function lookAt(name: string): Promise<void> {
  const context = await browser.newContext({ storageState: await page.context().storageState() });
  const other = await context.newPage();
  await other.goto(page.url());
  await look(other, name);
  await context.close();
}

describe.runIf(isPossible)('without a script', () => {
  test('a route is added and previewed', async () => {
    await goTo('Routes');
    await page.getByRole('link', { name: 'Add route' }).click();
    await lookAt('route-new');
    await page.getByLabel('Name').fill('Storage');
    await page
      .getByLabel('Matchers')
      .fill('team=~"storage|database|network|compute|archive"\nseverity=~"critical|high"');
    await page.getByLabel('Policy').selectOption({ label: 'Storage team' });
    await clickButton('Add route');
    expect(await text()).toContain('Changes saved.');
    expect(await page.locator('.steps code').first().innerHTML()).toContain('storage|<wbr>database');
    await lookAt('routes');
    await page.getByLabel('Labels').fill('team=storage\nseverity=critical');
    await clickButton('Show preview');
    expect(await text()).toContain('@ann has no verified contact');
    await lookAt('route-preview');
  });

  test('a maintenance window is added', async () => {
    await goTo('Maintenance');
    await page.getByRole('link', { name: 'Add window' }).click();
    await clickButton('Add time interval');
    await page.getByLabel('Name').fill('Backups');
    await page.getByLabel('Matchers').fill('team="storage"');
    await page.getByLabel('Times').first().fill('22:00-06:00');
    await page.getByLabel('Days of the week').first().fill('saturday');
    await page.getByLabel('Time zone').first().fill('Europe/Berlin');
    await page.getByLabel('Days of the month').last().fill('-1');
    await clickButton('Add window');
    expect(await text()).toContain('Next occurrences');
    await lookAt('maintenance-window');
    await page.getByRole('link', { name: 'Edit window Backups' }).click();
    await lookAt('maintenance-edit');
    await goTo('Maintenance');
    await lookAt('maintenance');
  });
});
