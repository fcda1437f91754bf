import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { look } from '../look.ts';
import { Service } from '../service.ts';

const isPossible = canRun(CHROMIUM);

let service: Service;
let origin: string;
let browser: Browser;
let page: Page;
const browserErrors: string[] = [];

beforeAll(async () => {
  if (!isPossible) return;
  service = await Service.open();
  origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
  const context = await browser.newContext({ timezoneId: 'America/New_York', reducedMotion: 'reduce' });
  page = await context.newPage();
  page.on('console', (message) => message.type() === 'error' && browserErrors.push(message.text()));
  page.on('pageerror', (error) => browserErrors.push(error.message));
  await page.goto(`${origin}/sign-up`);
  await page.getByLabel('Username').fill('ann');
  await page.getByLabel('Password').fill('a long enough passphrase 17');
  await page.locator('main form button').last().click();
  await page.waitForURL(/\/profile/);
});
afterAll(async () => {
  await browser?.close();
  await service?.close();
});

const clickButton = (name: string) => page.getByRole('button', { name, exact: true }).click();
const text = async (selector: string) => (await page.locator(selector).first().textContent()) ?? '';

describe.runIf(isPossible)('a schedule from nothing, by clicks', () => {
  test('project, colleagues, schedule and rotation', async () => {
    await page.goto(`${origin}/projects`);
    await page.getByLabel('Name').fill('Render farm');
    await clickButton('Create project');
    for (const username of ['bob', 'carl']) {
      await service.person(username);
      await page.goto(`${origin}/projects/1/members`);
      await page.getByLabel('Username').fill(username);
      await clickButton('Add member');
    }
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'On call' }).click();
    await look(page, 'oncall-empty');
    // The script of the page has found the zone of the reader.
    expect(await page.getByLabel('Time zone').inputValue()).toBe('America/New_York');
    await page.getByLabel('Name').fill('Primary');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await clickButton('Create schedule');
    expect(await text('.note.good')).toContain('Schedule created');
    await look(page, 'oncall-rotation-new');
    await page.getByLabel('Name').fill('Weekly');
    for (const [turn, name] of ['ann', 'bob', 'carl'].entries())
      await page.getByLabel(`Turn ${turn + 1}`, { exact: true }).selectOption({ label: `@${name}` });
    await clickButton('More turns');
    expect(await page.getByLabel('Turn 3', { exact: true }).locator('option:checked').textContent()).toBe(
      '@carl',
    );
    await clickButton('Preview');
    expect(await page.locator('.preview tbody tr').count()).toBe(4);
    await look(page, 'oncall-preview');
    await clickButton('Add rotation');
    await look(page, 'oncall-schedule');
    expect(await page.locator('.shift-bars .name').allTextContents()).toEqual(['@ann', '@bob', '@carl']);
    expect(await page.locator('.shift-bars .weekday').count()).toBeGreaterThan(20);
    expect(await text('dl.facts')).toContain('for you');
  });

  test('take a shift, go to the next weeks, edit the rotation', async () => {
    await page
      .getByRole('button', { name: /^Take from/ })
      .first()
      .click();
    expect(await text('.note.good')).toContain('You are on call from');
    await page.getByRole('link', { name: 'Next two weeks' }).click();
    expect(page.url()).toContain('from=');
    await page.getByRole('link', { name: 'Today' }).click();
    await page.getByRole('link', { name: 'Weekly' }).click();
    await page.getByLabel('Turn 2', { exact: true }).selectOption('off');
    await page.getByText('Active times and priority').click();
    await page.getByLabel('Mon', { exact: true }).check();
    await look(page, 'oncall-rotation');
    await page.getByLabel('Name').press('Enter');
    expect(await text('.preview')).toContain('Nothing is saved yet');
    await clickButton('Save changes');
    expect(await text('main')).toContain('@ann, then nobody, then @carl');
    await look(page, 'oncall-schedule-gaps');
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'On call' }).click();
    await look(page, 'oncall-boards');
    await page.getByRole('link', { name: 'Primary' }).first().click();
    await page.getByRole('link', { name: 'Delete schedule Primary' }).click();
    await clickButton('Delete schedule');
    expect(await text('.note.good')).toContain('deleted');
  });

  test('the browser reported no errors', () => {
    expect(browserErrors).toEqual([]);
  });
});
