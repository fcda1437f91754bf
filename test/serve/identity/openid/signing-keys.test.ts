import type { JWK } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { deleteByIds } from '../../../../infra/clickhouse/delete-by-id.ts';
import { DAY_MS } from '../../../../infra/days.ts';
import { sql } from '../../../../infra/sql.ts';
import { type Accounts, openAccounts } from '../../../../serve/accounts/accounts.ts';
import { sweep } from '../../../../serve/accounts/maintenance.ts';
import { SigningKeys } from '../../../../serve/identity/openid/signing-keys.ts';
import { openWorld } from '../../accounts/world.ts';

const world = await openWorld();
afterAll(() => world.close());

/** When the first keys of a test are made. */
const START = Date.UTC(2026, 0, 1);
const clock = { ms: START, now: () => clock.ms };
/** The tables, as a server opens them whose clock stands where the test puts it. */
const opened = (now = clock.now): Accounts =>
  openAccounts({ ...world.pipeline.runtime, clock: { now }, settings: world.pipeline.config });
const accounts = opened();
const keys = new SigningKeys(accounts);

beforeEach(async () => {
  clock.ms = START;
  await keys.rotate({ revoke: true });
});

const at = (days: number, ms = 0) => {
  clock.ms = START + days * DAY_MS + ms;
};
const kidsOf = (published: readonly JWK[], alg = 'RS256') =>
  published.filter((key) => key.alg === alg).map(({ kid }) => kid);
const published = async (alg = 'RS256') => kidsOf(await keys.published(), alg);
const signer = async (alg: 'RS256' | 'ES256' = 'RS256') => (await keys.signer(alg)).kid;

describe('the keys of ID tokens', () => {
  test('are an RSA key of 2048 bits and a P-256 key, published without their private parts', async () => {
    const [rsa, ec, ...more] = await keys.published();
    const common = { kid: expect.any(String), use: 'sig' };
    expect(rsa).toEqual({ ...common, kty: 'RSA', alg: 'RS256', n: expect.any(String), e: 'AQAB' });
    expect(Buffer.from(rsa?.n ?? '', 'base64url')).toHaveLength(256);
    const point = { x: expect.any(String), y: expect.any(String) };
    expect(ec).toEqual({ ...common, kty: 'EC', crv: 'P-256', alg: 'ES256', ...point });
    expect(more).toEqual([]);
  });

  test.each(['RS256', 'ES256'] as const)(
    '%s: the next is published a day before it signs, the old for a week after',
    async (alg) => {
      const [first] = await published(alg);
      at(89, -1);
      expect(await published(alg)).toEqual([first]);
      at(89);
      const [, second, ...more] = await published(alg);
      expect([typeof second, more]).toEqual(['string', []]);
      at(90, -1);
      expect([await published(alg), await signer(alg)]).toEqual([[first, second], first]);
      at(90);
      expect([await published(alg), await signer(alg)]).toEqual([[first, second], second]);
      at(97, -1);
      expect(await published(alg)).toEqual([first, second]);
      at(97);
      expect(await published(alg)).toEqual([second]);
      at(179);
      expect(await published(alg)).toHaveLength(2);
    },
  );

  test('are published for a day before they sign even if nobody read them when they were due', async () => {
    const [first] = await published();
    at(95);
    expect(await signer()).toBe(first);
    const [, second] = await published();
    at(96, -1);
    expect(await signer()).toBe(first);
    at(96);
    expect(await signer()).toBe(second);
    at(103, -1);
    expect(await published()).toEqual([first, second]);
    at(103);
    expect(await published()).toEqual([second]);
  });

  test('are replaced by one server, however many find them due at the same time', async () => {
    const servers = [keys, new SigningKeys(opened()), new SigningKeys(opened())];
    const readAll = async () =>
      new Set(
        (
          await Promise.all(
            Array.from({ length: 30 }, (_, i) => servers[i % servers.length]?.published() ?? []),
          )
        ).map((found) => found.map(({ kid }) => kid).join()),
      );
    at(89);
    await readAll();
    expect([await published(), await published('ES256')].map((found) => found.length)).toEqual([2, 2]);
    expect((await readAll()).size).toBe(1);
    // All are gone: the first keys are made in the same way.
    at(1000);
    await deleteByIds(
      accounts.store,
      accounts.signingKeys.table,
      await accounts.signingKeys.find(sql`1`, 'id'),
    );
    expect((await readAll()).size).toBe(1);
    expect(await keys.list()).toHaveLength(2);
  });

  test('get a successor when a server died after it gave the old key its end', async () => {
    const [first] = await published();
    await accounts.signingKeys.change(first ?? '', (key) => ({
      next: { ...(key as NonNullable<typeof key>), expires_ms: START + 7 * DAY_MS },
      result: null,
    }));
    at(1);
    expect(await published()).toHaveLength(2);
    expect(await signer()).toBe(first);
    at(2);
    expect(await signer()).not.toBe(first);
    expect(await published()).toHaveLength(2);
  });

  test('are used before their time by a server whose clock is behind, which makes no others', async () => {
    const behind = new SigningKeys(opened(() => START - 60_000));
    expect((await behind.signer('RS256')).kid).toBe(await signer());
    expect(kidsOf(await behind.published())).toEqual(await published());
  });

  test('are deleted a day after they ended', async () => {
    const stored = async () =>
      accounts.signingKeys.find(sql`expires_ms > 0 AND expires_ms < ${clock.now() - DAY_MS}`, 'id');
    await keys.rotate({ revoke: true });
    at(1, 1);
    expect((await stored()).length).toBeGreaterThan(0);
    await accounts.keyValue.delete('sweep/accounts');
    await sweep(accounts);
    expect(await stored()).toEqual([]);
    expect(await published()).toHaveLength(1);
  });
});

describe('a rotation by an operator', () => {
  test('signs with a new key at once, and publishes the old one for a week', async () => {
    const [first] = await published();
    at(10);
    await keys.rotate({ revoke: false });
    const [, second] = await published();
    expect([await published(), await signer()]).toEqual([[first, second], second]);
    at(17, -1);
    expect(await published()).toEqual([first, second]);
    at(17);
    expect(await published()).toEqual([second]);
    at(99, -1);
    expect(await published()).toEqual([second]);
    at(99);
    expect(await published()).toHaveLength(2);
  });

  test('drops a key that has not signed yet, and does not prolong older ones', async () => {
    const [first] = await published();
    at(89);
    const [, waiting] = await published();
    await keys.rotate({ revoke: false });
    expect(await published()).not.toContain(waiting);
    const third = await signer();
    at(91);
    expect([await signer(), await published()]).toEqual([third, [first, third]]);
    await keys.rotate({ revoke: false });
    at(96, -1);
    expect(await published()).toContain(first);
    at(96);
    expect(await published()).not.toContain(first);
  });

  test('that revokes publishes only new keys', async () => {
    const before = await keys.published();
    await keys.rotate({ revoke: false });
    await keys.rotate({ revoke: true });
    const after = await keys.published();
    expect(after).toHaveLength(2);
    for (const { kid } of before) expect(after.map((key) => key.kid)).not.toContain(kid);
    expect(after.map(({ kid }) => kid)).toContain(await signer());
  });

  test('by several operators at once leaves one key that signs', async () => {
    await Promise.all([1, 2, 3].map(() => new SigningKeys(opened()).rotate({ revoke: true })));
    expect(await published()).toHaveLength(1);
    expect([await signer()]).toEqual(await published());
  });
});
