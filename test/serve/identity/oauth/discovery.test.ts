import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../accounts/world.ts';
import { post, refusal } from './flow.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const get = (url: string, headers: Record<string, string> = {}) => world.app.inject({ url, headers });

describe('discovery (RFC 8414 §3, OpenID Connect Discovery §3)', () => {
  test('lists the capabilities, and each listed endpoint exists', async () => {
    const told = (await get('/.well-known/oauth-authorization-server')).json();
    expect(told).toMatchObject({
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'password'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: [
        'api',
        'read_user',
        'profile',
        'read_repository',
        'write_repository',
        'openid',
        'email',
      ],
    });
    const endpoints = Object.entries<string>(told).filter(([key]) => /_endpoint$|^jwks_uri$/.test(key));
    for (const [name, value] of endpoints) {
      expect(value.startsWith(told.issuer), name).toBe(true);
      const { pathname } = new URL(value);
      const method = /authorize|userinfo|keys|logout/.test(pathname) ? 'GET' : 'POST';
      expect((await world.app.inject({ method, url: pathname })).statusCode, name).not.toBe(404);
    }
  });

  test('is one document for OAuth and OpenID Connect, without null', async () => {
    const answers = [
      await get('/.well-known/oauth-authorization-server'),
      await get('/.well-known/openid-configuration'),
    ];
    expect(answers[0]?.body).toBe(answers[1]?.body);
    expect(answers[0]?.body).not.toContain('null');
  });
});

describe('cross-origin requests', () => {
  const METHODS: Record<string, string> = {
    '/oauth/token': 'POST',
    '/oauth/revoke': 'POST',
    '/oauth/userinfo': 'GET, HEAD, POST',
    '/.well-known/openid-configuration': 'GET, HEAD',
    '/.well-known/oauth-authorization-server': 'GET, HEAD',
    '/oauth/discovery/keys': 'GET, HEAD',
    '/.well-known/oauth-protected-resource': 'GET, HEAD',
    '/.well-known/oauth-protected-resource/api': 'GET, HEAD',
  };
  const preflight = (url: string, wanted?: string) =>
    world.app.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin: 'https://client.example',
        'access-control-request-method': 'POST',
        ...(wanted === undefined ? {} : { 'access-control-request-headers': wanted }),
      },
    });

  test.each(Object.entries(METHODS))('%s answers a preflight with %s', async (url, methods) => {
    const answer = await preflight(url, 'Authorization, X-Requested-With');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toBe(methods);
    expect(answer.headers['access-control-allow-headers']).toBe('Authorization');
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    expect(
      (await preflight(url, 'X-Requested-With')).headers['access-control-allow-headers'],
    ).toBeUndefined();
    expect((await preflight(url)).headers['access-control-allow-headers']).toBeUndefined();
  });

  test('responses and errors can be read by every origin, without cookies', async () => {
    const coded = await post(world, '/oauth/token', {}, { 'content-encoding': 'gzip' });
    expect(coded.statusCode).toBe(415);
    for (const answer of [coded, await post(world, '/oauth/token', {}), await get('/oauth/userinfo')]) {
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  test.each([
    '/oauth/authorize',
    '/oauth/token/info',
    '/oauth/introspect',
    '/oauth/git',
    '/api/v4/user',
    '/api/v4/projects',
    '/sign-in',
    '/profile/keys',
    '/docs/',
    '/health/ready',
    '/metrics',
    '/nothing/here',
  ])('%s allows no other origin, whatever a preflight asks', async (url) => {
    const answers = [await get(url, { origin: 'https://client.example' }), await preflight(url)];
    for (const { headers } of answers) {
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test.each(['/api/daily-tps', '/api/status', '/api/coverage'])(
    '%s may be read from every origin, without cookies',
    async (url) => {
      const answer = await preflight(url, 'Authorization');
      expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([204, '*']);
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      const read = await get(url, { origin: 'https://client.example' });
      expect(read.headers['access-control-allow-origin']).toBe('*');
    },
  );

  test('what is refused below /api before a route is found can be read, too', async () => {
    const refused = [
      [404, await get('/api/nothing')],
      [400, await get('/api/daily-tps/%zz')],
      [400, await get('/api/daily-tps', { host: 'a b' })],
      [415, await get('/api/daily-tps', { 'content-encoding': 'gzip' })],
    ] as const;
    for (const [status, { statusCode, headers }] of refused) {
      expect([statusCode, headers['access-control-allow-origin']]).toEqual([status, '*']);
    }
    for (const url of ['/api/v4/%zz', '/api/v4/nothing', '/api/v4', '/api/v4?page=1', '/oauth/%zz', '/%zz']) {
      expect((await get(url)).headers['access-control-allow-origin'], url).toBeUndefined();
    }
  });
});

describe('limits', () => {
  test('too many requests of one address are refused with Retry-After, as an OAuth error', async () => {
    await using busy = await world.beside({ OAUTH_PER_MINUTE: '2' });
    const ask = () => post(busy, '/oauth/token', { grant_type: 'password' });
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([400, 400, 429]);
    expect(answers[2]?.json()).toEqual(refusal('temporarily_unavailable'));
    expect(Number(answers[2]?.headers['retry-after'])).toBeGreaterThan(0);
  });
});
