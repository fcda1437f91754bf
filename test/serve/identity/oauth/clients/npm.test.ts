/// <reference path="./untyped.d.ts" />
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import OAuth2Strategy from 'passport-oauth2';
import { AuthorizationCode, ResourceOwnerPassword } from 'simple-oauth2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, PASSWORD, type World } from '../../../accounts/world.ts';
import { isActive, type Party, party } from '../flow.ts';
import { allow } from './person.ts';

let world: World;
let origin: string;
let the: Party;
let open: Party;
beforeAll(async () => {
  world = await openWorld();
  origin = await world.app.listen({ host: '127.0.0.1', port: 0 });
  the = await party(world);
  open = await party(world, { is_confidential: false, redirect_uris: 'http://127.0.0.1/callback' });
});
afterAll(() => world.close());

const AUTHENTICATION = {
  ClientSecretBasic: oauth.ClientSecretBasic,
  ClientSecretPost: oauth.ClientSecretPost,
  None: () => oauth.None(),
} as const;

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };

  test.each(['ClientSecretBasic', 'ClientSecretPost', 'None'] as const)(
    '%s: discovery, PKCE, state, iss, userinfo, refresh, introspection, revocation',
    async (method) => {
      const who = method === 'None' ? open : the;
      const issuer = new URL(origin);
      const as = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
      );
      const own: oauth.Client = { client_id: who.application.id };
      const auth = AUTHENTICATION[method](who.secret);
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const redirectUri = method === 'None' ? 'http://127.0.0.1:49152/callback' : who.callback;
      const address = new URL(as.authorization_endpoint as string);
      address.search = new URLSearchParams({
        client_id: own.client_id,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: 'openid email',
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).toString();
      // It throws when `iss` is missing or another one, since discovery promises it.
      const parameters = oauth.validateAuthResponse(as, own, await allow(who, address), state);
      const answer = await oauth.authorizationCodeGrantRequest(
        as,
        own,
        auth,
        parameters,
        redirectUri,
        verifier,
        insecure,
      );
      const pair = await oauth.processAuthorizationCodeResponse(as, own, answer);
      const info = await oauth.processUserInfoResponse(
        as,
        own,
        oauth.skipSubjectCheck,
        await oauth.userInfoRequest(as, own, pair.access_token, insecure),
      );
      expect(info).toMatchObject({ sub: who.user.id, email: who.user.email });
      const next = await oauth.processRefreshTokenResponse(
        as,
        own,
        await oauth.refreshTokenGrantRequest(as, own, auth, pair.refresh_token ?? '', insecure),
      );
      if (method !== 'None') {
        const told = await oauth.processIntrospectionResponse(
          as,
          own,
          await oauth.introspectionRequest(as, own, auth, next.access_token, insecure),
        );
        expect(told).toMatchObject({ active: true, scope: 'openid email' });
      }
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(as, own, auth, next.refresh_token ?? '', insecure),
      );
      expect(await isActive(world, next.access_token)).toBe(false);
    },
  );

  test('reads the error code of an error response', async () => {
    const as: oauth.AuthorizationServer = { issuer: origin, token_endpoint: `${origin}/oauth/token` };
    const own = { client_id: the.application.id };
    const answer = await oauth.refreshTokenGrantRequest(
      as,
      own,
      oauth.ClientSecretPost(the.secret),
      'nonsense',
      insecure,
    );
    await expect(oauth.processRefreshTokenResponse(as, own, answer)).rejects.toMatchObject({
      error: 'invalid_grant',
      status: 400,
    });
  });
});

describe('openid-client', () => {
  test('discovery, PKCE, userinfo, refresh, introspection, revocation', async () => {
    const config = await client.discovery(new URL(origin), the.application.id, the.secret, undefined, {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    });
    const verifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const address = client.buildAuthorizationUrl(config, {
      redirect_uri: the.callback,
      scope: 'openid email',
      state,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const pair = await client.authorizationCodeGrant(config, await allow(the, address), {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    expect(pair.expiresIn()).toBeGreaterThan(7100);
    expect(await client.fetchUserInfo(config, pair.access_token, the.user.id)).toMatchObject({
      nickname: the.user.username,
    });
    const next = await client.refreshTokenGrant(config, pair.refresh_token ?? '');
    expect((await client.tokenIntrospection(config, next.access_token)).active).toBe(true);
    await client.tokenRevocation(config, next.access_token);
    expect((await client.tokenIntrospection(config, next.access_token)).active).toBe(false);
    await expect(client.refreshTokenGrant(config, next.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });
});

describe('simple-oauth2', () => {
  const optionsOf = (more: object = {}) => ({
    client: { id: the.application.id, secret: the.secret },
    auth: {
      tokenHost: origin,
      tokenPath: '/oauth/token',
      revokePath: '/oauth/revoke',
      authorizePath: '/oauth/authorize',
    },
    ...more,
  });

  test.each([
    ['the header, strictly encoded', {}],
    ['the header, loosely encoded', { options: { credentialsEncodingMode: 'loose' } }],
    ['the body', { options: { authorizationMethod: 'body' } }],
  ])('credentials in %s', async (_, more) => {
    const flow = new AuthorizationCode(optionsOf(more));
    const address = flow.authorizeURL({ redirect_uri: the.callback, scope: 'api', state: 's' });
    const code = (await allow(the, address)).searchParams.get('code');
    const token = await flow.getToken({ code, redirect_uri: the.callback });
    expect(token.expired()).toBe(false);
    const next = await token.refresh();
    expect(await isActive(world, String(next.token.access_token))).toBe(true);
    await next.revokeAll();
    expect(await isActive(world, String(next.token.access_token))).toBe(false);
  });

  test('the password grant', async () => {
    const flow = new ResourceOwnerPassword({
      client: { id: the.application.id, secret: the.secret },
      auth: { tokenHost: origin, tokenPath: '/oauth/token' },
    });
    const { token } = await flow.getToken({ username: the.user.username, password: PASSWORD, scope: 'api' });
    expect(await isActive(world, String(token.access_token))).toBe(true);
  });
});

describe('passport-oauth2', () => {
  test('signs in a user with PKCE and state', async () => {
    const session: Record<string, unknown> = {};
    const options = {
      authorizationURL: `${origin}/oauth/authorize`,
      tokenURL: `${origin}/oauth/token`,
      clientID: the.application.id,
      clientSecret: the.secret,
      callbackURL: the.callback,
      scope: ['read_user'],
      scopeSeparator: ' ',
      state: true,
      pkce: true,
    };
    const verify = (
      accessToken: string,
      _refresh: string,
      _profile: object,
      done: (error: null, user: object) => void,
    ) => done(null, { accessToken });
    const step = (url: string, query: object) =>
      new Promise<{ redirect?: string; user?: { accessToken: string } }>((done, failed) => {
        const strategy = Object.assign(new OAuth2Strategy(options, verify as never), {
          redirect: (to: string) => done({ redirect: to }),
          success: (user: { accessToken: string }) => done({ user }),
          fail: (why: unknown) => failed(new Error(JSON.stringify(why))),
          error: failed,
        });
        strategy.userProfile = (_token, end) => end(null, {});
        strategy.authenticate({ url, query, session, headers: {}, connection: {} });
      });
    const { redirect = '' } = await step('/sign-in', {});
    const back = await allow(the, redirect);
    const { user } = await step(back.pathname, Object.fromEntries(back.searchParams));
    const answer = await fetch(`${origin}/api/v4/user`, {
      headers: { authorization: `Bearer ${user?.accessToken}` },
    });
    expect(await answer.json()).toMatchObject({ username: the.user.username });
  });
});

test('a page of another origin can exchange its code (CORS)', async () => {
  const page = createServer((_request, response) => response.end());
  await new Promise<void>((done) => page.listen(0, '127.0.0.1', done));
  const from = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
  const preflight = await fetch(`${origin}/oauth/token`, {
    method: 'OPTIONS',
    headers: {
      origin: from,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
  page.close();
});
