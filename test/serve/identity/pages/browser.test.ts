import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import * as sr25519 from '@scure/sr25519';
import { Secret, TOTP } from 'otpauth';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeAddress } from '../../../../ingest/chains/address.ts';
import { launchBrowser } from '../../../support/browser.ts';
import { CHROMIUM, canRun } from '../../../support/needed.ts';
import { openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { challengeOf, verifierOf } from '../oauth/flow.ts';

const hasChromium = canRun(CHROMIUM);

/** The directory of the screenshots. */
const SCREENS = new URL('../../../output/screens/', import.meta.url).pathname;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let world: World;
let origin: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
/** Errors of the browser: blocked by the Content-Security-Policy, or thrown by scripts. */
const complaints: string[] = [];
const callback = createServer((_request, response) => response.end('<h1>the application</h1>'));

beforeAll(async () => {
  if (!hasChromium) return;
  mkdirSync(SCREENS, { recursive: true });
  world = await openWorld();
  origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  await new Promise<void>((done) => callback.listen(0, '127.0.0.1', done));
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 1180, height: 820 }, colorScheme: 'light' });
  page = await open(context);
});
afterAll(async () => {
  if (!hasChromium) return;
  await browser.close();
  callback.close();
  await world.close();
});

async function open(of: BrowserContext): Promise<Page> {
  const opened = await of.newPage();
  opened.setDefaultTimeout(15_000);
  opened.on('console', (message) => {
    if (message.type() === 'error' && !/status of 4\d\d/.test(message.text()))
      complaints.push(message.text());
  });
  opened.on('pageerror', (error) => complaints.push(String(error)));
  return opened;
}

/** Takes a screenshot and checks the page for accessibility (WCAG 2.1 AA). */
async function checkPage(name: string, of = page): Promise<void> {
  await of.screenshot({ path: join(SCREENS, `${name}.png`), fullPage: true });
  await of.evaluate(AXE);
  const faults = await of.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations } = await axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
      resultTypes: ['violations'],
    });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .join(' ')
          .slice(0, 300)}`,
    );
  });
  expect(faults, name).toEqual([]);
}

const path = () => new URL(page.url()).pathname;
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
const fill = (label: string, value: string) => page.getByLabel(label, { exact: true }).fill(value);
const go = (to: string) => page.goto(origin + to);

describe.runIf(hasChromium)('in Chromium, a user', () => {
  let totp: TOTP;
  let clientId: string;
  let clientSecret: string;

  test('creates an account', async () => {
    await go('/profile');
    expect(path()).toBe('/sign-in');
    await checkPage('01-sign-in');
    await page.getByRole('link', { name: 'Create account' }).click();
    await fill('Username', 'ada');
    await fill('Email (optional)', 'ada@example.org');
    await fill('Password', 'short');
    await press('Create account');
    await checkPage('02-sign-up-fault');
    await fill('Password', PASSWORD);
    await press('Create account');
    expect(path()).toBe('/profile');
    await checkPage('03-overview');
  });

  test('enables two-factor authentication and signs in with it', async () => {
    await page.getByRole('link', { name: 'Enable two-factor authentication' }).click();
    await page.getByRole('link', { name: 'Enable two-factor authentication' }).click();
    await checkPage('04-two-factor');
    const secret = (await page.locator('#totp-secret').textContent()) ?? '';
    totp = new TOTP({ secret: Secret.fromBase32(secret) });
    await fill('Verification code', totp.generate({ timestamp: world.now() }));
    await press('Enable two-factor authentication');
    expect(await page.locator('#recovery-codes li').count()).toBe(10);
    await checkPage('05-recovery-codes');
    await press('Sign out');
    await fill('Username or email', 'ada');
    await fill('Password', PASSWORD);
    await press('Sign in');
    expect(path()).toBe('/sign-in/two-factor');
    await checkPage('06-second-factor');
    world.advance(30_000);
    await fill('Verification code', totp.generate({ timestamp: world.now() }));
    await press('Verify code');
    expect(path()).toBe('/profile');
  });

  test('creates an application and sees its secret once', async () => {
    await page.getByRole('link', { name: 'Applications', exact: true }).click();
    await fill('Name', 'Block Watcher');
    await fill('Redirect URIs', 'http://evil.example/callback');
    await page.locator('[value=read_user]').check();
    await press('Create application');
    await checkPage('07-application-fault');
    await fill('Redirect URIs', `http://127.0.0.1/callback`);
    await press('Create application');
    clientSecret = (await page.locator('#secret').textContent()) ?? '';
    clientId = (await page.locator('#client-id').textContent()) ?? '';
    expect(clientSecret).toMatch(/^cms_/);
    await checkPage('08-application-secret');
    await go(`/profile/applications/${clientId}`);
    expect(await page.content()).not.toContain(clientSecret);
    await page.getByRole('button', { name: /^Renew/ }).click();
    const renewed = (await page.locator('#secret').textContent()) ?? '';
    expect(renewed).not.toBe(clientSecret);
    clientSecret = renewed;
    await fill('Redirect URIs after sign-out', 'http://127.0.0.1/signed-out');
    await page.getByLabel('ES256').check();
    await press('Save changes');
    await checkPage('08-application-changed');
    expect(await page.getByLabel('Redirect URIs after sign-out').inputValue()).toMatch(/signed-out$/);
    expect(await page.getByLabel('ES256').isChecked()).toBe(true);
    await go('/profile/applications');
    await checkPage('09-applications');
  });

  test('denies and then authorizes an application', async () => {
    const verifier = verifierOf();
    const redirectUri = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`;
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'read_user',
      state: 'ünïcode ☃',
      code_challenge: challengeOf(verifier),
      code_challenge_method: 'S256',
    });
    await go(`/oauth/authorize?${query}`);
    await checkPage('10-consent');
    await press('Deny');
    expect(new URL(page.url()).searchParams.get('error')).toBe('access_denied');
    await go(`/oauth/authorize?${query}`);
    await press('Authorize');
    await page.waitForURL(`${redirectUri}**`);
    const answer = new URL(page.url()).searchParams;
    expect(answer.get('state')).toBe('ünïcode ☃');
    expect(answer.get('iss')).toBe(origin);
    const token = await fetch(`${origin}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: answer.get('code') ?? '',
        redirect_uri: redirectUri,
        client_id: clientId,
        client_secret: clientSecret,
        code_verifier: verifier,
      }),
    });
    const { access_token } = (await token.json()) as { access_token: string };
    const user = () =>
      fetch(`${origin}/api/v4/user`, { headers: { authorization: `Bearer ${access_token}` } });
    expect(await (await user()).json()).toMatchObject({ username: 'ada' });
    await go('/profile/authorized-applications');
    await checkPage('11-authorized');
    await page.getByRole('button', { name: 'Revoke access of Block Watcher' }).click();
    expect((await user()).status).toBe(401);
  });

  test('creates an API key, uses it, and revokes it', async () => {
    await go('/profile/keys');
    await fill('Name', 'Nightly report');
    await press('Create API key');
    await checkPage('12-key');
    const key = (await page.locator('#secret').textContent()) ?? '';
    const ask = () => fetch(`${origin}/api/daily-tps`, { headers: { authorization: `Bearer ${key}` } });
    expect((await ask()).status).toBe(200);
    await go('/profile/keys');
    await page.getByRole('link', { name: 'Revoke Nightly report' }).click();
    expect(await page.locator('h1').textContent()).toBe('Revoke Nightly report?');
    await checkPage('13-key-revocation');
    await press('Revoke API key');
    await checkPage('13-key-revoked');
    expect((await ask()).status).toBe(401);
  });

  test('creates a personal access token and sees active sessions', async () => {
    await go('/profile/tokens');
    await fill('Name', 'Laptop');
    await page.locator('[value=write_repository]').check();
    await press('Create personal access token');
    await checkPage('14-token');
    await go('/profile/sessions');
    await checkPage('15-sessions');
    await go('/profile/security');
    await checkPage('16-security');
  });

  test('links a wallet, and signs in with it', async () => {
    const secret = sr25519.secretFromSeed(new Uint8Array(32).fill(7));
    const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`;
    const address = encodeAddress(hex(sr25519.getPublicKey(secret)), 0);
    await context.exposeFunction('signInWallet', (data: string) =>
      // Extensions wrap the text that they sign.
      hex(
        sr25519.sign(secret, Buffer.from(`<Bytes>${Buffer.from(data.slice(2), 'hex').toString()}</Bytes>`)),
      ),
    );
    await context.addInitScript((own: string) => {
      const { signInWallet } = globalThis as unknown as { signInWallet(data: string): Promise<string> };
      const account = { address: own, name: 'Test', type: 'sr25519' };
      const signer = {
        signRaw: async ({ data }: { data: string }) => ({ signature: await signInWallet(data) }),
      };
      const wallet = {
        version: '1',
        enable: async () => ({ accounts: { get: async () => [account] }, signer }),
      };
      Object.assign(globalThis, { injectedWeb3: { 'test-wallet': wallet } });
    }, address);
    await go('/profile/wallets');
    await fill('Current password', PASSWORD);
    await press('Link a Polkadot wallet');
    await page.getByText('was linked').waitFor();
    await checkPage('17-wallets');
    await press('Sign out');
    await press('Sign in with a Polkadot wallet');
    await page.waitForURL('**/sign-in/two-factor**');
    world.advance(60_000);
    await fill('Verification code', totp.generate({ timestamp: world.now() }));
    await press('Verify code');
    expect(path()).toBe('/profile');
  });

  test('gets instructions without a wallet and for an invalid link', async () => {
    const plain = await browser.newContext({ viewport: { width: 1180, height: 820 } });
    const other = await open(plain);
    await other.goto(`${origin}/sign-in`);
    await other.getByRole('button', { name: 'Sign in with a Polkadot wallet' }).click();
    await other.getByText('No wallet found').waitFor();
    await other.goto(`${origin}/oauth/authorize?client_id=x`);
    await checkPage('18-wrong-link', other);
    await plain.close();
  });

  test('sees the pages in dark mode and on a phone', async () => {
    const cookies = await context.cookies();
    const dark = await browser.newContext({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await dark.addCookies(cookies);
    const other = await open(dark);
    for (const [name, to] of [
      ['19-dark-overview', '/profile'],
      ['20-dark-keys', '/profile/keys'],
      ['21-dark-wallets', '/profile/wallets'],
    ] as const) {
      await other.goto(origin + to);
      await checkPage(name, other);
      const overflow = await other.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow, name).toBe(0);
    }
    await dark.close();
  });

  test('reads the API documentation over plain http by a name', async () => {
    const other = await context.newPage();
    await other.goto(`http://metrics.test:${new URL(origin).port}/docs/`);
    await other.getByRole('heading', { name: 'Chain Metrics' }).waitFor({ timeout: 60_000 });
    await other.close();
  });

  test('causes no errors in the browser', () => {
    expect(complaints).toEqual([]);
  });
});
