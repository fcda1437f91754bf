import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { User } from '../../../../serve/accounts/tables.ts';
import { html } from '../../../../serve/pages/html.ts';
import { axeViolations, loadAxe } from '../../../support/axe.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { anApplication, aUser, openWorld, PASSWORD, signedIn, type World } from '../../accounts/world.ts';
import { aCode, exchangeOf, type Party, post } from '../oauth/flow.ts';

const hasChromium = canRun(CHROMIUM);
const SCREENS = new URL('../../../output/screens/', import.meta.url).pathname;

let world: World;
let origin: string;
let browser: Browser;
let the: Party;
/** What the page of the application contains. */
let content = html``;
/** The application, whose server is another site than the service. */
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://client.invalid');
  const body =
    pathname === '/signed-out'
      ? html`<p id="state">${searchParams.get('state') ?? 'no state'}</p>
<script>window.opener?.postMessage('signed out', location.origin)</script>`
      : content;
  response.setHeader('content-type', 'text/html; charset=utf-8').end(`<!doctype html>${body.text}`);
});
const client = () => `http://localhost:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  if (!hasChromium) return;
  mkdirSync(SCREENS, { recursive: true });
  world = await openWorld();
  origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  await new Promise<void>((done) => server.listen(0, done));
  browser = await launchBrowser();
  const user = await aUser(world);
  const registered = await anApplication(world, await aUser(world), {
    name: 'Block Watcher',
    post_logout_redirect_uris: `${client()}/signed-out`,
  });
  const callback = registered.application.redirect_uris[0] ?? '';
  the = { world, user, browser: await signedIn(world, user), callback, ...registered };
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  server.closeAllConnections();
  server.close();
  await world.close();
});

async function idToken(): Promise<string> {
  const code = await aCode(the, { scope: 'openid' });
  return (await post(world, '/oauth/token', exchangeOf(the, code))).json().id_token;
}

/** A phone on which the user is signed in. */
async function phone(javaScriptEnabled: boolean, user: User = the.user): Promise<[BrowserContext, Page]> {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, javaScriptEnabled });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  await page.goto(`${origin}/sign-in`);
  await page.getByLabel('Username or email').fill(user.username);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(/\/profile$/);
  return [context, page];
}

async function hasSession(context: BrowserContext): Promise<boolean> {
  const page = await context.newPage();
  await page.goto(`${origin}/profile`);
  const isSignedIn = new URL(page.url()).pathname === '/profile';
  await page.close();
  return isSignedIn;
}

async function checkPage(page: Page, name: string, runsScripts: boolean): Promise<void> {
  await page.screenshot({ path: join(SCREENS, `${name}.png`), fullPage: true });
  if (!runsScripts) return;
  await loadAxe(page);
  expect(await axeViolations(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']), name).toEqual([]);
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  expect(isWide, `${name} is wider than the phone`).toBe(false);
}

const logoutUrl = (fields: Record<string, string>) => `${origin}/oauth/logout?${new URLSearchParams(fields)}`;
const back = () => ({ post_logout_redirect_uri: `${client()}/signed-out`, state: 'st&te ☃' });
const press = (page: Page, name: string) =>
  page.locator('main').getByRole('button', { name, exact: true }).click();
const stateShown = (page: Page) => page.locator('#state').textContent();
const formOf = (fields: Record<string, string>) =>
  html`<main><form method="post" action="${origin}/oauth/logout">${Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button>Leave</button></form></main>`;

describe.runIf(hasChromium).each([
  ['with scripts', true],
  ['without scripts', false],
] as const)('in Chromium %s, a logout', (label, runsScripts) => {
  const name = (screen: string) => `logout-${screen}-${label.replace(' ', '-')}`;

  test('with the ID token of the user leads back to the application', async () => {
    const [context, page] = await phone(runsScripts);
    content = html`<a href="${logoutUrl({ id_token_hint: await idToken(), ...back() })}">Leave</a>`;
    await page.goto(client());
    await page.getByRole('link', { name: 'Leave' }).click();
    if (!runsScripts) {
      await checkPage(page, name('hint'), false);
      expect(await hasSession(context)).toBe(true);
      await press(page, 'Sign out');
    }
    expect(await stateShown(page)).toBe('st&te ☃');
    expect(await hasSession(context)).toBe(false);
    await context.close();
  });

  test('by a form of the application with the ID token leads back as well', async () => {
    const [context, page] = await phone(runsScripts);
    content = formOf({ id_token_hint: await idToken(), ...back() });
    await page.goto(client());
    await press(page, 'Leave');
    if (!runsScripts) await press(page, 'Sign out');
    expect(await stateShown(page)).toBe('st&te ☃');
    expect(await hasSession(context)).toBe(false);
    await context.close();
  });

  test('by a form without an ID token ends nothing until the user presses the button', async () => {
    const [context, page] = await phone(runsScripts);
    content = formOf({ client_id: the.application.id, ...back() });
    await page.goto(client());
    await press(page, 'Leave');
    await page.getByRole('heading', { name: 'Sign out of Chain Metrics?' }).waitFor();
    await checkPage(page, name('question'), runsScripts);
    expect(await hasSession(context)).toBe(true);
    await page.getByRole('link', { name: 'Stay signed in' }).click();
    expect(new URL(page.url()).pathname).toBe('/profile');
    await page.goto(client());
    await press(page, 'Leave');
    await press(page, 'Sign out');
    expect(await stateShown(page)).toBe('st&te ☃');
    expect(await hasSession(context)).toBe(false);
    await context.close();
  });

  test('with the ID token of another user asks, and a wrong one says why it leads nowhere', async () => {
    const [context, page] = await phone(runsScripts, await aUser(world));
    await page.goto(logoutUrl({ id_token_hint: await idToken(), ...back() }));
    await checkPage(page, name('other-user'), runsScripts);
    expect(await hasSession(context)).toBe(true);
    await page.goto(
      logoutUrl({ client_id: the.application.id, post_logout_redirect_uri: 'https://evil.example' }),
    );
    await checkPage(page, name('refused'), runsScripts);
    expect(await hasSession(context)).toBe(true);
    await press(page, 'Sign out');
    await page.getByText('You have been signed out.').waitFor();
    await checkPage(page, name('done'), runsScripts);
    await page.goto(logoutUrl({ client_id: the.application.id, ...back() }));
    await checkPage(page, name('signed-out'), runsScripts);
    await page.getByRole('link', { name: 'Return to Block Watcher' }).click();
    expect(await stateShown(page)).toBe('st&te ☃');
    await context.close();
  });
});

describe.runIf(hasChromium)('in Chromium, another site', () => {
  test('ends no session by an image, a frame, a link, a form in a frame or a script', async () => {
    const [context, page] = await phone(true);
    const known = logoutUrl({ id_token_hint: await idToken() });
    content = html`<img src="${known}"><img src="${origin}/oauth/logout/confirm"><iframe src="${known}"></iframe>
<iframe name="inner"></iframe><form id="posted" method="post" target="inner" action="${origin}/oauth/logout/confirm"></form>
<script>
posted.submit();
fetch('${origin}/oauth/logout/confirm', { method: 'POST', mode: 'no-cors', credentials: 'include' }).finally(() => { document.title = 'tried'; });
</script><a href="${logoutUrl({ client_id: the.application.id })}">Leave</a>`;
    await page.goto(client());
    await page.waitForFunction("document.title === 'tried'");
    await page.waitForLoadState('networkidle');
    expect(await hasSession(context)).toBe(true);
    await page.getByRole('link', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Sign out of Chain Metrics?' }).waitFor();
    expect(await hasSession(context)).toBe(true);
    await page.goto(client());
    content = html`<form id="posted" method="post" action="${origin}/oauth/logout/confirm"></form><script>posted.submit()</script>`;
    await page.goto(client());
    await page.getByRole('heading', { name: 'Access denied' }).waitFor();
    expect(await hasSession(context)).toBe(true);
    await context.close();
  });

  test('signs out in a popup, which can still tell the page that opened it', async () => {
    const [context, page] = await phone(true);
    const url = logoutUrl({ id_token_hint: await idToken(), ...back() });
    content = html`<p id="told"></p><main><button id="open" data-url="${url}">Leave</button></main><script>
addEventListener('message', ({ data }) => { told.textContent = data; });
document.getElementById('open').onclick = ({ target }) => window.open(target.dataset.url, 'popup', 'popup');
</script>`;
    await page.goto(client());
    await press(page, 'Leave');
    await page.getByText('signed out', { exact: true }).waitFor();
    expect(await hasSession(context)).toBe(false);
    await context.close();
  });
});
