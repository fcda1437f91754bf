/// <reference path="./untyped.d.ts" />
import { readFileSync } from 'node:fs';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { guideFile } from '../../../../../serve/guides/guides.ts';
import { guideBlocks } from '../../../../support/guide-blocks.ts';
import { hiddenFields } from '../../../accounts/browser.ts';
import { openWorld, type World } from '../../../accounts/world.ts';
import { allow } from '../../oauth/clients/person.ts';
import { type Party, party } from '../../oauth/flow.ts';
import { programDirectory, writeProgram } from './guide-applications.ts';

const SCOPES = ['openid', 'profile', 'email'];
const SCOPE = SCOPES.join(' ');
const REDIRECT_URI = 'http://localhost:8080/callback';

const directory = programDirectory();
let world: World;
let issuer: string;
beforeAll(async () => {
  world = await openWorld();
  issuer = await world.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await world.close();
  directory[Symbol.dispose]();
});

const register = (more: Parameters<typeof party>[1] = {}): Promise<Party> =>
  party(world, { redirect_uris: REDIRECT_URI, scopes: SCOPES, ...more });

const configOf = ({ application, secret }: Party): Promise<client.Configuration> =>
  client.discovery(new URL(issuer), application.id, secret, undefined, {
    execute: [client.allowInsecureRequests],
  });

interface Request {
  readonly url: URL;
  readonly checks: Required<
    Pick<client.AuthorizationCodeGrantChecks, 'pkceCodeVerifier' | 'expectedState' | 'expectedNonce'>
  >;
}

async function requestOf(config: client.Configuration, more: Record<string, string> = {}): Promise<Request> {
  const checks = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedState: client.randomState(),
    expectedNonce: client.randomNonce(),
  };
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
    ...more,
  });
  return { url, checks };
}

const decode = (part = ''): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
const headerOf = (token = '') => decode(token.split('.')[0]);
const claimsOf = (token = '') => decode(token.split('.')[1]);

describe('openid-client', () => {
  test.each(['RS256', 'ES256'] as const)('%s: code, max_age, userinfo, refresh, prompt=none', async (alg) => {
    const the = await register({ id_token_alg: alg });
    const config = await configOf(the);
    // Verifies signatures, too, which it leaves to TLS by default.
    client.enableNonRepudiationChecks(config);
    const { url, checks } = await requestOf(config, { max_age: '3600' });
    const tokens = await client.authorizationCodeGrant(config, await allow(the, url), {
      ...checks,
      maxAge: 3600,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    expect(headerOf(tokens.id_token)).toMatchObject({ alg });
    expect(claims).toMatchObject({
      sub: the.user.id,
      preferred_username: the.user.username,
      email: the.user.email,
      email_verified: false,
      amr: ['pwd'],
    });
    const info = await client.fetchUserInfo(config, tokens.access_token, the.user.id);
    expect(claims).toMatchObject(info);

    const next = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
    const stays = ['iss', 'sub', 'aud', 'auth_time'] as const;
    expect(stays.map((name) => next.claims()?.[name])).toEqual(stays.map((name) => claims?.[name]));
    expect(next.claims()).not.toHaveProperty('nonce');

    const silent = await requestOf(config, { prompt: 'none' });
    const again = await client.authorizationCodeGrant(config, await allow(the, silent.url), silent.checks);
    expect(again.claims()?.sub).toBe(the.user.id);
  });

  test('refuses the code of another sign-in by its nonce, though state and verifier are right', async () => {
    const the = await register();
    const config = await configOf(the);
    const { url, checks } = await requestOf(config);
    const stolen = await requestOf(config, { state: String(checks.expectedState) });
    stolen.url.searchParams.set('code_challenge', url.searchParams.get('code_challenge') ?? '');
    const answer = await allow(the, stolen.url);
    await expect(client.authorizationCodeGrant(config, answer, checks)).rejects.toMatchObject({
      cause: { message: 'unexpected ID Token "nonce" claim value' },
    });
  });

  test('reads an error response', async () => {
    const the = await register();
    const config = await configOf(the);
    const { url, checks } = await requestOf(config, { prompt: 'none' });
    await expect(client.authorizationCodeGrant(config, await allow(the, url), checks)).rejects.toMatchObject({
      error: 'consent_required',
    });
  });

  test('takes a code that a page posts', async () => {
    const the = await register();
    const config = await configOf(the);
    const { url, checks } = await requestOf(config, { response_mode: 'form_post' });
    const consent = await the.browser.get(url.pathname + url.search);
    const page = await the.browser.post('/oauth/authorize', {
      ...hiddenFields(consent.body, '/oauth/authorize'),
      decision: 'allow',
    });
    const posted = new Request(REDIRECT_URI, {
      method: 'POST',
      body: new URLSearchParams(hiddenFields(page.body, REDIRECT_URI)),
    });
    const tokens = await client.authorizationCodeGrant(config, posted, checks);
    expect(tokens.claims()?.sub).toBe(the.user.id);
  });
});

test('the guide explains the errors that openid-client shows', async () => {
  const { application, secret } = await register();
  const insecure = { execute: [client.allowInsecureRequests] };
  const messageOf = (failing: Promise<unknown>): Promise<string> =>
    failing.then(
      () => 'no error',
      ({ message }: Error) => message,
    );
  const otherHost = new URL(issuer.replace('127.0.0.1', 'localhost'));
  const messages = [
    await messageOf(client.discovery(otherHost, application.id, secret, undefined, insecure)),
    await messageOf(client.discovery(new URL(issuer), application.id, secret)),
  ];
  const text = readFileSync(guideFile('sign-in'), 'utf8');
  expect(messages.filter((message) => !text.includes(`\`${message}\``))).toEqual([]);
});

test('passport-openidconnect signs a user in', async () => {
  const the = await register();
  vi.stubEnv('CLIENT_ID', the.application.id);
  vi.stubEnv('CLIENT_SECRET', the.secret);
  const path = writeProgram(directory.path, ['js', 'passport'], 'passport.mjs', {
    'http://localhost:3000': issuer,
  });
  const { strategy } = await import(path);
  vi.unstubAllEnvs();
  const session = {};
  const step = (url: string, query: object) =>
    new Promise<{ redirect?: string; user?: { id: string; username: string } }>((done, failed) => {
      const answering = Object.assign(Object.create(strategy), {
        redirect: (redirect: string) => done({ redirect }),
        success: (user: { id: string; username: string }) => done({ user }),
        fail: (why: unknown) => failed(new Error(JSON.stringify(why))),
        error: failed,
      });
      answering.authenticate({ url, query, session, headers: {}, connection: {} });
    });
  const { redirect = '' } = await step('/sign-in', {});
  const back = await allow(the, redirect);
  const { user } = await step(back.pathname, Object.fromEntries(back.searchParams));
  expect(user).toMatchObject({ id: the.user.id, username: the.user.username });
});

/** The requests that Grafana 12 makes with the settings of the guide, in its order. */
test('Grafana signs a user in, refreshes and signs out', async () => {
  const the = await register({
    redirect_uris: 'http://localhost:8080/login/generic_oauth',
    post_logout_redirect_uris: 'http://localhost:8080/login',
  });
  const settings = grafanaSettings(the);
  const verifier = `${'v'.repeat(64)}${'-'.repeat(64)}`;
  const address = new URL(settings.auth_url as string);
  address.search = new URLSearchParams({
    client_id: settings.client_id as string,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    redirect_uri: the.callback,
    response_type: 'code',
    scope: settings.scopes as string,
    state: `${'s'.repeat(43)}=`,
  }).toString();
  const back = await allow(the, address);
  expect(back.searchParams.get('state')).toBe(`${'s'.repeat(43)}=`);
  const exchange = async (fields: Record<string, string>) => {
    const answer = await fetch(settings.token_url as string, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${settings.client_id}:${settings.client_secret}`).toString('base64')}`,
      },
      body: new URLSearchParams(fields),
    });
    expect(answer.status, await answer.clone().text()).toBe(200);
    return (await answer.json()) as Record<string, string>;
  };
  const tokens = await exchange({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    redirect_uri: the.callback,
    code_verifier: verifier,
  });
  const info = await fetch(settings.api_url as string, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  });
  // It takes each from the ID token or else from the API; a user without an email address is refused.
  for (const source of [claimsOf(tokens.id_token), (await info.json()) as Record<string, unknown>]) {
    expect([source.sub, source.name, source[settings.login_attribute_path as string], source.email]).toEqual([
      ...[the.user.id, the.user.name, the.user.username, the.user.email],
    ]);
  }
  const next = await exchange({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token as string });
  const out = new URL(settings.signout_redirect_url as string);
  out.searchParams.set('id_token_hint', next.id_token as string);
  const left = await the.browser.submit(out.pathname + out.search, '/oauth/logout/confirm', {});
  expect([left.statusCode, left.headers.location]).toEqual([303, 'http://localhost:8080/login']);
});

function grafanaSettings({ application, secret }: Party): Record<string, string> {
  const [block = ''] = guideBlocks('sign-in', 'grafana', 'ini');
  const text = block
    .replaceAll('http://localhost:3000', issuer)
    .replaceAll('CLIENT_ID', application.id)
    .replaceAll('CLIENT_SECRET', secret);
  return Object.fromEntries([...text.matchAll(/^(\w+) = (.*)$/gm)].map(([, name, value]) => [name, value]));
}
