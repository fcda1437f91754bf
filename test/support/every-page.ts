import type { Browser, BrowserContext, Page } from 'playwright-core';
import { contracts } from '../../serve/console/lists/contracts.ts';
import { coretime } from '../../serve/console/lists/coretime.ts';
import { governance } from '../../serve/console/lists/governance.ts';
import { firing, prometheusBody } from '../serve/alerts/made.ts';

const LISTS = [governance, coretime, contracts].flatMap(({ pages }) => pages.map(({ path }) => path));
/** Without the lists of records and what they lead to. */
export const CONSOLE_PAGES = [
  '/',
  '/charts',
  '/charts/daily-fees',
  '/charts/contract-calls-heatmap',
  '/charts/coretime-sales',
  '/chains',
  '/chains/polkadot',
  '/compare',
  '/embed/daily-tps',
  '/search?q=fees',
  '/status',
  '/explorer',
  '/docs/guides',
  '/docs/guides/api',
  '/docs/guides/metrics',
  '/nowhere',
];
const PUBLIC = [
  ...CONSOLE_PAGES,
  '/charts/daily-tps?range=all',
  ...LISTS,
  '/sign-in',
  '/sign-up',
  '/forgotten-password',
  '/reset-password?link=x',
];
const PROFILE = [
  '',
  '/notifications',
  '/keys',
  '/tokens',
  '/applications',
  '/authorized-applications',
  '/wallets',
  '/email',
  '/security',
  '/sessions',
  '/account',
  '/account/delete',
];
const PROJECT = [
  '/alerts',
  '/alerts/1',
  '/incidents',
  '/incidents/1',
  '/integrations',
  '/hooks',
  '/oncall',
  '/escalation',
  '/escalation/new',
  '/routes',
  '/routes/new',
  '/routes/1',
  '/routes/preview?alert=1',
  '/silences',
  '/silences/new?alert=1',
  '/maintenance',
  '/maintenance/new',
  '/channels',
  '/channels/new?type=slack',
  '/analytics',
  '/members',
  '/settings',
  '/settings/delete',
];
const DETAIL = /href="(\/(?:governance\/\w+|coretime\/\w+|contracts)(?:\/[\w-]+){2,})"/g;
const HOUR_MS = 3_600_000;

/** Where a list of records leads to. */
export const recordsOn = (body: string): string[] => [...body.matchAll(DETAIL)].map(([, path = '']) => path);

export interface EveryPage {
  readonly public: readonly string[];
  /** Those of a new account that has alerts, which `context` is signed in to. */
  readonly own: readonly string[];
  readonly context: BrowserContext;
}

/** The addresses of all pages of a running server, where an account with a project and alerts is made for them. */
export async function everyPage(browser: Browser, origin: string): Promise<EveryPage> {
  const bodies = await Promise.all(LISTS.map(async (path) => (await fetch(origin + path)).text()));
  // Pages of single things are those that the lists lead to.
  const details = bodies.flatMap((body) => recordsOn(body).slice(0, 1));
  const context = await browser.newContext();
  const page = await context.newPage();
  const go = (path: string) => page.goto(origin + path);
  await go('/sign-up');
  await page.getByLabel('Username').fill(`visitor-${Date.now()}`);
  await page.getByLabel('Password').fill('a long enough passphrase 17');
  await page.locator('main form button').last().click();
  await page.waitForURL(/\/profile/);
  const consent = await makeApplication(page, go);
  const project = await makeProject(page, go);
  await page.close();
  return {
    public: [...new Set([...PUBLIC, ...details])],
    own: [
      ...PROFILE.map((path) => `/profile${path}`),
      consent,
      '/oauth/logout',
      '/projects',
      ...[...PROJECT, ...project.pages].map((path) => project.path + path),
    ],
    context,
  };
}

type Go = (path: string) => Promise<unknown>;

/** Makes an application. Returns the address of the page on which a user allows it to act. */
async function makeApplication(page: Page, go: Go): Promise<string> {
  await go('/profile/applications');
  await page.getByLabel('Name', { exact: true }).fill('Block Watcher');
  await page.getByLabel('Redirect URIs', { exact: true }).fill('http://127.0.0.1/callback');
  await page.locator('[value=read_user]').check();
  await page.getByRole('button', { name: 'Create application' }).click();
  const query = new URLSearchParams({
    client_id: (await page.locator('#client-id').textContent()) ?? '',
    redirect_uri: 'http://127.0.0.1/callback',
    response_type: 'code',
    scope: 'read_user',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  return `/oauth/authorize?${query}`;
}

/** Makes a project with alerts of two days, an incident and a webhook. */
async function makeProject(page: Page, go: Go) {
  await go('/projects');
  await page.getByLabel('Name').fill('Render farm');
  await page.getByRole('button', { name: 'Create project' }).click();
  await page.waitForURL(/\/integrations$/);
  const path = new URL(page.url()).pathname.replace('/integrations', '');
  await page.getByLabel('Type').selectOption('prometheus');
  await page.getByLabel('Name', { exact: true }).fill('Alertmanager');
  await page.getByRole('button', { name: 'Add integration' }).click();
  const [address, secret] = [page.locator('#address'), page.locator('#secret')];
  await sendAlerts((await address.textContent()) ?? '', (await secret.textContent()) ?? '');
  await go(`${path}/integrations`);
  await page.getByRole('link', { name: 'Alertmanager' }).click();
  const integration = new URL(page.url()).pathname.replace(path, '');
  await go(`${path}/alerts/1`);
  await page.getByRole('button', { name: 'Create an incident' }).click();
  await go(`${path}/hooks`);
  await page.getByLabel('URL').fill('https://chat.example/hook');
  await page.getByLabel('Name').fill('Chat');
  await page.getByRole('button', { name: 'Add webhook' }).click();
  const hook = new URL(page.url()).pathname.replace(path, '');
  const schedule = await makeSchedule(page, go, path);
  return {
    path,
    pages: [
      integration,
      `${integration}/rules`,
      `${integration}/test`,
      `${integration}/delete`,
      hook,
      `${hook}/delete`,
      ...schedule,
    ],
  };
}

/** Makes a schedule with a rotation. Returns its pages. */
async function makeSchedule(page: Page, go: Go, path: string): Promise<string[]> {
  await go(`${path}/oncall`);
  await page.getByLabel('Name').fill('Primary');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await page.getByRole('button', { name: 'Create schedule' }).click();
  const rotation = new URL(page.url()).pathname.replace(path, '');
  await page.getByLabel('Name').fill('Weekly');
  await page.getByLabel('Turn 1', { exact: true }).selectOption({ index: 2 });
  await page.getByRole('button', { name: 'Add rotation' }).click();
  const schedule = new URL(page.url()).pathname.replace(path, '');
  return [schedule, rotation, `${schedule}/delete`];
}

async function sendAlerts(address: string, key: string): Promise<void> {
  const severities = ['s1', 'page', 'warning', 'info', 'error'];
  const alerts = Array.from({ length: 48 }, (_, i) =>
    firing({
      fingerprint: (i + 16).toString(16).padStart(16, '0'),
      labels: {
        ...{ alertname: 'Rule', severity: severities[i % 5], instance: `db-${i % 7}` },
        platform_environment_name: i % 2 ? 'production' : 'staging',
      },
      annotations: {
        summary: [`Disk of db-${i} is almost full`, `Node ${i} is down`, `Queue ${i} grows`][i % 3],
        description: 'It has been so for **10 minutes**, see `df -h`.',
        runbook: 'https://wiki.example/runbook',
      },
      startsAt: new Date(Date.now() - i * HOUR_MS).toISOString(),
      ...(i % 4 === 3 && { status: 'resolved', endsAt: new Date().toISOString() }),
    }),
  );
  for (const alert of alerts) {
    const { status } = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(prometheusBody([alert])),
    });
    if (status !== 200) throw new Error(`an alert was answered with ${status}`);
  }
}
