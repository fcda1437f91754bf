import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DistributedKeyValue } from '../../../../infra/distributed/key-value.ts';
import type { User } from '../../../../serve/accounts/tables.ts';
import { changeUser } from '../../../../serve/accounts/users.ts';
import { linkPath } from '../../../../serve/identity/mail/links.ts';
import { SigningKeys } from '../../../../serve/identity/openid/signing-keys.ts';
import { startRedis } from '../../../support/services/redis.ts';
import { isInstalled, type Service } from '../../../support/services/service.ts';
import { Browser, hiddenFields } from '../../accounts/browser.ts';
import { aUser, openWorld, PASSWORD, type World } from '../../accounts/world.ts';
import { aCode, aPair, exchangeOf, isActive, type Pair, type Party, party, post, refreshOf } from './flow.ts';

const isMissing = !(await isInstalled('redis-server'));
if (isMissing) console.warn('NOT TESTED over Redis: apt-get install redis-server');
const AT_ONCE = 100;

let redis: Service;
let world: World;
const servers: World[] = [];
const connections: Redis[] = [];
let the: Party;

beforeAll(async () => {
  if (isMissing) return;
  redis = await startRedis();
  world = await openWorld();
  for (let i = 0; i < 2; i++) {
    const connection = new Redis({ port: redis.port, keyPrefix: 'test:' });
    connections.push(connection);
    servers.push(await world.beside({}, new DistributedKeyValue(connection)));
  }
  the = await party(servers[0] as World);
});
afterAll(async () => {
  for (const server of servers) await server.close();
  for (const connection of connections) connection.disconnect();
  await world?.close();
  await redis?.close();
});

async function rush(fields: Record<string, string>): Promise<Pair[]> {
  const answers = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, i) => post(servers[i % 2] as World, '/oauth/token', fields)),
  );
  return answers.filter(({ statusCode }) => statusCode === 200).map((answer) => answer.json<Pair>());
}

const emptied = () => connections[0]?.flushall();

describe.runIf(!isMissing)('two servers with their locks in Redis', () => {
  test(`a code that is sent ${AT_ONCE} times in parallel gives exactly one pair (RFC 6749 §10.5)`, async () => {
    const pairs = await rush(exchangeOf(the, await aCode(the)));
    expect(pairs).toHaveLength(1);
    for (const server of servers) expect(await isActive(server, pairs[0]?.access_token ?? '')).toBe(false);
  });

  test(`a refresh token that is sent ${AT_ONCE} times in parallel gives exactly one pair (RFC 9700 §4.14.2)`, async () => {
    const first = await aPair(the);
    const pairs = await rush(refreshOf(the, first.refresh_token));
    expect(pairs).toHaveLength(1);
    for (const { access_token } of [first, ...pairs]) {
      for (const server of servers) expect(await isActive(server, access_token)).toBe(false);
    }
  });

  test('after Redis was emptied, no code works twice and revoked tokens stay revoked', async () => {
    const code = await aCode(the);
    const [one, two] = servers as [World, World];
    await emptied();
    const pair: Pair = (await post(one, '/oauth/token', exchangeOf(the, code))).json();
    await emptied();
    const next: Pair = (await post(two, '/oauth/token', refreshOf(the, pair.refresh_token))).json();
    await emptied();
    expect([await isActive(one, pair.access_token), await isActive(two, next.access_token)]).toEqual([
      false,
      true,
    ]);
    expect((await post(two, '/oauth/token', exchangeOf(the, code))).statusCode).toBe(400);
    await emptied();
    expect(await isActive(one, next.access_token)).toBe(false);
  });

  test('a token that one server revokes is refused by the other', async () => {
    const pair = await aPair(the);
    const [one, two] = servers as [World, World];
    expect(await isActive(two, pair.access_token)).toBe(true);
    const client = { client_id: the.application.id, client_secret: the.secret };
    await post(one, '/oauth/revoke', { ...client, token: pair.access_token });
    expect(await isActive(two, pair.access_token)).toBe(false);
  });

  test('wrong passwords at both servers in parallel gain no more tries; right ones are never refused', async () => {
    const ask = async (password: string) => {
      const fields = { grant_type: 'password', username: the.user.username, password };
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) => post(servers[i % 2] as World, '/oauth/token', fields)),
      );
      return [200, 400, 429].map((status) => answers.filter((one) => one.statusCode === status).length);
    };
    expect(await ask(PASSWORD)).toEqual([30, 0, 0]);
    expect(await ask('wrong')).toEqual([0, 10, 20]);
  });

  test('keys of ID tokens that both make at once are one of each algorithm', async () => {
    const published = await Promise.all(
      Array.from({ length: 10 }, (_, i) => new SigningKeys((servers[i % 2] as World).accounts).published()),
    );
    expect(new Set(published.flat().map(({ kid }) => kid)).size).toBe(2);
  });

  test('a link for a new password that is used six times in parallel works once', async () => {
    const { accounts } = servers[0] as World;
    const { id } = await aUser(servers[0] as World);
    const user = (await changeUser(accounts, id, () => ({ email_confirmed_ms: 1 }))) as User;
    const link = linkPath(accounts, 'reset-password', user, user.email);
    const forms = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        const browser = new Browser((servers[i % 2] as World).app, `198.51.100.${i + 1}`);
        return { browser, fields: hiddenFields((await browser.get(link)).body, '/reset-password') };
      }),
    );
    const answers = await Promise.all(
      forms.map(({ browser, fields }, i) =>
        browser.post('/reset-password', { ...fields, new_password: `some password number ${i}` }),
      ),
    );
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([303, 410, 410, 410, 410, 410]);
  });
});
