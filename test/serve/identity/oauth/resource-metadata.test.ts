import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aUser, openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { bearer, post } from './flow.ts';

const ISSUER = 'https://metrics.example';
const API = `${ISSUER}/api`;
const MCP = 'https://mcp.example';
const METADATA = `${ISSUER}/.well-known/oauth-protected-resource/api`;

let world: World;
let username: string;
beforeAll(async () => {
  world = await openWorld({ PUBLIC_URL: ISSUER, OAUTH_RESOURCES: MCP, KEY_CACHE_SECONDS: '60' });
  ({ username } = await aUser(world));
});
afterAll(() => world.close());

type Headers = Record<string, string>;
const get = (url: string, headers: Headers = {}, at = world) => at.app.inject({ url, headers });

/** An access token with these resources. */
async function tokenFor(resources: readonly string[], scope = 'api'): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'password', username, password: PASSWORD, scope });
  for (const resource of resources) form.append('resource', resource);
  const answer = await world.app.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: form.toString(),
  });
  return answer.json().access_token;
}

const password = (token: string, user = 'oauth2') => ({
  authorization: `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`,
});
const clone = (token: string) => ({
  ...password(token),
  'x-original-uri': '/a/b.git/info/refs?service=git-upload-pack',
});

/** Every endpoint that takes an access token, with the answer to a valid one. */
const API_CALLS: [string, string, (token: string) => Headers, number][] = [
  ['the metrics API', '/api/daily-tps?chain=polkadot', bearer, 200],
  ['the catalogue', '/api/metrics', bearer, 200],
  ['the alerts API', '/api/v4/projects', bearer, 200],
  ['the user', '/api/v4/user', bearer, 200],
  ['Alertmanager’s API', '/alertmanager/1/api/v2/silences', bearer, 404],
  [
    'Alertmanager’s API by a password',
    '/alertmanager/1/api/v2/silences',
    (token) => password(token, 'x'),
    404,
  ],
];

describe('the audience of a token', () => {
  describe.each(API_CALLS)('at %s', (_what, url, headers, status) => {
    test.each([
      ['none', []],
      ['our API', [API]],
      ['our API and another', [MCP, API]],
    ])('%s is accepted', async (_audience, resources) => {
      const token = await tokenFor(resources);
      // The second answer comes from the cache of verified callers, where there is one.
      for (const _ of [1, 2]) expect((await get(url, headers(token))).statusCode).toBe(status);
    });

    test('another is 401 invalid_token, however often it comes', async () => {
      const token = await tokenFor([MCP]);
      for (const _ of [1, 2, 3]) {
        const answer = await get(url, headers(token));
        expect(answer.statusCode).toBe(401);
        expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
        expect(answer.headers['www-authenticate']).toContain('The token is for another resource.');
      }
      const inQuery = `${url}${url.includes('?') ? '&' : '?'}access_token=${token}`;
      if (url.startsWith('/api/')) expect((await get(inQuery)).statusCode).toBe(401);
    });
  });

  test('Git over HTTPS accepts the tokens of our API only', async () => {
    const ask = async (resources: string[]) =>
      (await get('/oauth/git', clone(await tokenFor(resources, 'read_repository')))).statusCode;
    expect([await ask([]), await ask([API]), await ask([MCP])]).toEqual([200, 200, 401]);
  });

  test('what tells about tokens and their user takes any', async () => {
    const token = await tokenFor([MCP], 'openid');
    expect((await get('/oauth/userinfo', bearer(token))).statusCode).toBe(200);
    expect((await post(world, '/oauth/userinfo', { access_token: token })).statusCode).toBe(200);
    expect((await get('/oauth/token/info', bearer(token))).statusCode).toBe(200);
  });
});

describe('a refusal (RFC 9728 §5.1)', () => {
  const [publicCalls, signedInCalls] = [API_CALLS.slice(0, 2), API_CALLS.slice(2, 5)];

  test.each(signedInCalls)('without a token names the metadata: %s', async (_what, url) => {
    const answer = await get(url, { host: 'evil.example', 'x-forwarded-host': 'evil.example' });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toContain(
      `Bearer realm="Chain Metrics", resource_metadata="${METADATA}"`,
    );
  });

  test.each([...publicCalls, ...signedInCalls])('of a wrong token names it, too: %s', async (_what, url) => {
    const answer = await get(url, { ...bearer('cma_wrong'), host: 'evil.example' });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/Bearer .*error="invalid_token"/);
    expect(answer.headers['www-authenticate']).toContain(`resource_metadata="${METADATA}"`);
  });

  test('at the metrics API can be read by pages of other origins', async () => {
    const answer = await get('/api/daily-tps', bearer('cma_wrong'));
    expect(answer.headers['access-control-expose-headers']).toContain('WWW-Authenticate');
  });

  test('Alertmanager’s clients learn first that they may send a password', async () => {
    const answer = await get('/alertmanager/1/api/v2/silences');
    expect(answer.headers['www-authenticate']).toMatch(/^Basic realm="Chain Metrics", Bearer /);
  });

  test('does not name the metadata where tokens of every audience, or keys, are taken', async () => {
    const answers = [
      await get('/oauth/userinfo'),
      await get('/oauth/token/info'),
      await get('/oauth/git'),
      await post(world, '/alerts/notify', {}),
    ];
    for (const { headers } of answers) {
      expect(String(headers['www-authenticate'])).not.toContain('resource_metadata');
    }
  });
});

describe('the metadata (RFC 9728 §3)', () => {
  test.each(['/api', ''])('at …/oauth-protected-resource%s', async (suffix) => {
    const answer = await get(`/.well-known/oauth-protected-resource${suffix}`, { host: 'evil.example' });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(answer.json()).toEqual({
      resource: API,
      authorization_servers: [ISSUER],
      scopes_supported: ['api', 'read_user'],
      bearer_methods_supported: ['header', 'query'],
      resource_name: 'Chain Metrics API',
      resource_documentation: `${ISSUER}/docs`,
    });
  });

  test('is that of no other resource', async () => {
    for (const path of ['/api/v4', '/oauth', '/api/']) {
      expect((await get(`/.well-known/oauth-protected-resource${path}`)).statusCode, path).toBe(404);
    }
  });

  test('without PUBLIC_URL names the address that the server listens on, not the Host header', async () => {
    await using local = await world.beside({ KEY_CACHE_SECONDS: '0' });
    const base = await local.app.listen({ port: 0, host: '127.0.0.1' });
    const url = `${base}/api/v4/user`;
    const { headers } = await fetch(url, { headers: { 'x-forwarded-host': 'evil.example' } });
    const metadata = `${base}/.well-known/oauth-protected-resource/api`;
    expect(headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`);
    expect(await (await fetch(metadata)).json()).toMatchObject({
      resource: `${base}/api`,
      authorization_servers: [base],
    });
  });
});
