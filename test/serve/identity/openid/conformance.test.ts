import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../accounts/world.ts';
import {
  answerOf,
  aPair,
  bearer,
  decide,
  exchangeOf,
  type Pair,
  type Party,
  party,
  post,
  refreshOf,
} from '../oauth/flow.ts';
import { publishedKeys, verified } from './verify.ts';

// The rules of the profiles Config OP and Basic OP of OpenID Certification about the metadata, the keys and ID tokens.

const ISSUER = 'https://id.example';

let world: World;
/** The same service behind a public address. */
let publicWorld: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  publicWorld = await world.beside({ PUBLIC_URL: `${ISSUER}/` });
  the = await party(publicWorld, { scopes: ['openid', 'profile', 'email'] });
});
afterAll(async () => {
  await publicWorld.close();
  await world.close();
});

const get = (url: string, headers: Record<string, string> = {}) => publicWorld.app.inject({ url, headers });
const configuration = async () => (await get('/.well-known/openid-configuration')).json();

interface Tokens extends Pair {
  readonly id_token: string;
}
const tokens = async (more: Record<string, string> = {}) =>
  (await aPair(the, { scope: 'openid', ...more })) as Tokens;
const claimsOf = async ({ id_token }: Tokens) =>
  (await verified(publicWorld, id_token, the.application.id)).payload;

describe('Config OP', () => {
  test('the configuration is JSON at the well-known path below the issuer', async () => {
    const answer = await get('/.well-known/openid-configuration');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.json().issuer).toBe(ISSUER);
  });

  test('has all required members, and no member without a value', async () => {
    const told = await configuration();
    expect(Object.keys(told)).toEqual(
      expect.arrayContaining([
        'issuer',
        'authorization_endpoint',
        'token_endpoint',
        'userinfo_endpoint',
        'jwks_uri',
        'scopes_supported',
        'response_types_supported',
        'subject_types_supported',
        'id_token_signing_alg_values_supported',
        'claims_supported',
      ]),
    );
    for (const [name, value] of Object.entries(told)) {
      expect(value === null || value === '', name).toBe(false);
      if (!Array.isArray(value)) continue;
      expect(value.length, name).toBeGreaterThan(0);
      expect(new Set(value).size, name).toBe(value.length);
    }
    expect(told.scopes_supported).toContain('openid');
    expect(told.response_types_supported).toEqual(['code']);
    expect(told.subject_types_supported).toEqual(['public']);
    expect(told.id_token_signing_alg_values_supported).toContain('RS256');
    expect(told.id_token_signing_alg_values_supported).not.toContain('none');
    // Its default is true.
    expect(told.request_uri_parameter_supported).toBe(false);
  });

  test('every address is https, below the issuer, and without a fragment', async () => {
    const addresses = Object.entries<string>(await configuration()).filter(([name]) =>
      /_endpoint$|_uri$|^issuer$|_documentation$/.test(name),
    );
    expect(addresses.length).toBeGreaterThan(8);
    for (const [name, address] of addresses) {
      const { protocol, origin, hash, search } = new URL(address);
      expect([protocol, origin, hash, search], name).toEqual(['https:', ISSUER, '', '']);
    }
  });

  test('the keys are signature keys with an own kid each, padded nowhere, and all public', async () => {
    const answer = await get('/oauth/discovery/keys');
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.headers['cache-control']).toBe('public, max-age=3600');
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    const { keys } = await publishedKeys(publicWorld);
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(keys.length);
    expect(new Set(keys.map(({ alg }) => alg))).toEqual(new Set(['RS256', 'ES256']));
    for (const key of keys) {
      expect(key.use).toBe('sig');
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(key).not.toHaveProperty(secret);
      for (const name of ['n', 'e', 'x', 'y'] as const) expect(key[name] ?? '').toMatch(/^[A-Za-z0-9_-]*$/);
    }
  });

  test('lists the claims that ID tokens and userinfo contain', async () => {
    const given = await tokens({ scope: 'openid profile email', nonce: 'n' });
    const userinfo = await get('/oauth/userinfo', bearer(given.access_token));
    const { claims_supported } = await configuration();
    const used = new Set([...Object.keys(await claimsOf(given)), ...Object.keys(userinfo.json())]);
    expect([...used].filter((name) => !claims_supported.includes(name))).toEqual([]);
    expect(claims_supported.filter((name: string) => !used.has(name))).toEqual([]);
  });
});

describe('Basic OP: the ID token', () => {
  test('names the same issuer as the metadata, the redirect and introspection, byte for byte', async () => {
    const redirect = answerOf(await decide(the, { scope: 'openid' }));
    expect(redirect.get('iss')).toBe(ISSUER);
    const pair = await post(publicWorld, '/oauth/token', exchangeOf(the, redirect.get('code') ?? ''));
    expect((await claimsOf(pair.json())).iss).toBe(ISSUER);
    const client = { client_id: the.application.id, client_secret: the.secret };
    const state = await post(publicWorld, '/oauth/introspect', {
      ...client,
      token: pair.json().access_token,
    });
    expect([state.json().iss, state.json().sub]).toEqual([ISSUER, the.user.id]);
  });

  test('is issued now, expires later, and is for one audience', async () => {
    const given = await tokens();
    const { iat = 0, exp = 0, aud, azp } = await claimsOf(given);
    expect(Math.abs(iat - publicWorld.now() / 1000)).toBeLessThan(60);
    expect(exp).toBeGreaterThan(iat);
    expect([aud, azp]).toEqual([the.application.id, undefined]);
  });

  test.each(['n-0S6_WzA2Mj', 'a b+c&d=e%20"\\/', 'nöñçé-私-🗝', 'x'.repeat(255)])(
    'has the nonce of the request verbatim: %s',
    async (nonce) => {
      expect((await claimsOf(await tokens({ nonce }))).nonce).toBe(nonce);
    },
  );

  test('has no nonce without one in the request, and none after a refresh', async () => {
    expect(await claimsOf(await tokens())).not.toHaveProperty('nonce');
    const { refresh_token } = await tokens({ nonce: 'once' });
    const next = (await post(publicWorld, '/oauth/token', refreshOf(the, refresh_token))).json();
    expect(await claimsOf(next)).not.toHaveProperty('nonce');
  });

  test('has a subject of at most 255 ASCII characters, the same as userinfo and for every application', async () => {
    const given = await tokens();
    const { sub } = await claimsOf(given);
    expect(sub).toMatch(/^[\x20-\x7e]{1,255}$/);
    expect((await get('/oauth/userinfo', bearer(given.access_token))).json().sub).toBe(sub);
  });

  test('tells when and how the user signed in, the same for every request of the session', async () => {
    const first = await claimsOf(await tokens());
    publicWorld.advance(60_000);
    const second = await claimsOf(await tokens({ max_age: '86400' }));
    expect(second.auth_time).toBe(first.auth_time);
    expect(Number.isInteger(first.auth_time)).toBe(true);
    expect(Number(second.iat) - Number(second.auth_time)).toBeGreaterThanOrEqual(60);
    expect(first.amr).toEqual(['pwd']);
  });

  test('answers a request without interaction with the same subject and sign-in', async () => {
    const first = await claimsOf(await tokens());
    const silent = await claimsOf(await tokens({ prompt: 'none' }));
    for (const name of ['sub', 'auth_time']) expect(silent[name], name).toBe(first[name]);
  });
});
