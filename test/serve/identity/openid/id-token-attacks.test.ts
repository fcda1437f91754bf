import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SigningKeys } from '../../../../serve/identity/openid/signing-keys.ts';
import { openWorld, type World } from '../../accounts/world.ts';
import {
  aCode,
  aPair,
  bearer,
  exchangeOf,
  type Pair,
  type Party,
  party,
  post,
  refreshOf,
  refusal,
} from '../oauth/flow.ts';
import { issuerOf, publishedKeys, verified } from './verify.ts';

type Tokens = Pair & { readonly id_token: string };

let world: World;
let the: Party;
let keys: SigningKeys;
let issuer: string;
let given: Tokens;
let published: readonly JWK[];
beforeAll(async () => {
  world = await openWorld({ OAUTH_REFRESH_GRACE_SECONDS: '60', LOG_LEVEL: 'silent' });
  the = await party(world, { scopes: ['openid'] });
  keys = new SigningKeys(world.accounts);
  issuer = await issuerOf(world);
  given = (await aPair(the, { scope: 'openid' })) as Tokens;
  published = (await publishedKeys(world)).keys;
});
afterAll(() => world.close());

const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const parts = () => given.id_token.split('.') as [string, string, string];
const claims = () => JSON.parse(Buffer.from(parts()[1], 'base64url').toString());
const rsa = () => published.find(({ alg }) => alg === 'RS256') as JWK;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
/** A token that a stranger signed with an own key, with any header. */
const foreign = (header: object) => {
  const input = `${encoded(header)}.${encoded(claims())}`;
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`;
};

describe('a token is taken for one that this server signed', () => {
  test('if it did, even when it expired', async () => {
    expect(await keys.verify(given.id_token, issuer)).toMatchObject({ sub: the.user.id });
  });

  test('never with another algorithm in its header', async () => {
    const [, payload, signature] = parts();
    const { kid } = rsa();
    for (const alg of ['none', 'None', 'ES256', 'RS384', 'PS256', 'HS256', '', undefined]) {
      const header = encoded({ alg, kid, typ: 'JWT' });
      for (const token of [
        `${header}.${payload}.${signature}`,
        `${header}.${payload}.`,
        `${header}.${payload}`,
      ])
        expect(await keys.verify(token, issuer), `${alg}`).toBeNull();
    }
  });

  test('never with HS256 and a published key as the secret', async () => {
    const key = rsa();
    const input = `${encoded({ alg: 'HS256', kid: key.kid, typ: 'JWT' })}.${encoded(claims())}`;
    for (const secret of [JSON.stringify(key), key.n ?? '', Buffer.from(key.n ?? '', 'base64url'), '']) {
      const signature = createHmac('sha256', secret).update(input).digest('base64url');
      expect(await keys.verify(`${input}.${signature}`, issuer)).toBeNull();
    }
  });

  test('never with a key that its header brings, names or points to', async () => {
    const jwk = publicKey.export({ format: 'jwk' });
    const kids = [
      rsa().kid,
      published.find(({ alg }) => alg === 'ES256')?.kid,
      undefined,
      '',
      7,
      null,
      ['a'],
    ];
    const hostile = [
      '../../secrets.key',
      "' OR 1=1 --",
      '/dev/null',
      '__proto__',
      'x'.repeat(100_000),
      '\u0000',
    ];
    for (const kid of [...kids, ...hostile]) {
      for (const more of [{}, { jwk }, { jku: 'http://127.0.0.1:9/keys' }, { x5u: 'http://127.0.0.1:9/' }])
        expect(await keys.verify(foreign({ alg: 'RS256', kid, ...more }), issuer)).toBeNull();
    }
  });

  test('never with changed claims, of another issuer, or as no token at all', async () => {
    const [header, , signature] = parts();
    const changed = `${header}.${encoded({ ...claims(), sub: '999' })}.${signature}`;
    for (const token of [changed, '', '.', '..', 'a.b.c', given.access_token, `${given.id_token}x`])
      expect(await keys.verify(token, issuer)).toBeNull();
    for (const other of [`${issuer}/`, issuer.toUpperCase(), 'https://other.example'])
      expect(await keys.verify(given.id_token, other)).toBeNull();
    const { kid, key } = await keys.signer('RS256');
    const elsewhere = await new SignJWT({ ...claims(), iss: 'https://other.example' })
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(key);
    expect(await keys.verify(elsewhere, issuer)).toBeNull();
  });
});

describe('an ID token', () => {
  test('is refused by another application, and does not match the access token of another answer', async () => {
    const other = await party(world, { scopes: ['openid'] });
    await expect(verified(world, given.id_token, other.application.id)).rejects.toThrow(/"aud"/);
    const theirs = (await aPair(other, { scope: 'openid' })) as Tokens;
    const hash = createHash('sha256').update(theirs.access_token).digest().subarray(0, 16);
    expect(claims().at_hash).not.toBe(hash.toString('base64url'));
  });

  test('opens nothing: it is no access token, refresh token or code', async () => {
    for (const url of ['/oauth/userinfo', '/oauth/token/info', '/api/v4/user']) {
      const answer = await world.app.inject({ url, headers: bearer(given.id_token) });
      expect(answer.statusCode, url).toBe(401);
    }
    for (const fields of [refreshOf(the, given.id_token), exchangeOf(the, given.id_token)])
      expect((await post(world, '/oauth/token', fields)).json()).toEqual(refusal('invalid_grant'));
    const client = { client_id: the.application.id, client_secret: the.secret };
    const state = await post(world, '/oauth/introspect', { ...client, token: given.id_token });
    expect(state.json()).toEqual({ active: false });
  });

  test('of a revoked key is refused, and a refresh gives one of the new key', async () => {
    const before = (await aPair(the, { scope: 'openid' })) as Tokens;
    await keys.rotate({ revoke: true });
    await expect(verified(world, before.id_token, the.application.id)).rejects.toThrow(/no applicable key/);
    expect(await keys.verify(before.id_token, issuer)).toBeNull();
    const after = (await post(world, '/oauth/token', refreshOf(the, before.refresh_token))).json();
    await verified(world, after.id_token, the.application.id);
    expect(
      (await world.app.inject({ url: '/oauth/userinfo', headers: bearer(after.access_token) })).statusCode,
    ).toBe(200);
  });

  test('comes again with a refresh that is repeated within the grace', async () => {
    const first = (await aPair(the, { scope: 'openid' })) as Tokens;
    const fields = refreshOf(the, first.refresh_token);
    const answers: Tokens[] = [];
    for (let tab = 0; tab < 2; tab++) answers.push((await post(world, '/oauth/token', fields)).json());
    for (const { access_token, id_token } of answers) {
      const { payload } = await verified(world, id_token, the.application.id);
      const hash = createHash('sha256').update(access_token).digest().subarray(0, 16);
      expect(payload.at_hash).toBe(hash.toString('base64url'));
      expect(payload).not.toHaveProperty('nonce');
    }
  });
});

describe('a signature that fails', () => {
  /** Stores private keys that cannot be decrypted, as after a change of SECRETS_KEY. */
  async function spoilKeys(): Promise<void> {
    for (const { id } of await keys.list()) {
      await world.accounts.signingKeys.change(id, (key) => ({
        next: { ...(key as NonNullable<typeof key>), private_jwk: 'AAAA' },
        result: null,
      }));
    }
  }

  test('leaves the code and the refresh token unused, and ends with a rotation', async () => {
    const before = (await aPair(the, { scope: 'openid' })) as Tokens;
    const exchange = exchangeOf(the, await aCode(the, { scope: 'openid' }));
    const refresh = refreshOf(the, before.refresh_token);
    await spoilKeys();
    for (const fields of [exchange, refresh]) {
      const answer = await post(world, '/oauth/token', fields);
      expect([answer.statusCode, answer.json()]).toEqual([500, refusal('server_error')]);
      expect(answer.body).not.toContain('key');
    }
    await keys.rotate({ revoke: false });
    for (const fields of [exchange, refresh]) {
      const answer = await post(world, '/oauth/token', fields);
      expect(answer.statusCode).toBe(200);
      await verified(world, answer.json().id_token, the.application.id);
    }
  });
});
