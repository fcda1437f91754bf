import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../infra/ports/opened.ts';
import { axeViolations, loadAxe } from '../../support/axe.ts';
import { COLOUR_RULES, launchBrowser } from '../../support/browser.ts';
import { CHROMIUM, canRun } from '../../support/needed.ts';
import { firing, prometheusBody } from './made.ts';
import { Service, type Source } from './service.ts';

const isPossible = canRun(CHROMIUM);
/** Directory of the screenshots. */
const SCREENS = new URL('../../output/screens/', import.meta.url).pathname;

let service: Service;
let origin: string;
let browser: Browser;
let page: Page;
let alertmanager: Source;
/** The target of webhooks. */
let receiver: Server;
const browserErrors: string[] = [];

beforeAll(async () => {
  if (!isPossible) return;
  mkdirSync(SCREENS, { recursive: true });
  service = await Service.open({ ALERT_RETRY_WINDOW_SECONDS: '1', ALERT_PRIVATE_TARGETS: 'true' });
  receiver = createServer((request, reply) => {
    request.resume().on('end', () => reply.writeHead(request.url?.startsWith('/refuses') ? 418 : 200).end());
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
  browser = await launchBrowser();
  const context = await browser.newContext({
    viewport: { width: 1240, height: 860 },
    colorScheme: 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
    // Colours that fade while they are measured have no contrast of their own.
    reducedMotion: 'reduce',
  });
  page = await context.newPage();
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('422')) browserErrors.push(message.text());
  });
  page.on('pageerror', (error) => browserErrors.push(error.message));
  await page.goto(`${origin}/sign-up`);
  await page.getByLabel('Username').fill('ann');
  await page.getByLabel('Password').fill('a long enough passphrase 17');
  await page.locator('main form button').last().click();
  await page.waitForURL(/\/profile/);
});
afterAll(async () => {
  await browser?.close();
  receiver?.close();
  await service?.close();
});

/** Takes a screenshot of the page and checks its accessibility. */
async function look(name: string): Promise<void> {
  await page.screenshot({ path: join(SCREENS, `alerts-${name}.png`), fullPage: true });
  await loadAxe(page);
  const isDark = await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches");
  for (const isOther of [true, false]) {
    await page.emulateMedia({ colorScheme: isOther !== isDark ? 'dark' : 'light' });
    await checkAccessibility(name, isOther ? COLOUR_RULES : ['wcag2a', 'wcag2aa']);
  }
}

async function checkAccessibility(name: string, runOnly: readonly string[]): Promise<void> {
  expect(await axeViolations(page, runOnly), name).toEqual([]);
}

const clickButton = (name: string) => page.getByRole('button', { name, exact: true }).click();
/** Whether a table is wider than what is seen of it. */
const isClipped = (table: unknown) => {
  const { scrollWidth, clientWidth } = table as { scrollWidth: number; clientWidth: number };
  return scrollWidth > clientWidth;
};
/** A tab of the project: the navigation of all pages has links of the same names. */
const clickTab = (name: string) =>
  page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name, exact: true }).click();
const text = async (selector: string) => (await page.locator(selector).first().textContent()) ?? '';

const SAMPLE = JSON.stringify(
  {
    event: {
      name: 'CPU is too hot',
      text: '93 degrees on node 4',
      level: 'high',
      when: '2026-11-21T03:00:00Z',
    },
    nodes: ['node-4'],
    system: 'render farm',
  },
  null,
  2,
);

describe.runIf(isPossible)('the pages of alerts', () => {
  test('create a project and an integration, whose key is shown once', async () => {
    await page.goto(`${origin}/projects`);
    await look('projects-empty');
    await page.getByLabel('Name').fill('Render farm');
    await clickButton('Create project');
    await page.waitForURL(/\/projects\/1\/integrations$/);
    await look('integrations-empty');
    await page.getByLabel('Name', { exact: true }).fill('Thermometer');
    await clickButton('Add integration');
    const key = await text('#secret');
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(await text('#address')).toMatch(/\/alerts\/[0-9a-f]{16}\/notify\.json$/);
    expect(await text('#second-address')).toMatch(/\/prometheus\/alerts\/notify\.json$/);
    expect(await text('.note.warn')).toContain('Waiting for the first alert');
    expect(await text('#snippet-curl')).toContain(key);
    await page.getByRole('button', { name: 'Copy curl' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe((await text('#snippet-curl')).trim());
    await look('integration-made');
    await page.reload();
    expect(await page.locator('#secret').count()).toBe(0);
    await page.goto(`${origin}/projects/1/integrations`);
    await page.getByRole('link', { name: 'Thermometer' }).click();
    expect(await page.content()).not.toContain(key);
    await look('integration');
    await clickButton('Rotate key and keep the previous one for 24 hours');
    const rotated = await text('#secret');
    expect(rotated).not.toBe(key);
    await page.reload();
    expect(await page.locator('#secret').count()).toBe(0);
  });

  test('map a sample payload', async () => {
    await page.getByRole('link', { name: 'Custom mapping' }).click();
    await page.getByLabel('Payload of your tool').fill('{broken');
    await clickButton('Save sample');
    expect(await text('.note.bad')).toContain('valid JSON');
    await page.getByLabel('Payload of your tool').fill(SAMPLE);
    await clickButton('Save sample');
    await page.getByLabel('Title').selectOption('["event","name"]');
    await page.getByLabel('Description').selectOption('["event","text"]');
    await page.getByLabel('Severity').selectOption('["event","level"]');
    await page.getByLabel('Start time').selectOption('["event","when"]');
    await page.getByLabel('Hosts').selectOption('["nodes"]');
    await page.getByLabel('Service').selectOption('["system"]');
    await clickButton('Save mapping');
    expect(await text('main')).toContain('CPU is too hot');
    await look('mapping');
  });

  test('send a test alert and see that it is grouped', async () => {
    await page.getByRole('link', { name: 'Send test alert' }).click();
    await page.getByLabel('Payload').fill('[1]');
    await clickButton('Send test alert');
    expect(await text('.note.bad')).toContain('JSON object');
    await page.getByLabel('Payload').fill(SAMPLE);
    await clickButton('Send test alert');
    expect(await text('.note.good')).toContain('#1 CPU is too hot');
    await look('test-alert');
    await clickButton('Send test alert');
    expect(await text('.note.good')).toContain('grouped');
    await clickTab('Alerts');
    expect(await page.locator('tbody tr').count()).toBe(1);
    expect(await text('tbody tr .number')).toBe('2');
  });

  test('list alerts of several integrations by status, severity and search', async () => {
    const ann = (await service.accounts.users.get('1')) as never;
    const { createKey } = await import('../../../serve/accounts/keys.ts');
    const { text: token } = await createKey(service.accounts, ann, 'personal', {
      name: 'test',
      scopes: ['api'],
      expires_ms: 0,
    });
    alertmanager = await service.source({ user: ann, token }, 1, {
      type: 'PROMETHEUS',
      name: 'Alertmanager',
    });
    const severities = ['s1', 'page', 'warning', 'info', 'error'];
    const items = Array.from({ length: 24 }, (_, i) =>
      firing({
        fingerprint: (i + 16).toString(16).padStart(16, '0'),
        labels: { alertname: 'Rule', severity: severities[i % 5], platform_environment_name: 'production' },
        annotations: {
          summary: ['Disk of db-%d is almost full', 'Node %d is down', 'Queue %d grows'][i % 3]?.replace(
            '%d',
            String(i),
          ),
          description: 'It has been so for 10 minutes.',
          runbook: 'https://wiki.example/runbook',
          dashboard: 'https://grafana.example/d/1',
        },
        startsAt: new Date(Date.now() - i * 3_600_000).toISOString(),
      }),
    );
    expect((await service.send(alertmanager, prometheusBody(items))).body).toHaveLength(24);
    await page.reload();
    expect(await page.locator('.tabs .count').allInnerTexts()).toEqual(['25', '25', '0', '0', '0', '25']);
    expect(await page.locator('.severities .count').allInnerTexts()).toEqual(['5', '6', '4', '5', '5', '0']);
    await look('list');
    await page.getByPlaceholder('Title, description, service or tool').fill('disk');
    await clickButton('Apply filters');
    await page.getByRole('navigation', { name: 'Severity' }).getByRole('link', { name: 'critical' }).click();
    const titles = await page.locator('tbody th > a').allInnerTexts();
    expect(titles.length).toBeGreaterThan(0);
    expect(titles.every((title) => title.includes('Disk'))).toBe(true);
    await page.getByLabel('Integration').selectOption({ label: 'Thermometer' });
    await clickButton('Apply filters');
    expect(await text('.empty')).toContain('No alerts match');
    await page.getByLabel('Integration').selectOption('');
    await page.getByPlaceholder('Title, description, service or tool').fill('nothing is like this');
    await clickButton('Apply filters');
    expect(await text('.empty')).toContain('No alerts match');
  });

  test('acknowledge, assign, add a note, create an incident and resolve', async () => {
    await page.goto(`${origin}/projects/1/alerts/3`);
    await clickButton('Acknowledge');
    expect(await text('.tag.status-acknowledged')).toBe('acknowledged');
    await page.getByLabel('Assignee').selectOption({ label: '@ann' });
    await clickButton('Assign');
    await page.getByLabel('Add a note').fill('Looking at it <b>now</b>.');
    await clickButton('Add note');
    expect((await text('.remark .markdown')).trim()).toBe('Looking at it <b>now</b>.');
    await page.getByRole('button', { name: 'Create an incident' }).click();
    await look('alert');
    await page.getByRole('link', { name: 'Incident #1' }).click();
    expect(await text('main')).toContain('It has been so for 10 minutes.');
    expect(await page.locator('.markdown strong').first().textContent()).toBe('Start:');
    expect(await page.locator('.markdown a').getAttribute('rel')).toContain('noopener');
    await look('incident');
    await page.goto(`${origin}/projects/1/alerts/3`);
    await clickButton('Resolve');
    expect(await text('.tag.status-resolved')).toBe('resolved');
    expect(await text('.history')).toContain('resolved by @ann');
    await page.goto(`${origin}/projects/1/incidents/1`);
    await page.reload();
    expect(await text('.heading')).toContain('closed');
  });

  test('select alerts and acknowledge them, while new ones arrive in the list', async () => {
    await page.goto(`${origin}/projects/1/alerts?status=triggered&environment=production`);
    const boxes = page.locator('tbody input[type=checkbox]');
    expect(await page.getByRole('button', { name: 'Acknowledge' }).isDisabled()).toBe(true);
    await boxes.nth(0).check();
    await boxes.nth(2).check();
    await boxes.nth(2).focus();
    const chosen = await boxes.nth(2).getAttribute('value');
    expect(await text('[data-selected]')).toBe('2 selected');
    const shown = await boxes.count();
    const more = firing({
      labels: { alertname: 'New', platform_environment_name: 'production' },
      fingerprint: 'f'.repeat(16),
      startsAt: new Date().toISOString(),
    });
    await service.send(alertmanager, prometheusBody([more]));
    await page.locator('tr.fresh').waitFor();
    expect(await text('[data-live-news]')).toBe('1 new alert');
    expect(await boxes.count()).toBe(Math.min(20, shown + 1));
    expect(await text('[data-selected]')).toBe('2 selected');
    expect(await page.locator(':focus').getAttribute('value')).toBe(chosen);
    await clickButton('Pause updates');
    expect(await text('[data-live-state]')).toBe('Paused');
    await look('list-selected');
    await clickButton('Acknowledge');
    expect(await text('.note.good')).toBe('2 alerts acknowledged.');
    await page.getByRole('link', { name: 'Remove Environment: production' }).click();
    expect(new URL(page.url()).search).toBe('?status=triggered');
    await page.getByText('Save this filter').click();
    await page.getByLabel('Name of this filter').fill('Not looked at');
    await page.getByLabel('Open the list with it').check();
    await clickButton('Save filter');
    await clickTab('Alerts');
    expect(new URL(page.url()).search).toBe('?status=triggered');
    await page.getByText('Save or edit filters').click();
    await look('list-filters');
    await clickButton('Do not open with Not looked at');
  });

  test('wait for the first alert of an integration, and say when it came', async () => {
    await page.goto(`${origin}/projects/1/integrations`);
    await page.getByLabel('Name', { exact: true }).fill('Script');
    await clickButton('Add integration');
    const waiting = page.locator('[data-part=waiting]');
    expect(await waiting.textContent()).toContain('Waiting for the first alert');
    const path = new URL(await text('#address')).pathname;
    await service.send({ path, key: await text('#secret') }, { title: 'It came' });
    await waiting.getByText('Last delivery').waitFor();
    expect(await text('[data-part=deliveries] tbody')).toContain('1 created');
  });

  test('add a webhook, whose secret is shown once, test it and show its deliveries', async () => {
    const address = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    await page.goto(`${origin}/projects/1/alerts`);
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await look('hooks-empty');
    await page.getByLabel('URL').fill('ftp://chat.example');
    await clickButton('Add webhook');
    expect(await text('.fault')).toContain('http or https');
    await page.getByLabel('URL').fill(`${address}/takes`);
    await page.getByLabel('Name').fill('Chat');
    await clickButton('Add webhook');
    const secret = await text('#secret');
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect(await page.getByRole('button', { name: 'Copy Signing secret' }).isVisible()).toBe(true);
    await look('hook-made');
    await page.reload();
    expect(await page.locator('#secret').count()).toBe(0);
    await page.getByRole('button', { name: 'Send test request' }).click();
    expect(await text('.note.good')).toContain('succeeded with status 200');
    expect(await page.content()).not.toContain(secret);
    await page.getByLabel('URL').fill(`${address}/refuses?${'long-parameter='.repeat(12)}`);
    await clickButton('Save changes');
    await page.getByRole('button', { name: 'Send test request' }).click();
    expect(await text('.note.bad')).toContain('answered with 418');
    expect(await page.locator('tbody .tag.bad').allTextContents()).toEqual(['answered with 418']);
    await look('hook');
    await service.send(alertmanager, prometheusBody([firing({ fingerprint: 'e'.repeat(16) })]));
    await until('the webhook was sent', async () => {
      await page.goto(`${origin}/projects/1/hooks`);
      return (await text('tbody')).includes('answered with 418');
    });
    expect(await text('tbody')).toContain('Chat');
    await look('hooks');
    expect(await page.locator('.table').evaluate(isClipped)).toBe(false);
    await page.getByRole('link', { name: 'Chat' }).click();
    await page.getByRole('link', { name: 'Delete webhook Chat' }).click();
    expect(await text('h1')).toBe('Delete Chat?');
    await look('hook-delete');
    await clickButton('Delete webhook');
    expect(await text('.empty')).toContain('No webhooks yet');
  });

  test('show the heartbeat of an integration, and charts of the analytics', async () => {
    await page.goto(`${origin}/projects/1/integrations`);
    await page.getByRole('link', { name: 'Thermometer' }).click();
    await page.getByLabel('Heartbeat (minutes)').fill('5 min');
    await clickButton('Save changes');
    expect(await text('.fault')).toContain('minutes');
    await page.getByLabel('Heartbeat (minutes)').fill('5');
    await clickButton('Save changes');
    await page.getByRole('link', { name: 'Send test alert' }).click();
    await clickButton('Send test alert');
    await page.goto(`${origin}/projects/1/integrations`);
    expect(await text('tbody')).toContain('every 5 min');
    await look('integrations');
    await page.goto(`${origin}/projects/1/analytics`);
    expect(await page.locator('.tile svg path').count()).toBe(5);
    expect(await page.locator('.tile').first().textContent()).toMatch(/^Alerts[1-9]/);
    expect(await page.locator('.bar rect').count()).toBeGreaterThan(0);
    await look('analytics');
  });

  test('members and settings; dark mode and a narrow screen', async () => {
    await page.goto(`${origin}/projects/1/members`);
    await look('members');
    await page.getByLabel('Username').fill('nobody-there');
    await clickButton('Add member');
    expect(await text('.fault')).toContain('No account has this username');
    await page.goto(`${origin}/projects/1/settings`);
    await look('settings');
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(`${origin}/projects/1/alerts`);
    await look('list-dark');
    await page.goto(`${origin}/projects/1/alerts/3`);
    await look('alert-dark');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin}/projects/1/alerts`);
    await look('list-small');
    // Colour alone tells nothing to many.
    expect(await page.locator('tbody th .severity').first().isVisible()).toBe(true);
    const widest = await page
      .locator('html')
      .evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth);
    expect(widest).toBeLessThanOrEqual(390);
  });

  test('require a signed-in user', async () => {
    const stranger = await browser.newContext();
    const other = await stranger.newPage();
    await other.goto(`${origin}/projects/1/alerts`);
    expect(other.url()).toContain('/sign-in');
    await stranger.close();
  });

  test('the browser reported no errors', () => {
    expect(browserErrors).toEqual([]);
  });
});
