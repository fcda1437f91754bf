import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../../../infra/sql.ts';
import { sweep } from '../../../../serve/accounts/maintenance.ts';
import { openWorld, type World } from '../../accounts/world.ts';
import { aCode, aPair, exchangeOf, isActive, type Pair, type Party, party, post, refreshOf } from './flow.ts';
import { mintCode } from './mint-code.ts';

const AT_ONCE = 100;
let world: World;
/** A second server on the same store and `keyValue`, with its own locks. */
let second: World;
let the: Party;
beforeAll(async () => {
  world = await openWorld();
  second = await world.beside({});
  the = await party(world);
});
afterAll(async () => {
  await second.close();
  await world.close();
});

/** Sends the same request many times in parallel, to one server or alternately to both. */
async function rush(fields: Record<string, string>, servers: readonly World[]): Promise<Pair[]> {
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, i) =>
      post(servers[i % servers.length] as World, '/oauth/token', fields),
    ),
  );
  for (const answer of answers) expect([200, 400]).toContain(answer.statusCode);
  for (const answer of answers.filter(({ statusCode }) => statusCode === 400))
    expect(answer.json().error).toBe('invalid_grant');
  return answers.filter(({ statusCode }) => statusCode === 200).map((answer) => answer.json());
}

describe.each([
  ['one server', () => [world]],
  ['two servers', () => [world, second]],
])('%s', (_, servers) => {
  test(`a code that is sent ${AT_ONCE} times in parallel gives exactly one pair, which the replays revoke (RFC 6749 §10.5)`, async () => {
    const pairs = await rush(exchangeOf(the, await aCode(the)), servers());
    expect(pairs).toHaveLength(1);
    expect(await isActive(world, pairs[0]?.access_token ?? '')).toBe(false);
    expect(
      (await post(world, '/oauth/token', refreshOf(the, pairs[0]?.refresh_token ?? ''))).statusCode,
    ).toBe(400);
  });

  test(`a refresh token that is sent ${AT_ONCE} times in parallel gives exactly one pair, which the replays revoke (RFC 9700 §4.14.2)`, async () => {
    const first = await aPair(the);
    const pairs = await rush(refreshOf(the, first.refresh_token), servers());
    expect(pairs).toHaveLength(1);
    for (const { access_token, refresh_token } of [first, ...pairs]) {
      for (const server of servers()) expect(await isActive(server, access_token)).toBe(false);
      expect((await post(world, '/oauth/token', refreshOf(the, refresh_token))).statusCode).toBe(400);
    }
  });

  test('parallel refresh and revocation never leave an active pair', async () => {
    for (let round = 0; round < 5; round++) {
      const pair = await aPair(the);
      const [one = world, other = one] = servers();
      const client = { client_id: the.application.id, client_secret: the.secret };
      const [refreshed] = await Promise.all([
        post(one, '/oauth/token', refreshOf(the, pair.refresh_token)),
        post(other, '/oauth/revoke', { ...client, token: pair.access_token }),
        post(one, '/oauth/revoke', { ...client, token: pair.refresh_token }),
      ]);
      const tokens = [
        pair.access_token,
        ...(refreshed.statusCode === 200 ? [refreshed.json().access_token] : []),
      ];
      for (const token of tokens) expect(await isActive(other, token)).toBe(false);
    }
  });

  test('a token that one server revokes is refused by all servers', async () => {
    const pair = await aPair(the);
    for (const server of servers()) expect(await isActive(server, pair.access_token)).toBe(true);
    const client = { client_id: the.application.id, client_secret: the.secret };
    await post(servers().at(-1) as World, '/oauth/revoke', { ...client, token: pair.access_token });
    for (const server of servers()) expect(await isActive(server, pair.access_token)).toBe(false);
  });
});

describe('emptying keyValue at any moment', () => {
  const idOf = (token: string) => token.slice(4, 26);
  const empty = async (id: string) => {
    for (const key of [`grants/${id}`, `locks/grants/${id}`])
      await world.pipeline.runtime.keyValue.delete(key);
  };

  test('lets no code work twice, and revoked tokens stay revoked', async () => {
    const code = await aCode(the);
    await empty(idOf(code));
    const pair: Pair = (await post(world, '/oauth/token', exchangeOf(the, code))).json();
    await empty(idOf(code));
    expect(await isActive(world, pair.access_token)).toBe(true);
    await empty(idOf(code));
    const next: Pair = (await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).json();
    await empty(idOf(code));
    expect(await isActive(world, pair.access_token)).toBe(false);
    expect((await post(world, '/oauth/token', exchangeOf(the, code))).statusCode).toBe(400);
    await empty(idOf(code));
    expect(await isActive(world, next.access_token)).toBe(false);
    expect((await post(world, '/oauth/token', refreshOf(the, next.refresh_token))).statusCode).toBe(400);
  });

  test('during parallel requests still gives one pair', async () => {
    const code = await aCode(the);
    const emptying = setInterval(
      () => void world.pipeline.runtime.keyValue.delete(`grants/${idOf(code)}`),
      1,
    );
    const pairs = await rush(exchangeOf(the, code), [world]);
    clearInterval(emptying);
    expect(pairs).toHaveLength(1);
  });
});

describe('expired rows', () => {
  test('are deleted with all their versions, and nothing else is', async () => {
    const { accounts } = world;
    const unused = await mintCode(accounts, the.user, the.application, 1000);
    const code = await mintCode(accounts, the.user, the.application);
    const pair: Pair = (await post(world, '/oauth/token', exchangeOf(the, code.code))).json();
    const client = { client_id: the.application.id, client_secret: the.secret };
    const dead = await aPair(the);
    await post(world, '/oauth/revoke', { ...client, token: dead.access_token });
    world.advance(32 * 86_400_000);
    await sweep(accounts);
    const kept = async (id: string) =>
      (await accounts.store.rows(sql`SELECT id FROM ${accounts.grants.table} WHERE id = ${id}`)).length > 0;
    expect([await kept(unused.id), await kept(idOf(dead.access_token)), await kept(code.id)]).toEqual([
      false,
      false,
      true,
    ]);
    expect((await post(world, '/oauth/token', exchangeOf(the, unused.code))).statusCode).toBe(400);
    expect((await post(world, '/oauth/token', refreshOf(the, pair.refresh_token))).statusCode).toBe(200);
  });
  const idOf = (token: string) => token.slice(4, 26);
});
