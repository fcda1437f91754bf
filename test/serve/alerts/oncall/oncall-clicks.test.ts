import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeViolations, loadAxe } from '../../../support/axe.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { Service } from '../service.ts';

const isPossible = canRun(CHROMIUM);
const SCREENS = new URL('../../../output/screens/', import.meta.url).pathname;

let service: Service;
let origin: string;
let browser: Browser;
let page: Page;
const browserErrors: string[] = [];

beforeAll(async () => {
  if (!isPossible) return;
  mkdirSync(SCREENS, { recursive: true });
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

/** Takes screenshots as a phone and a desktop show the page, which must fit them and be accessible. */
async function look(name: string): Promise<void> {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 860 });
    await page.screenshot({ path: join(SCREENS, `${name}-${width}.png`), fullPage: true });
    const widest = await page
      .locator('html')
      .evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth);
    expect(widest, `${name} at ${width}`).toBeLessThanOrEqual(width);
  }
  await loadAxe(page);
  expect(await axeViolations(page, ['wcag2a', 'wcag2aa']), name).toEqual([]);
}

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
    await look('oncall-empty');
    // The script of the page has found the zone of the reader.
    expect(await page.getByLabel('Time zone').inputValue()).toBe('America/New_York');
    await page.getByLabel('Name').fill('Primary');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await clickButton('Create schedule');
    expect(await text('.note.good')).toContain('Schedule created');
    await look('oncall-rotation-new');
    await page.getByLabel('Name').fill('Weekly');
    for (const [turn, name] of ['ann', 'bob', 'carl'].entries())
      await page.getByLabel(`Turn ${turn + 1}`, { exact: true }).selectOption({ label: `@${name}` });
    await clickButton('More turns');
    expect(await page.getByLabel('Turn 3', { exact: true }).locator('option:checked').textContent()).toBe(
      '@carl',
    );
    await clickButton('Preview');
    expect(await page.locator('.preview tbody tr').count()).toBe(4);
    await look('oncall-preview');
    await clickButton('Add rotation');
    await look('oncall-schedule');
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
    await look('oncall-rotation');
    await page.getByLabel('Name').press('Enter');
    expect(await text('.preview')).toContain('Nothing is saved yet');
    await clickButton('Save changes');
    expect(await text('main')).toContain('@ann, then nobody, then @carl');
    await look('oncall-schedule-gaps');
    await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'On call' }).click();
    await look('oncall-boards');
    await page.getByRole('link', { name: 'Primary' }).first().click();
    await page.getByRole('link', { name: 'Delete schedule Primary' }).click();
    await clickButton('Delete schedule');
    expect(await text('.note.good')).toContain('deleted');
  });

  test('the browser reported no errors', () => {
    expect(browserErrors).toEqual([]);
  });
});
