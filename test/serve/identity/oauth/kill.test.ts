import { setTimeout } from 'node:timers/promises';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { createUser } from '../../../../serve/accounts/users.ts';
import { openPipeline } from '../../../../serve/application/compose/compose.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { testConfig } from '../../../support/test-config.ts';
import { anApplication, CALLBACK, PASSWORD } from '../../accounts/world.ts';
import { type Server, serve } from '../../application/cli/program.ts';
import type { Pair } from './flow.ts';
import { mintCode } from './mint-code.ts';

const ROUNDS = 3;
const CODES = 8;
const SCOPES = ['api', 'openid'];
const LIMITS = { OAUTH_PER_MINUTE: '0', LOG_LEVEL: 'error' };

interface Client {
  readonly client_id: string;
  readonly client_secret: string;
}

/** A user, an application and codes, stored before the server starts. */
async function prepared(directory: string): Promise<{ client: Client; codes: string[] }> {
  const pipeline = await openPipeline(testConfig({ DATA_DIR: directory, ...LIMITS }));
  const accounts = pipeline.accounts();
  const user = await createUser(accounts, { username: 'ada', email: '', password: PASSWORD });
  const { application, secret } = await anApplication({ accounts }, user, { scopes: SCOPES });
  const codes: string[] = [];
  for (let i = 0; i < ROUNDS * CODES; i++)
    codes.push((await mintCode(accounts, user, application, 600_000, SCOPES)).code);
  await pipeline.close();
  return { client: { client_id: application.id, client_secret: secret }, codes };
}

type Tokens = Pair & { readonly id_token: string };

/** The tokens of a token request; null when it was refused, undefined without a response. */
async function ask(server: Server, fields: Record<string, string>): Promise<Tokens | null | undefined> {
  try {
    const answer = await fetch(`${server.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams(fields),
    });
    if (answer.status === 200) return (await answer.json()) as Tokens;
    expect(answer.status).toBe(400);
    return null;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function isActive(server: Server, token: string): Promise<boolean> {
  const answer = await fetch(`${server.url}/oauth/token/info`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return answer.status === 200;
}

/** Kills the server at, after or before the first response. */
async function momentToKill(round: number, answers: readonly Promise<unknown>[]): Promise<void> {
  if (round % 3 < 2 && answers.length > 0) await Promise.race(answers);
  await setTimeout(round % 3 === 0 ? 0 : 4);
}

describe('kill -9 during token requests', () => {
  test('responses are durable, and no code or refresh token gives two active pairs', async () => {
    using directory = temporaryDirectory();
    const { client, codes } = await prepared(directory.path);
    const env = { DATA_DIR: directory.path, ...LIMITS };
    const exchange = (code: string) => ({
      grant_type: 'authorization_code',
      code,
      redirect_uri: CALLBACK,
      ...client,
    });
    const refresh = ({ refresh_token }: Pair) => ({ grant_type: 'refresh_token', refresh_token, ...client });
    let server = await serve([], env);
    let answered = 0;
    const idTokens: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const mine = codes.slice(round * CODES, (round + 1) * CODES);
      const rushing = mine.map((code) => ask(server, exchange(code)));
      await momentToKill(round, rushing);
      await server.end('SIGKILL');
      const first = await Promise.all(rushing);
      server = await serve([], env);
      const pairs: Tokens[] = [];
      for (const [i, code] of mine.entries()) {
        const known = first[i];
        if (known) {
          answered++;
          expect(await isActive(server, known.access_token)).toBe(true);
          pairs.push(known);
          continue;
        }
        // Without a response, the code may or may not have been used; the next request shows it.
        const again = await ask(server, exchange(code));
        if (again) pairs.push(again);
      }
      idTokens.push(...pairs.map(({ id_token }) => id_token));
      const refreshing = pairs.map((pair) => ask(server, refresh(pair)));
      await momentToKill(round, refreshing);
      await server.end('SIGKILL');
      const second = await Promise.all(refreshing);
      server = await serve([], env);
      for (const [i, pair] of pairs.entries()) {
        const next = second[i];
        const isOld = await isActive(server, pair.access_token);
        const isNew = next ? await isActive(server, next.access_token) : false;
        if (next) {
          answered++;
          expect([isOld, isNew]).toEqual([false, true]);
        }
        expect(isOld && isNew).toBe(false);
        // The old refresh token gives a pair only if it had not given one before.
        const third = await ask(server, refresh(pair));
        if (!isOld) expect(third).toBeNull();
        const alive = [pair, next, third]
          .filter((one) => one)
          .map((one) => isActive(server, (one as Pair).access_token));
        expect((await Promise.all(alive)).filter(Boolean).length).toBeLessThanOrEqual(1);
      }
    }
    expect(answered).toBeGreaterThan(0);
    // Also those of keys that were made shortly before a kill.
    const keys = createRemoteJWKSet(new URL(`${server.url}/oauth/discovery/keys`));
    expect(idTokens.length).toBeGreaterThan(0);
    for (const idToken of idTokens) await jwtVerify(idToken, keys, { audience: client.client_id });
    await server.end('SIGTERM');
  });
});
