import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { User } from '../../../../../serve/accounts/tables.ts';
import { createUser } from '../../../../../serve/accounts/users.ts';
import { SigningKeys } from '../../../../../serve/identity/openid/signing-keys.ts';
import { launchBrowser } from '../../../../support/browser.ts';
import { CHROMIUM, canRun, OAUTH2_PROXY } from '../../../../support/needed.ts';
import { canInstall, keptPython } from '../../../../support/python.ts';
import { anApplication, aUser, openWorld, PASSWORD, type World } from '../../../accounts/world.ts';
import { authJsApplication } from './auth-js.ts';
import { buildGo, canBuildGo } from './go.ts';
import { freePort, listen, programDirectory, startProgram, writeProgram } from './guide-applications.ts';

const PYTHON = ['openid-clients', ['Authlib==1.9.10', 'Flask==3.1.3', 'requests==2.32.5']] as const;
const hasChromium = canRun(CHROMIUM);
const SCOPES = ['openid', 'profile', 'email'];

const directory = programDirectory();
let world: World;
let issuer: string;
let browser: Browser;
let user: User;
let page: Page;

beforeAll(async () => {
  if (!hasChromium) return;
  world = await openWorld();
  // Clients of other processes refuse a token that was issued in their future.
  world.advance(Date.now() - world.now());
  issuer = await world.app.listen({ host: '127.0.0.1', port: 0 });
  user = await createUser(world.accounts, {
    ...{ username: 'ada', email: 'ada@example.org', is_email_confirmed: true, password: PASSWORD },
  });
  browser = await launchBrowser();
});
afterAll(async () => {
  directory[Symbol.dispose]();
  await browser?.close();
  await world?.close();
});

interface Registered {
  readonly port: number;
  readonly origin: string;
  /** The values that the programs of the guide read from their environment. */
  readonly env: { readonly CLIENT_ID: string; readonly CLIENT_SECRET: string };
  /** The addresses of this test in place of those of the guide. */
  readonly addresses: Readonly<Record<string, string>>;
}

/** Registers an application that will listen on a port of its own. */
async function register(redirectPath: string, isConfidential = true): Promise<Registered> {
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const { application, secret } = await anApplication(world, await aUser(world), {
    redirect_uris: origin + redirectPath,
    post_logout_redirect_uris: `${origin}/`,
    scopes: SCOPES,
    is_confidential: isConfidential,
  });
  const addresses = { 'http://localhost:3000': issuer, '8080': String(port) };
  return { port, origin, env: { CLIENT_ID: application.id, CLIENT_SECRET: secret }, addresses };
}

/** Opens an application in a browser where nobody is signed in, follows its link or button and signs in. */
async function signIn(address: string, ...presses: readonly string[]): Promise<void> {
  await page?.context().close();
  page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(address);
  for (const name of presses) await page.getByText(name, { exact: true }).click();
  await page.getByLabel('Username or email').fill(user.username);
  await page.getByLabel('Password').fill(PASSWORD);
  await press('Sign in');
}

const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

async function authorize(): Promise<void> {
  await press('Authorize');
  await page.getByText(`Signed in as ${user.username}`).waitFor();
}

/** Signs out in the application, which also ends the session here. */
async function signOut(): Promise<void> {
  const { origin } = new URL(page.url());
  await press('Sign out');
  await page.waitForURL(`${origin}/`);
  await page.getByText('Sign in', { exact: true }).waitFor();
  await page.goto(`${issuer}/profile`);
  expect(new URL(page.url()).pathname).toBe('/sign-in');
}

describe.runIf(hasChromium)('in Chromium, an application of the guide signs a user in', () => {
  test('openid-client, and out', async () => {
    const { port, origin, env, addresses } = await register('/callback');
    const program = writeProgram(directory.path, ['js', 'node'], 'sign-in.mjs', addresses);
    await using _ = await startProgram([process.execPath, program], port, env);
    await signIn(origin, 'Sign in');
    await authorize();
    await signOut();
  });

  test('openid-client, unless the user denies', async () => {
    const { port, origin, env, addresses } = await register('/callback');
    const program = writeProgram(directory.path, ['js', 'node'], 'denied.mjs', addresses);
    await using _ = await startProgram([process.execPath, program], port, env);
    await signIn(origin, 'Sign in');
    await press('Deny');
    await page.getByText('Not signed in').waitFor();
  });

  test('Auth.js', async () => {
    const { port, origin, env, addresses } = await register('/auth/callback/chain-metrics');
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const module = await import(writeProgram(directory.path, ['js', 'authjs'], 'auth.mjs', addresses));
    vi.unstubAllEnvs();
    await using _ = await listen(authJsApplication(origin, module.chainMetrics), port);
    await signIn(origin, 'Sign in', 'Sign in with Chain Metrics');
    await authorize();
  });

  test('oidc-client-ts in a page of its own, and out', async () => {
    const { port, origin, env, addresses } = await register('/', false);
    const entry = writeProgram(directory.path, ['js', 'page'], 'page.mjs', {
      ...addresses,
      CLIENT_ID: env.CLIENT_ID,
    });
    const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false });
    await using _ = await listen((_request, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(`<!doctype html><body><script type="module">${outputFiles[0]?.text}</script>`);
    }, port);
    await signIn(origin, 'Sign in');
    await authorize();
    await signOut();
  });

  test.runIf(canRun(OAUTH2_PROXY))('oauth2-proxy', async () => {
    const { port, origin, env } = await register('/oauth2/callback');
    await using upstream = await listen((request, response) => {
      const { 'x-forwarded-preferred-username': name, 'x-forwarded-email': email } = request.headers;
      response.end(`Signed in as ${name} ${email}`);
    });
    const config = writeProgram(directory.path, ['toml', 'proxy'], 'proxy.cfg', {
      'http://localhost:3000': issuer,
      '4180': String(port),
      '8081': String(upstream.port),
      COOKIE_SECRET: '0123456789abcdef0123456789abcdef',
      ...env,
    });
    await using _ = await startProgram([OAUTH2_PROXY, `--config=${config}`], port, {});
    await signIn(origin, 'Sign in with Chain Metrics');
    await authorize();
    expect(await page.textContent('body')).toBe(`Signed in as ${user.username} ${user.email}`);
  });

  test.runIf(canInstall(...PYTHON))('Authlib in Flask', async () => {
    const { port, origin, env, addresses } = await register('/callback');
    const program = writeProgram(directory.path, ['python', 'flask'], 'app.py', addresses);
    await using _ = await startProgram(
      [keptPython(PYTHON[0]), '-m', 'flask', '--app', program, 'run', '--port', String(port)],
      port,
      { ...env, SESSION_SECRET: 'a secret of this test' },
    );
    await signIn(origin, 'Sign in');
    await authorize();
  });

  test.runIf(canBuildGo())('go-oidc, also when the keys are replaced while it runs', async () => {
    const { port, origin, env, addresses } = await register('/callback');
    const source = join(directory.path, 'go');
    mkdirSync(source);
    writeProgram(source, ['go', 'program'], 'main.go', addresses);
    for (const name of ['go.mod', 'go.sum'])
      copyFileSync(join(import.meta.dirname, name), join(source, name));
    await using _ = await startProgram([buildGo(source)], port, env);
    await signIn(`${origin}/sign-in`);
    await authorize();
    await new SigningKeys(world.accounts).rotate({ revoke: true });
    await page.goto(`${origin}/sign-in`);
    await page.getByText(`Signed in as ${user.username}`).waitFor();
  });
});
