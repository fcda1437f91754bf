import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { FieldError } from '../../../../serve/accounts/field-error.ts';
import { createApplication } from '../../../../serve/identity/oauth/applications.ts';
import { CALLBACK, openWorld, type World } from '../../accounts/world.ts';
import {
  aCode,
  aPair,
  authorizeUrl,
  bearer,
  exchangeOf,
  isActive,
  type Party,
  party,
  post,
  refusal,
} from './flow.ts';

let world: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
});
afterAll(() => world.close());

const FORM = 'application/x-www-form-urlencoded';
const send = (payload: string | Buffer, headers: Record<string, string> = {}, url = '/oauth/token') =>
  world.app.inject({ method: 'POST', url, headers: { 'content-type': FORM, ...headers }, payload });

/** The number of stored rows: a refused request must not add any. */
async function storedRows(): Promise<number> {
  const { store } = world.pipeline.runtime;
  const [row] = await store.rows<{ n: number }>(
    sql`SELECT (SELECT count() FROM ${world.accounts.grants.table}) + (SELECT count() FROM ${world.accounts.applications.table}) AS n`,
  );
  return row?.n ?? -1;
}

describe('malformed input gets the documented error, never a 500, and nothing is stored', () => {
  const bodies: [string, string | Buffer, Record<string, string>?][] = [
    ['an empty body', ''],
    ['a body without names', '====&&&&'],
    ['invalid UTF-8 bytes', Buffer.from([0x67, 0x3d, 0xff, 0xfe])],
    ['invalid percent-encoded UTF-8', 'grant_type=%ff%fe'],
    ['an overlong encoding', 'grant_type=%c0%af'],
    ['half a surrogate pair', 'grant_type=%ed%a0%80'],
    ['a broken percent sign', 'grant_type=%zz'],
    ['a zero byte', 'grant_type=password%00'],
    ['a megabyte', `grant_type=${'a'.repeat(1_048_576)}`],
    ['a value of 10 kB', `grant_type=${'a'.repeat(10_000)}`],
    ['a thousand fields', 'a=b&'.repeat(1000)],
    ['JSON', '{"grant_type":"password"}', { 'content-type': 'application/json' }],
    ['multipart', '--x\r\n\r\n--x--', { 'content-type': 'multipart/form-data; boundary=x' }],
    ['plain text', 'grant_type=password', { 'content-type': 'text/plain' }],
    ['XML', '<a/>', { 'content-type': 'text/xml' }],
    ['no content type', 'grant_type=password', { 'content-type': '' }],
    ['a prototype’s name', '__proto__=x&constructor=y&grant_type=toString'],
    ['a duplicate grant_type', 'grant_type=password&grant_type=password'],
    ['a duplicate that differs in encoding', 'grant_type=password&grant%5Ftype=password'],
  ];
  test.each(bodies)('%s at every endpoint', async (_, payload, headers = {}) => {
    const before = await storedRows();
    for (const url of ['/oauth/token', '/oauth/revoke', '/oauth/introspect', '/oauth/userinfo']) {
      const answer = await send(payload, headers, url);
      expect([url, answer.statusCode < 500, answer.statusCode >= 400]).toEqual([url, true, true]);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.json()).toEqual({
        error: expect.stringMatching(/^[a-z_]+$/),
        error_description: expect.any(String),
      });
      expect(answer.headers['cache-control']).toBe('no-store');
    }
    expect(await storedRows()).toBe(before);
  });

  test('a duplicate of any parameter is invalid_request (RFC 6749 §3.2), and the code remains valid', async () => {
    const fields = exchangeOf(the, await aCode(the));
    const body = new URLSearchParams(fields).toString();
    for (const [name, value] of Object.entries(fields)) {
      const answer = await send(`${body}&${name}=${encodeURIComponent(value)}`);
      expect([name, answer.statusCode, answer.json()]).toEqual([name, 400, refusal('invalid_request')]);
    }
    expect((await send(body)).statusCode).toBe(200);
  });

  test('an error description contains no markup and no header of the request', async () => {
    const answer = await send('"><script>alert(1)</script>=1&"><script>alert(1)</script>=2');
    expect(answer.body).not.toContain('<script>');
  });

  test.each(['/sign-in', '/sign-up', '/profile/keys', '/oauth/authorize'])(
    'a megabyte, JSON or invalid UTF-8 for the page %s',
    async (url) => {
      for (const [payload, type] of [
        [`a=${'a'.repeat(1_100_000)}`, FORM],
        ['{}', 'application/json'],
        [Buffer.from([0xff]), FORM],
        ['a=%ff', FORM],
      ] as const) {
        const answer = await send(payload, { 'content-type': type }, url);
        expect(answer.statusCode).toBeGreaterThanOrEqual(400);
        expect(answer.statusCode).toBeLessThan(500);
        expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      }
    },
  );

  test('clock skew: tokens remain valid when the clock goes back, and codes do not live longer', async () => {
    const pair = await aPair(the);
    const code = await aCode(the);
    world.advance(-3_600_000);
    expect(await isActive(world, pair.access_token)).toBe(true);
    expect(
      (await world.app.inject({ url: '/oauth/token/info', headers: bearer(pair.access_token) })).json()
        .expires_in,
    ).toBeGreaterThan(0);
    world.advance(3_600_000 + 601_000);
    expect((await post(world, '/oauth/token', exchangeOf(the, code))).json()).toEqual(
      refusal('invalid_grant'),
    );
  });

  test('any state and scope ends in a redirect or an error page', async () => {
    for (const value of [
      '\r\nSet-Cookie: a=b',
      '\u2028',
      '<svg onload=alert(1)>',
      'x'.repeat(7000),
      '\u202e',
      '"',
    ]) {
      for (const name of ['state', 'scope', 'response_type', 'code_challenge', 'response_mode']) {
        const answer = await the.browser.get(authorizeUrl(the, { [name]: value }));
        expect(answer.statusCode).toBeLessThan(500);
        expect(answer.headers['set-cookie'] ?? '').not.toContain('a=b');
        expect(answer.body).not.toContain('<svg');
      }
    }
  });
});

describe('creating an application', () => {
  const given = {
    name: 'Fine',
    redirect_uris: CALLBACK,
    post_logout_redirect_uris: '',
    id_token_alg: 'RS256',
    scopes: ['api'],
    is_confidential: true,
  };
  const attempt = (change: object) => createApplication(world.accounts, the.user, { ...given, ...change });

  test.each([
    'http://client.example/callback',
    'https://client.example/callback#fragment',
    'https://client.example/#',
    '/callback',
    'client.example/callback',
    'https:client.example',
    'https:///callback',
    'https://*.client.example/callback',
    'https://a;sandbox/callback',
    'https://a%3Bsandbox/callback',
    "https://client.example,'self'/callback",
    'https://client.example:99999/callback',
    'http://127.0.0.1:99999/callback',
    'https://user:pass@client.example/callback',
    'https://@client.example/callback',
    'https://сlient.example/callback',
    'https://client.example/call back',
    'https://client.example\\@evil.example/',
    'https://client.example/\u0000',
    'javascript:alert(1)',
    'JavaScript:alert(1)//org.example',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'myapp:/callback',
    'org:/callback',
    'myapp://callback',
    'org.example.app:callback',
    'org..app:/callback',
    'org.example.app://user@host/callback',
    'org.example.app://host:99999/callback',
    'org.example.app://callback#fragment',
    `https://client.example/${'a'.repeat(2000)}`,
    'http://127.0.0.1.evil.example/',
    'http://0177.0.0.1.evil/',
    '',
  ])('refuses the redirect URI %j', async (redirect_uris) => {
    const before = await storedRows();
    await expect(attempt({ redirect_uris })).rejects.toMatchObject({ field: 'redirect_uris' });
    if (redirect_uris !== '') {
      const afterSignOut = attempt({ post_logout_redirect_uris: redirect_uris });
      await expect(afterSignOut).rejects.toMatchObject({ field: 'post_logout_redirect_uris' });
    }
    expect(await storedRows()).toBe(before);
  });

  test.each([
    'https://client.example/callback?tenant=1',
    'https://xn--80ak6aa92e.example/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:8080/callback',
    'http://localhost:3000/',
    'http://localhost/callback',
    'org.example.app:/callback',
    'org.example.app://callback',
    'com.example.app://oauth/callback?tenant=1',
    'com.googleusercontent.apps.123-abc:/oauth2redirect',
    `${CALLBACK}\r\nhttps://client.example/other\n\n`,
  ])('accepts the redirect URI %j', async (redirect_uris) => {
    const { application } = await attempt({ redirect_uris, post_logout_redirect_uris: redirect_uris });
    expect(application.redirect_uris.length).toBeGreaterThan(0);
    expect(application.post_logout_redirect_uris).toEqual(application.redirect_uris);
  });

  test.each(['none', 'HS256', 'rs256', 'RS512', ''])(
    'refuses %j as algorithm of ID tokens',
    async (id_token_alg) => {
      await expect(attempt({ id_token_alg })).rejects.toMatchObject({ field: 'id_token_alg' });
    },
  );

  test('accepts plain http on every host when OAUTH_INSECURE_REDIRECTS is set', async () => {
    await using lax = await world.beside({ OAUTH_INSECURE_REDIRECTS: 'true' });
    const made = await createApplication(lax.accounts, the.user, {
      ...given,
      redirect_uris: 'http://client.example/callback',
    });
    expect(made.application.redirect_uris).toEqual(['http://client.example/callback']);
  });

  test.each([
    ['nothing', ' \t '],
    ['a line break', 'Good\nBad'],
    ['a direction mark', 'Good\u202edaB'],
    ['a zero-width space', 'Go\u200bod'],
    ['a Hangul filler alone', '\u3164'],
    ['a Hangul filler', 'Go\uffa0od'],
    ['a combining grapheme joiner', 'Go\u034fod'],
    ['a blank of Braille', '\u2800'],
    ['letters of two alphabets', 'Аpple'],
    ['a Cherokee letter', 'Ꭺpple'],
    ['a Malayalam letter', 'Gഠogle'],
    ['letters of Lisu alone', 'ꓮꓑꓑꓡꓰ'],
    ['our own name', 'Chain Metrics Support'],
    ['our own name with accents', 'Chaín Mètrics'],
    ['our own name with hyphens', 'Chain-Metrics'],
    ['our own name with a dotless i', 'CHAıN.METRıCS'],
    ['61 characters', 'a'.repeat(61)],
    ['marks on marks', `a${'\u0301'.repeat(9)}`],
  ])('refuses a name with %s', async (_, name) => {
    await expect(attempt({ name })).rejects.toBeInstanceOf(FieldError);
  });

  test.each(['Приложение', '応用', 'Café № 1', 'हिन्दी'])('accepts the name %s', async (name) => {
    expect((await attempt({ name })).application.name).toBe(name.normalize('NFKC'));
  });

  test('requires at least one known scope', async () => {
    await expect(attempt({ scopes: [] })).rejects.toMatchObject({ field: 'scopes' });
    await expect(attempt({ scopes: ['sudo'] })).rejects.toMatchObject({ field: 'scopes' });
  });
});
