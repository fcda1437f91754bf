import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createKey } from '../../../../serve/accounts/keys.ts';
import type { Fields } from '../../accounts/browser.ts';
import { anApplication, aUser, openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import {
  aCode,
  aPair,
  authorizeUrl,
  bearer,
  decide,
  exchangeOf,
  type Party,
  party,
  post,
  refreshOf,
  refusal,
} from './flow.ts';

// An API of another server gets tokens of users from applications. It may be hostile, and so may an application.
const ISSUER = 'https://metrics.example';
const API = `${ISSUER}/api`;
const MCP = 'https://mcp.example';
const REPORTS = 'https://reports.example';
const SETTINGS = { PUBLIC_URL: ISSUER, OAUTH_RESOURCES: `${MCP},${REPORTS}`, KEY_CACHE_SECONDS: '60' };

let world: World;
let the: Party;
/** The credentials with which the APIs of other servers introspect. */
let server: Record<string, string>;
beforeAll(async () => {
  world = await openWorld(SETTINGS);
  the = await party(world);
  const { application, secret } = await anApplication(world, await aUser(world));
  server = { client_id: application.id, client_secret: secret };
});
afterAll(() => world.close());

const introspect = async (token: string, at = world) =>
  (await post(at, '/oauth/introspect', { ...server, token })).json();

/** What the guide tells an API of another server to check. */
async function accepts(uri: string, token: string, at = world): Promise<boolean> {
  const { active, aud = [] } = await introspect(token, at);
  return active && aud.includes(uri);
}

const callApi = async (token: string, at = world) =>
  (await at.app.inject({ url: '/api/daily-tps', headers: bearer(token) })).statusCode;

const ask = (fields: Fields, at = world) => post(at, '/oauth/token', fields);

describe('a token is accepted by the resources that it names only', () => {
  test.each<[string, string[], { mcp: boolean; reports: boolean; api: number }]>([
    ['none', [], { mcp: false, reports: false, api: 200 }],
    ['our API', [API], { mcp: false, reports: false, api: 200 }],
    ['one other', [MCP], { mcp: true, reports: false, api: 401 }],
    ['two others', [MCP, REPORTS], { mcp: true, reports: true, api: 401 }],
    ['our API and another', [API, MCP], { mcp: true, reports: false, api: 200 }],
  ])('%s', async (_what, resource, expected) => {
    const { access_token } = await aPair(the, { resource });
    const found = {
      mcp: await accepts(MCP, access_token),
      reports: await accepts(REPORTS, access_token),
      api: await callApi(access_token),
    };
    expect(found).toEqual(expected);
  });

  test('a personal access token and an API key are for no API of another server', async () => {
    const options = { name: 'a token', scopes: ['api'], expires_ms: 0 } as const;
    for (const kind of ['personal', 'key'] as const) {
      const { text } = await createKey(world.accounts, the.user, kind, options);
      expect(await introspect(text)).toEqual({ active: false });
      expect(await callApi(text)).toBe(200);
    }
  });

  test('introspection tells another server whose token it is, and of which application, if any', async () => {
    const { access_token } = await aPair(the, { resource: MCP, scope: 'read_user' });
    expect(await introspect(access_token)).toMatchObject({
      active: true,
      scope: 'read_user',
      client_id: the.application.id,
      sub: the.user.id,
      aud: [MCP],
    });
    const fields = { grant_type: 'password', username: the.user.username, password: PASSWORD, resource: MCP };
    const told = await introspect((await ask(fields)).json().access_token);
    expect(told).toMatchObject({ active: true, sub: the.user.id, aud: [MCP] });
    expect(told).not.toHaveProperty('client_id');
  });
});

describe('an API of another server with the token of a user', () => {
  test('cannot use it here, revoke it or learn of its refresh token', async () => {
    const pair = await aPair(the, { resource: MCP });
    expect(await callApi(pair.access_token)).toBe(401);
    const revoked = await post(world, '/oauth/revoke', { ...server, token: pair.access_token });
    expect(revoked.statusCode).toBe(403);
    expect(await introspect(pair.refresh_token)).toEqual({ active: false });
    expect(await accepts(MCP, pair.access_token)).toBe(true);
  });

  test('learns nothing without a secret', async () => {
    const open = await party(world, { is_confidential: false });
    const { access_token } = await aPair(the, { resource: MCP });
    const fields = { client_id: open.application.id, token: access_token };
    expect((await post(world, '/oauth/introspect', fields)).statusCode).toBe(401);
  });
});

describe('an application cannot widen what the user authorized', () => {
  test('by the code', async () => {
    const code = await aCode(the, { resource: MCP });
    for (const resource of [API, REPORTS, [MCP, API]]) {
      const answer = await ask({ ...exchangeOf(the, code), resource });
      expect([answer.statusCode, answer.json()]).toEqual([400, refusal('invalid_target')]);
    }
    expect((await ask({ ...exchangeOf(the, code), resource: MCP })).statusCode).toBe(200);
  });

  test('by a refresh: a subset may be named each time, and nothing beyond', async () => {
    const { refresh_token } = await aPair(the, { resource: [MCP, REPORTS] });
    const beyond = await ask({ ...refreshOf(the, refresh_token), resource: API });
    expect(beyond.json()).toEqual(refusal('invalid_target'));
    const one = (await ask({ ...refreshOf(the, refresh_token), resource: MCP })).json();
    expect((await introspect(one.access_token)).aud).toEqual([MCP]);
    const all = (await ask(refreshOf(the, one.refresh_token))).json();
    expect((await introspect(all.access_token)).aud).toEqual([MCP, REPORTS]);
  });

  test('by an earlier consent: the user is asked about each new resource', async () => {
    const asking = await party(world);
    await aPair(asking);
    expect((await decide(asking, { resource: API }, '')).headers.location).toContain('code=');
    const page = await asking.browser.get(authorizeUrl(asking, { resource: MCP, prompt: 'none' }));
    expect(page.headers.location).toContain('consent_required');
  });
});

describe('the cache of verified callers', () => {
  test('knows a token, not its authorization: the next one may have another audience', async () => {
    const first = await aPair(the, { resource: [API, MCP] });
    expect([await callApi(first.access_token), await callApi(first.access_token)]).toEqual([200, 200]);
    const other = (await ask({ ...refreshOf(the, first.refresh_token), resource: MCP })).json();
    expect(await callApi(other.access_token)).toBe(401);
    expect(await callApi(first.access_token)).toBe(401);
    const back = (await ask({ ...refreshOf(the, other.refresh_token), resource: API })).json();
    expect([await callApi(back.access_token), await callApi(other.access_token)]).toEqual([200, 401]);
  });
});

describe('when the operator takes a resource away', () => {
  test('its tokens are inactive at once, and none gets another audience instead', async () => {
    const code = await aCode(the, { resource: MCP });
    const { access_token, refresh_token } = await aPair(the, { resource: MCP });
    const both = await aPair(the, { resource: [MCP, REPORTS] });
    await using fewer = await world.beside({ ...SETTINGS, OAUTH_RESOURCES: REPORTS });
    expect(await introspect(access_token, fewer)).toEqual({ active: false });
    for (const fields of [exchangeOf(the, code), refreshOf(the, refresh_token)]) {
      expect((await ask(fields, fewer)).json()).toEqual(refusal('invalid_target'));
    }
    const left = (await ask(refreshOf(the, both.refresh_token), fewer)).json();
    expect((await introspect(left.access_token, fewer)).aud).toEqual([REPORTS]);
  });

  test('a new PUBLIC_URL refuses tokens that name the old one', async () => {
    const { access_token } = await aPair(the, { resource: API });
    const { access_token: without } = await aPair(the);
    await using moved = await world.beside({ ...SETTINGS, PUBLIC_URL: 'https://new.example' });
    expect([await callApi(access_token, moved), await callApi(without, moved)]).toEqual([401, 200]);
  });
});
