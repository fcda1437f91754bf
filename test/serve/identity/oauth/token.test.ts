import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../accounts/world.ts';
import {
  aCode,
  aPair,
  challengeOf,
  exchangeOf,
  infoOf,
  isActive,
  type Party,
  party,
  pkceExchange,
  post,
  refreshOf,
  refusal,
  verifierOf,
} from './flow.ts';

let world: World;
let the: Party;
let other: Party;
let open: Party;
beforeAll(async () => {
  world = await openWorld();
  the = await party(world);
  other = await party(world);
  open = await party(world, { is_confidential: false });
});
afterAll(() => world.close());

const token = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  post(world, '/oauth/token', fields, headers);

describe('POST /oauth/token with a code (RFC 6749 §4.1.3)', () => {
  test('answers as documented, with the scope, and forbids caching (§5.1)', async () => {
    const code = await aCode(the, { scope: 'api read_user' });
    const before = Math.floor(world.now() / 1000);
    const answer = await token(exchangeOf(the, code));
    const after = Math.floor(world.now() / 1000);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers.pragma).toBe('no-cache');
    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^cma_[\w-]{65}$/),
      token_type: 'bearer',
      expires_in: 7200,
      refresh_token: expect.stringMatching(/^cmr_[\w-]{108}$/),
      created_at: expect.toSatisfy((second: number) => before <= second && second <= after),
      scope: 'api read_user',
    });
  });

  test('accepts PKCE instead of a secret (RFC 7636 §4.5)', async () => {
    const { fields } = await pkceExchange(open);
    expect((await token(fields)).statusCode).toBe(200);
  });

  test('accepts PKCE together with a secret; both must be correct', async () => {
    const verifier = verifierOf();
    const code = await aCode(the, { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' });
    expect((await token(exchangeOf(the, code))).json()).toEqual({
      error: 'invalid_request',
      error_description: 'Missing required parameter: code_verifier.',
    });
    expect((await token({ ...exchangeOf(the, code), code_verifier: verifierOf() })).json()).toEqual(
      refusal('invalid_grant'),
    );
    expect((await token({ ...exchangeOf(the, code), code_verifier: verifier })).statusCode).toBe(200);
  });

  test.each(['grant_type', 'code', 'redirect_uri'])(
    'reports a missing %s as invalid_request',
    async (name) => {
      const answer = await token({ ...exchangeOf(the, await aCode(the)), [name]: '' });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toEqual({
        error: 'invalid_request',
        error_description: `Missing required parameter: ${name}.`,
      });
    },
  );

  test('reports a missing code_verifier of a public application', async () => {
    const { fields } = await pkceExchange(open, { code_verifier: '' });
    const answer = await token(fields);
    expect(answer.json()).toEqual({
      error: 'invalid_request',
      error_description: 'Missing required parameter: code_verifier.',
    });
  });

  test.each([
    'client_credentials',
    'urn:ietf:params:oauth:grant-type:device_code',
    'implicit',
    '__proto__',
    'AUTHORIZATION_CODE',
  ])('refuses the grant_type %s', async (grant_type) => {
    expect((await token({ ...exchangeOf(the, 'x'), grant_type })).json()).toEqual(
      refusal('unsupported_grant_type'),
    );
  });

  test.each([
    ['a'.repeat(42), 'invalid_request'],
    ['a'.repeat(129), 'invalid_request'],
    [`${'a'.repeat(42)}!`, 'invalid_request'],
    [`${'a'.repeat(43)}é`, 'invalid_request'],
    ['a'.repeat(43), 'invalid_grant'],
    ['Aa0-._~'.repeat(18), 'invalid_grant'],
  ])(
    'takes a verifier of 43 to 128 allowed characters (RFC 7636 §4.1): %s → %s',
    async (code_verifier, error) => {
      const { fields } = await pkceExchange(open, { code_verifier });
      expect((await token(fields)).json()).toEqual(refusal(error));
    },
  );

  test('refuses a verifier without a stored challenge (RFC 9700 §4.8.2)', async () => {
    const answer = await token({ ...exchangeOf(the, await aCode(the)), code_verifier: verifierOf() });
    expect(answer.json()).toEqual(refusal('invalid_grant'));
  });

  test('consumes the code only when all parameters are correct', async () => {
    const code = await aCode(the);
    const wrong: [Record<string, string>, string][] = [
      [{ redirect_uri: 'https://client.example/other' }, 'invalid_grant'],
      [{ client_secret: 'wrong' }, 'invalid_client'],
      [{ client_id: other.application.id, client_secret: other.secret }, 'invalid_grant'],
      [{ code: `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}` }, 'invalid_grant'],
      [{ code_verifier: verifierOf() }, 'invalid_grant'],
    ];
    for (const [change, error] of wrong) {
      expect((await token({ ...exchangeOf(the, code), ...change })).json()).toEqual(refusal(error));
    }
    expect((await token(exchangeOf(the, code))).statusCode).toBe(200);
  });

  test('a replayed code revokes its tokens (§4.1.2, §10.5)', async () => {
    const code = await aCode(the);
    const pair = (await token(exchangeOf(the, code))).json();
    expect((await token(exchangeOf(the, code))).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(world, pair.access_token)).toBe(false);
    expect((await token(refreshOf(the, pair.refresh_token))).json()).toEqual(refusal('invalid_grant'));
  });

  test('a replay with wrong parameters revokes nothing', async () => {
    const code = await aCode(the);
    const pair = (await token(exchangeOf(the, code))).json();
    await token({ ...exchangeOf(other, code) });
    await token({ ...exchangeOf(the, code), redirect_uri: 'https://client.example/other' });
    expect(await isActive(world, pair.access_token)).toBe(true);
  });

  test('a code lives for 600 seconds (§4.1.2)', async () => {
    const [early, late] = [await aCode(the), await aCode(the)];
    world.advance(598_000);
    expect((await token(exchangeOf(the, early))).statusCode).toBe(200);
    world.advance(3_000);
    expect((await token(exchangeOf(the, late))).json()).toEqual(refusal('invalid_grant'));
  });

  test('a code exchange gives the granted scope', async () => {
    const answer = await token({
      ...exchangeOf(the, await aCode(the, { scope: 'read_user' })),
      scope: 'api',
    });
    expect(answer.json().scope).toBe('read_user');
  });
});

describe('POST /oauth/token with a refresh token (RFC 6749 §6)', () => {
  test('gives a new pair and invalidates the old pair immediately', async () => {
    const pair = await aPair(the);
    const next = await token(refreshOf(the, pair.refresh_token));
    expect(next.statusCode).toBe(200);
    expect(next.json()).toMatchObject({
      token_type: 'bearer',
      expires_in: 7200,
      scope: 'api',
      created_at: expect.any(Number),
    });
    expect(await isActive(world, pair.access_token)).toBe(false);
    expect(await isActive(world, next.json().access_token)).toBe(true);
  });

  test('works after the access token has expired', async () => {
    const pair = await aPair(the);
    world.advance(7_201_000);
    expect(await isActive(world, pair.access_token)).toBe(false);
    expect((await token(refreshOf(the, pair.refresh_token))).statusCode).toBe(200);
  });

  test('works without a secret for public applications', async () => {
    const { verifier, fields } = await pkceExchange(open);
    const first = (await token(fields)).json();
    const plain = { grant_type: 'refresh_token', client_id: open.application.id };
    const second = (await token({ ...plain, refresh_token: first.refresh_token })).json();
    const third = await token({
      ...plain,
      refresh_token: second.refresh_token,
      code_verifier: verifier,
      redirect_uri: open.callback,
    });
    expect(third.statusCode).toBe(200);
  });

  test('code_verifier and redirect_uri are optional, but must be correct when sent', async () => {
    const { fields } = await pkceExchange(open);
    const first = (await token(fields)).json();
    const again = {
      grant_type: 'refresh_token',
      client_id: open.application.id,
      refresh_token: first.refresh_token,
    };
    expect((await token({ ...again, code_verifier: verifierOf() })).json()).toEqual(refusal('invalid_grant'));
    expect((await token({ ...again, code_verifier: 'short' })).json()).toEqual(refusal('invalid_request'));
    expect((await token({ ...again, redirect_uri: 'https://client.example/x' })).json()).toEqual(
      refusal('invalid_grant'),
    );
    expect((await token(again)).statusCode).toBe(200);
  });

  test('a used one revokes its whole family (RFC 9700 §4.14.2)', async () => {
    const first = await aPair(the);
    const second = (await token(refreshOf(the, first.refresh_token))).json();
    const third = (await token(refreshOf(the, second.refresh_token))).json();
    expect((await token(refreshOf(the, first.refresh_token))).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(world, third.access_token)).toBe(false);
    expect((await token(refreshOf(the, third.refresh_token))).json()).toEqual(refusal('invalid_grant'));
  });

  test('one of another client is invalid_grant and remains valid', async () => {
    const pair = await aPair(the);
    expect((await token(refreshOf(other, pair.refresh_token))).json()).toEqual(refusal('invalid_grant'));
    expect((await token(refreshOf(the, pair.refresh_token))).statusCode).toBe(200);
  });

  test('an unknown one of a known grant revokes nothing', async () => {
    const pair = await aPair(the);
    const invented = `${pair.refresh_token.slice(0, 26)}${'A'.repeat(86)}`;
    expect((await token(refreshOf(the, invented))).json()).toEqual(refusal('invalid_grant'));
    expect(await isActive(world, pair.access_token)).toBe(true);
  });

  test('the scope may be narrowed, never widened, and the next refresh may request all of it again', async () => {
    const pair = await aPair(the, { scope: 'api read_user' });
    expect((await token({ ...refreshOf(the, pair.refresh_token), scope: 'api email' })).json()).toEqual(
      refusal('invalid_scope'),
    );
    const narrow = (await token({ ...refreshOf(the, pair.refresh_token), scope: 'read_user' })).json();
    expect(narrow.scope).toBe('read_user');
    expect((await infoOf(world, narrow.access_token)).json().scope).toEqual(['read_user']);
    expect((await token(refreshOf(the, narrow.refresh_token))).json().scope).toBe('api read_user');
  });

  test.each(['', 'nonsense', 'cmr_', `cmr_${'A'.repeat(108)}`, `cma_${'A'.repeat(65)}`])(
    '%j is refused',
    async (refresh_token) => {
      const answer = await token({ ...refreshOf(the, refresh_token) });
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toEqual(refusal(refresh_token === '' ? 'invalid_request' : 'invalid_grant'));
    },
  );
});
