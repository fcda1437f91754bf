import type { FastifyInstance } from 'fastify';
import { dailyTps } from '../../../aggregate/metrics/activity/daily-tps.ts';
import { sql } from '../../../infra/sql.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { readConfig } from '../../../serve/settings/settings.ts';
import { loadDemo } from '../../support/demo.ts';
import { PATIENT, readyDirectory } from '../../support/pipeline.ts';
import { ENDPOINTS } from '../metrics/endpoints.ts';

/** Its last second: an anonymous caller that sent too much is let in again after one more. */
const NOW = Date.parse('2026-11-10T15:00:59.000Z');
/** Of the demo data: few days, with rows on every path. */
const DAYS_LEFT_OUT = 163;
/** Requests a minute without a key. */
export const ANONYMOUS_PER_MINUTE = 10;
/** Rows of one chain of its own, for many pages. */
export const MANY_ROWS = 100_000;
export const MANY = { relay_chain: 'solo', limit: 10_000 };

export interface AskedPath {
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[]>>;
}

/** A server with rows on every path. Its clock stands still, but for the minute that passes when it refuses a caller. */
export interface ServedClients {
  readonly app: FastifyInstance;
  readonly origin: string;
  readonly key: string;
  /** A personal access token for `/api/v4`. */
  readonly token: string;
  /** Requests that were refused with 429. */
  refusals(): number;
  /** Every path of a metric, with what gives it rows. */
  readonly asked: readonly AskedPath[];
  close(): Promise<void>;
}

export async function serveClients(): Promise<ServedClients> {
  let now = NOW;
  let refusals = 0;
  const directory = await readyDirectory();
  const settings = {
    LOG_LEVEL: 'error',
    ANONYMOUS_PER_MINUTE: String(ANONYMOUS_PER_MINUTE),
    // A minute that does not pass on a slow machine has any number of them.
    ...PATIENT,
    KEY_STORE_SECONDS: '0',
  };
  const pipeline = await openPipeline(readConfig({ DATA_DIR: directory.path, ...settings }), {
    clock: { now: () => now },
  });
  await loadDemo(pipeline, NOW, DAYS_LEFT_OUT);
  await pipeline.runtime.store.run(
    sql`INSERT INTO ${dailyTps.table} (relay_chain, chain, date, num_blocks)
      SELECT 'solo', concat('chain-', toString(number % 100)), toDate('2023-01-01') + intDiv(number, 100), number
      FROM numbers(${MANY_ROWS})`,
  );
  const app = await buildServer(pipeline);
  app.addHook('onResponse', async (_request, reply) => {
    if (reply.statusCode !== 429) return;
    refusals++;
    now += 60_000;
  });
  const [key, token] = await keysOf(pipeline);
  const asked = await askedPaths(app, key);
  const headers = { authorization: `Bearer ${token}` };
  await app.inject({ method: 'POST', url: '/api/v4/projects', headers, payload: { name: 'Watch' } });
  return {
    app,
    origin: await app.listen({ host: '127.0.0.1', port: 0 }),
    key,
    token,
    refusals: () => refusals,
    asked,
    close: async () => {
      await app.close();
      await pipeline.close();
      directory[Symbol.dispose]();
    },
  };
}

async function keysOf(pipeline: Pipeline): Promise<readonly [key: string, token: string]> {
  const accounts = pipeline.accounts();
  const user = await createUser(accounts, { username: 'ann', email: 'ann@example.org', password: null });
  const key = await createKey(accounts, user, 'key', { name: 'client', scopes: [], expires_ms: 0 });
  const token = await createKey(accounts, user, 'personal', {
    name: 'token',
    scopes: ['api'],
    expires_ms: 0,
  });
  return [key.text, token.text];
}

async function askedPaths(app: FastifyInstance, key: string): Promise<AskedPath[]> {
  const headers = { authorization: `Bearer ${key}` };
  const rows = async (url: string) =>
    (await app.inject({ url, headers })).json<Record<string, string | number>[]>();
  const [region] = await rows('/api/coretime-regions');
  const contracts = await rows('/api/contracts-with-code');
  const addresses = contracts.map(({ contract_address }) => String(contract_address));
  const given: Readonly<Record<string, AskedPath['query']>> = {
    '/api/contracts-search': { addresses },
    '/api/contract-transactions-search': { addresses },
    '/api/code-by-owner': { addresses: [String(contracts[0]?.owner)] },
    '/api/coretime-region-history': {
      region_begin: String(region?.region_begin),
      r_core: String(region?.r_core),
    },
    '/api/daily-tps': { relay_chain: 'polkadot' },
  };
  const dates = { start_date: '2026-05-01', end_date: '2026-11-10' };
  return ENDPOINTS.map(({ path, parameters }) => ({
    path,
    query: given[path] ?? (parameters.start_date?.required ? dates : {}),
  }));
}

/** The code samples of every operation in one language, by its path. */
export async function samplesOf({ app, key }: ServedClients, lang: string): Promise<[string, string][]> {
  const answer = await app.inject({ url: '/openapi.json', headers: { authorization: `Bearer ${key}` } });
  const { paths } = answer.json<{ paths: Record<string, Record<string, Sampled>> }>();
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap((operation) =>
      operation['x-codeSamples']
        .filter((sample) => sample.lang === lang)
        .map(({ source }): [string, string] => [path, source]),
    ),
  );
}
interface Sampled {
  readonly 'x-codeSamples': readonly { readonly lang: string; readonly source: string }[];
}

/** The rows of a path, as the server answers them at once. */
export async function rowsOf({ app, key }: ServedClients, { path, query }: AskedPath): Promise<object[]> {
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    ),
  );
  const answer = await app.inject({ url: `${path}?${search}`, headers: { authorization: `Bearer ${key}` } });
  if (answer.statusCode !== 200 || answer.headers['x-truncated'] !== 'false') {
    throw new Error(`${path}: ${answer.statusCode} ${answer.body.slice(0, 300)}`);
  }
  return answer.json();
}
