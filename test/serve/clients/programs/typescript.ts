// What a user of the TypeScript client writes. It runs in Node, Deno and a browser, and is compiled without the types of
// any of them.
import { ApiError, createClient, type MetricPath, type MetricRow, rows } from 'chain-metrics-client';

interface Given {
  readonly origin: string;
  readonly key: string;
  readonly token: string;
  readonly asked: readonly { readonly path: MetricPath; readonly query: object }[];
  readonly many: object;
  readonly anonymousRequests: number;
}

/** The rows of every path, in three pages each. */
export async function everyPath({ origin, key, asked }: Given): Promise<Record<string, unknown[]>> {
  const client = createClient({ baseUrl: origin, apiKey: key });
  const found: Record<string, unknown[]> = {};
  for (const { path, query } of asked) {
    const all: unknown[] = [];
    for await (const row of rows(client, path, query as never)) all.push(row);
    found[path] = all;
  }
  return found;
}

/** How many rows a long answer has, and the sum of a column. */
export async function manyRows({ origin, key, many }: Given): Promise<readonly number[]> {
  let [count, sum] = [0, 0];
  for await (const row of rows(createClient({ baseUrl: origin, apiKey: key }), '/api/daily-tps', many)) {
    count++;
    sum += row.num_blocks;
  }
  return [count, sum];
}

/** More requests without a key than a minute allows; those that are refused are sent again. */
export async function anonymous({ origin, anonymousRequests }: Given): Promise<number[]> {
  const client = createClient({ baseUrl: origin });
  const statuses: number[] = [];
  for (let i = 0; i < anonymousRequests; i++) {
    const { response } = await client.GET('/api/daily-tps', { params: { query: { limit: 1 } } });
    statuses.push(response.status);
  }
  return statuses;
}

/** What is thrown for parameters that are wrong, and for a key that is. */
export async function errors({ origin, key }: Given): Promise<object[]> {
  const tell = async (apiKey: string, end_date: string) => {
    const client = createClient({ baseUrl: origin, apiKey });
    const query = { start_date: '2026-11-02', end_date };
    try {
      for await (const row of rows(client, '/api/daily-summary', query)) return { row };
      return {};
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { status, code, message, issues } = error;
      return { status, code, message, issues };
    }
  };
  return [await tell(key, '2026-11-01'), await tell('cmk_wrong', '2026-11-03')];
}

/** What is wrong with a request to `/api/v4`. */
export async function project({ origin, token }: Given): Promise<object> {
  const client = createClient({ baseUrl: origin, apiKey: token });
  const { response, error } = await client.POST('/api/v4/projects', { body: { name: '' } });
  const { status, code, message, issues } = new ApiError(response, error);
  return { status, code, message, issues };
}

export async function bytes({ origin, key }: Given): Promise<readonly number[]> {
  const client = createClient({ baseUrl: origin, apiKey: key });
  const { data } = await client.GET('/api/daily-tps', {
    params: { query: { format: 'parquet', chain: 'polkadot' } },
    parseAs: 'arrayBuffer',
  });
  return [...new Uint8Array(data ?? new ArrayBuffer(0)).slice(0, 4)];
}

/** The error of an operation that takes a form. */
export async function form({ origin }: Given): Promise<string | undefined> {
  const client = createClient({ baseUrl: origin });
  const body = { grant_type: 'password', username: 'nobody', password: 'a guess' } as const;
  const { error } = await client.POST('/oauth/token', { body });
  return error?.error;
}

/** What the compiler knows. Never called. */
export async function typed(client = createClient({ baseUrl: '' })): Promise<void> {
  for await (const row of rows(client, '/api/daily-fees', { chain: 'polkadot', start_date: '2025-01-01' })) {
    const known: MetricRow<'/api/daily-fees'> = row;
    const [date, fees]: [string, number | null] = [known.date, known.total_fees];
    // @ts-expect-error A column that the record does not have.
    known[`${date}${fees}`] = row.nothing;
  }
  // @ts-expect-error No path of a metric.
  rows(client, '/api/status', {});
  // @ts-expect-error No parameter of the path.
  rows(client, '/api/daily-tps', { accounts: ['x'] });
  // @ts-expect-error The path needs both dates.
  rows(client, '/api/daily-summary', { start_date: '2025-01-01' });
  const { data, error } = await client.POST('/api/v4/projects', { body: { name: 'Watch' } });
  const name: string | undefined = data?.name ?? error?.message;
  // @ts-expect-error A project needs a name.
  await client.POST('/api/v4/projects', { body: { description: name } });
}
