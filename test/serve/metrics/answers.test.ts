import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { raw } from '../../../infra/sql.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../support/pipeline.ts';
import { recordedLines } from '../../support/recordings.ts';

let pipeline: TestPipeline;
let app: FastifyInstance;

beforeAll(async () => {
  pipeline = await openTestPipeline();
  await ingestAndCompute(pipeline.pipeline, [...recordedLines('blocks'), ...recordedLines('runtime')]);
  app = await buildServer(pipeline.pipeline);
});
afterAll(async () => {
  await app.close();
  await pipeline.close();
});

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });
const PAGED = [
  '/api/daily-fees',
  '/api/daily-tps?chain=ecosystem',
  '/api/explorer/recent-extrinsics?chain=polkadot',
  '/api/coretime-region-events',
  '/api/coretime-account-spend',
  '/api/gov-voter-history',
  '/api/daily-staking-rewards?start_date=2024-01-01&end_date=2100-01-01',
];
const withParameter = (url: string, parameter: string) =>
  `${url}${url.includes('?') ? '&' : '?'}${parameter}`;

async function followPages(first: string): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let url: string | undefined = first; url !== undefined; ) {
    const answer = await get(url);
    rows.push(...answer.json<unknown[]>());
    url = /<([^>]+)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1];
    expect(answer.headers['x-truncated']).toBe(url === undefined ? 'false' : 'true');
  }
  return rows;
}

describe('pages', () => {
  it.each(PAGED)('%s: whatever the page size, every row comes once and in order', async (url) => {
    const whole = (await get(url)).json<unknown[]>();
    expect(whole.length).toBeGreaterThan(1);
    for (const size of [1, 2, 3, 7, whole.length, whole.length + 1]) {
      if (whole.length / size > 40) continue;
      expect(await followPages(withParameter(url, `limit=${size}`))).toEqual(whole);
    }
  });

  it.each(PAGED)(
    '%s: a page is the same bytes as the beginning of the whole, and goes on alike in every form',
    async (url) => {
      const lines = (await get(url)).body.split('\n');
      const page = await get(withParameter(url, 'limit=2'));
      expect(page.body).toBe(`[\n${lines[1]}\n${String(lines[2]).replace(/,$/, '')}\n]\n`);
      const [, row = ''] = (await get(withParameter(url, 'limit=1'))).body.split('\n');
      expect((await get(withParameter(url, 'limit=1&format=ndjson'))).body).toBe(`${row}\n`);
      for (const format of ['ndjson', 'csv', 'parquet']) {
        const { link } = (await get(withParameter(url, `limit=2&format=${format}`))).headers;
        const cursorOf = (header: unknown) => /cursor=[^&>]+/.exec(String(header))?.[0];
        expect([format, cursorOf(link)]).toEqual([format, cursorOf(page.headers.link)]);
      }
    },
  );

  it.each(PAGED)('%s: the other direction gives the same rows in reverse, page by page', async (url) => {
    const whole = (await get(url)).json<unknown[]>();
    const directions = ['asc', 'desc'].map((order) => withParameter(url, `order=${order}`));
    const answers = await Promise.all(directions.map(async (one) => (await get(one)).json<unknown[]>()));
    expect(answers).toContainEqual(whole);
    expect(answers).toContainEqual([...whole].reverse());
    for (const [i, direction] of directions.entries()) {
      const size = Math.ceil(whole.length / 3);
      expect(await followPages(withParameter(direction, `limit=${size}`))).toEqual(answers[i]);
    }
  });

  it('a page in an order that leaves the key of its table reads the days of the page only', async () => {
    const { store } = pipeline.pipeline.runtime;
    const { bytes } = store;
    const statements: string[] = [];
    store.bytes = (statement, ...rest) => {
      statements.push(statement.text);
      return bytes.call(store, statement, ...rest);
    };
    try {
      const days = 'start_date=2024-01-01&end_date=2099-01-01';
      const [row] = (await get(`/api/daily-staking-rewards?${days}&limit=1`)).json<{ date: string }[]>();
      expect(statements).toEqual([expect.stringMatching(/date <= '(?!2099)/)]);
      expect(row?.date).toMatch(/^20/);
      await get(`/api/daily-staking-rewards?${days}&limit=1&order=desc`);
      expect(statements.at(-1)).toMatch(/date >= '(?!2024-01-01)/);
    } finally {
      store.bytes = bytes;
    }
  });

  it('an answer without a limit is whole and says so', async () => {
    const answer = await get('/api/daily-fees');
    expect(answer.headers.link).toBeUndefined();
    expect(answer.headers['x-truncated']).toBe('false');
  });

  it('a cursor of another path is refused, not guessed at', async () => {
    const cursor = Buffer.from(JSON.stringify(['2024-01-01'])).toString('base64url');
    expect((await get(`/api/daily-fees?cursor=${cursor}`)).statusCode).toBe(422);
  });
});

describe('many values of one parameter', () => {
  const addresses = (many: number) =>
    Array.from({ length: many }, (_, i) => `addresses=0x${i.toString(16).padStart(40, '0')}`).join('&');

  it('a thousand are asked for at once; of ten thousand the answer says which parameter has too many', async () => {
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    expect((await fetch(`${origin}/api/contracts-search?${addresses(1000)}`)).status).toBe(200);
    const refused = await fetch(`${origin}/api/contracts-search?${addresses(10_000)}`);
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({
      detail: [
        {
          loc: ['query', 'addresses'],
          msg: 'more than 1000 values: split them over several requests',
          input: '10000 values',
        },
      ],
    });
  });
});

describe('content codings', () => {
  const PATH = '/api/explorer/recent-extrinsics?relay_chain=polkadot';
  const decoded: Readonly<Record<string, (body: Buffer) => Buffer>> = {
    br: brotliDecompressSync,
    gzip: gunzipSync,
    zstd: zstdDecompressSync,
  };
  const coded = (accepted: string, url = PATH) => get(url, { 'accept-encoding': accepted });

  it.each(Object.keys(decoded))(
    '%s: the same bytes, made once, with an ETag of their own',
    async (coding) => {
      const plain = await get(PATH);
      expect(plain.headers['content-encoding']).toBeUndefined();
      const first = await coded(coding);
      expect(first.headers['content-encoding']).toBe(coding);
      expect(first.headers.vary).toContain('Accept-Encoding');
      expect(first.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
      expect(decoded[coding]?.(first.rawPayload)).toEqual(plain.rawPayload);
      expect(first.headers.etag).not.toBe(plain.headers.etag);
      const again = await coded(coding);
      expect(again.rawPayload).toEqual(first.rawPayload);
      const etag = String(first.headers.etag);
      const same = await get(PATH, { 'accept-encoding': coding, 'if-none-match': etag });
      expect(same.statusCode).toBe(304);
      expect((await get(PATH, { 'if-none-match': etag })).statusCode).toBe(200);
    },
  );

  it('what is short, or compressed inside, is sent as it is', async () => {
    expect((await coded('gzip', `${PATH}&format=parquet`)).headers['content-encoding']).toBeUndefined();
    expect((await coded('gzip', `${PATH}&limit=1&format=csv`)).headers['content-encoding']).toBeUndefined();
    expect((await coded('gzip', `${PATH}&format=arrow`)).headers['content-encoding']).toBe('gzip');
  });
});

describe('caching', () => {
  it('an answer has a strong ETag, and the same again is 304 without a body', async () => {
    const first = await get('/api/daily-fees');
    expect(first.headers.etag).toMatch(/^"[\w-]+"$/);
    const again = await get('/api/daily-fees', { 'if-none-match': String(first.headers.etag) });
    expect(again.statusCode).toBe(304);
    expect(again.body).toBe('');
    expect(again.headers.etag).toBe(first.headers.etag);
  });

  it('shared caches may serve all readers, once for each format that the address names, and no error', async () => {
    const cachingOf = async (url: string) => {
      const { headers } = await get(url);
      return [headers['cache-control'], headers.vary];
    };
    const shared = 'public, max-age=15, stale-while-revalidate=60';
    expect(await cachingOf('/api/daily-fees')).toEqual([shared, 'Accept, Accept-Encoding']);
    expect(await cachingOf('/api/daily-fees?format=csv')).toEqual([shared, 'Accept-Encoding']);
    expect((await cachingOf('/api/status'))[0]).toBe(shared);
    for (const url of ['/api/daily-fees?chain=', '/api/nothing'])
      expect([url, (await cachingOf(url))[0]]).toEqual([url, 'no-store']);
  });

  it('HEAD tells the length of the answer, and its 304 none', async () => {
    const first = await get('/api/daily-fees');
    const head = await app.inject({ method: 'HEAD', url: '/api/daily-fees' });
    expect(head.headers['content-length']).toBe(String(first.rawPayload.length));
    const headers = { 'if-none-match': String(first.headers.etag) };
    const again = await app.inject({ method: 'HEAD', url: '/api/daily-fees', headers });
    expect(again.statusCode).toBe(304);
    expect(again.headers).not.toHaveProperty('content-length');
    expect(again.headers.etag).toBe(first.headers.etag);
  });

  it('HEAD tells no length of what GET would compress anew', async () => {
    const head = async (headers: Record<string, string>) =>
      (await app.inject({ method: 'HEAD', url: '/api/status', headers })).headers;
    expect(await head({})).toHaveProperty('content-length');
    expect(await head({ 'accept-encoding': 'gzip' })).not.toHaveProperty('content-length');
  });

  it('the second answer is the same bytes as the first', async () => {
    const url = '/api/daily-tps?start_date=2025-01-01';
    expect((await get(url)).body).toBe((await get(url)).body);
  });

  it('each form of an answer has its own ETag', async () => {
    const tags = await Promise.all(
      ['json', 'csv', 'ndjson'].map(
        async (format) => (await get(`/api/daily-tps?format=${format}`)).headers.etag,
      ),
    );
    expect(new Set(tags).size).toBe(3);
  });

  it('a recomputation of the table changes the ETag', async () => {
    const before = (await get('/api/daily-fees')).headers.etag;
    const price = {
      schema: 'snapshot/1',
      kind: 'price',
      relay_chain: 'polkadot',
      chain: 'polkadot',
      block_number: 1,
      as_of: '2025-07-14T12:00:00.000Z',
      payload: { symbol: 'GLMR', usd: 0.07 },
    };
    await ingestAndCompute(pipeline.pipeline, [{ line: JSON.stringify(price) }]);
    expect((await get('/api/daily-fees')).headers.etag).not.toBe(before);
  });
});

describe('forms', () => {
  it.each([
    ['text/csv', 'text/csv'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['application/vnd.apache.parquet', 'application/vnd.apache.parquet'],
    ['application/vnd.apache.arrow.stream', 'application/vnd.apache.arrow.stream'],
    ['application/json, */*;q=0.5', 'application/json'],
    ['text/html', 'application/json'],
  ])('Accept: %s gives %s', async (accept, type) => {
    const answer = await get('/api/daily-tps', { accept });
    expect(answer.statusCode).toBe(200);
    expect(String(answer.headers['content-type'])).toContain(type);
    expect(answer.headers.vary).toContain('Accept');
  });

  it('format= stands over Accept', async () => {
    const answer = await get('/api/daily-tps?format=csv', { accept: 'application/json' });
    expect(String(answer.headers['content-type'])).toContain('text/csv');
  });

  it('the rows are the same in JSON, NDJSON and CSV', async () => {
    const rows = (await get('/api/daily-tps')).json<Record<string, unknown>[]>();
    const lines = (await get('/api/daily-tps?format=ndjson')).body.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows);
    const csv = (await get('/api/daily-tps?format=csv')).body.trim().split('\n');
    expect(csv).toHaveLength(rows.length + 1);
    expect(csv[0]).toBe(
      Object.keys(rows[0] ?? {})
        .map((name) => `"${name}"`)
        .join(','),
    );
  });

  it.each(PAGED)(
    '%s: in CSV every text is quoted, every unknown value empty and everything else bare',
    async (url) => {
      const rows = (await get(url)).json<Record<string, unknown>[]>();
      const cell = (value: unknown) => {
        if (value === null || typeof value === 'number' || typeof value === 'boolean')
          return String(value ?? '');
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        return `"${text.replaceAll('"', '""')}"`;
      };
      const lines = rows.map((row) => Object.values(row).map(cell).join(','));
      const [, ...csv] = (await get(withParameter(url, 'format=csv'))).body.trimEnd().split('\n');
      expect(csv).toEqual(lines);
    },
  );

  it('a CSV tells an unknown value from an empty text', async () => {
    const { store } = pipeline.pipeline.runtime;
    const csv = await store.bytes(
      raw(`SELECT CAST(NULL, 'Nullable(Float64)') AS a, '' AS b, NULL AS c`),
      'CSV',
    );
    expect(csv.toString()).toBe('"a","b","c"\n,"",\n');
  });

  it('lists and objects are native in Parquet, as in JSON', async () => {
    const read = async (path: string) => {
      const { rawPayload } = await get(`${path}?format=parquet&limit=1000`);
      const file = rawPayload.buffer.slice(rawPayload.byteOffset, rawPayload.byteOffset + rawPayload.length);
      return parquetReadObjects({ file: file as ArrayBuffer, compressors });
    };
    const json = async (path: string) => (await get(`${path}?limit=1000`)).json<Record<string, unknown>[]>();
    const plain = (value: unknown) =>
      JSON.parse(JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? Number(one) : one)));
    const events = await json('/api/coretime-region-events');
    expect(events.some(({ new_regions }) => (new_regions as unknown[]).length > 0)).toBe(true);
    expect(plain((await read('/api/coretime-region-events')).map((row) => row.new_regions))).toEqual(
      events.map((row) => row.new_regions),
    );
    const none = { region_begin: null, r_core: null, r_mask: null };
    expect(plain((await read('/api/coretime-regions')).map((row) => row.parent_region))).toEqual(
      (await json('/api/coretime-regions')).map((row) => row.parent_region ?? none),
    );
    const renewals = await json('/api/coretime-renewals');
    expect(renewals.length).toBeGreaterThan(0);
    type Part = { mask: string; assignment: { task: number } | string };
    expect(plain((await read('/api/coretime-renewals')).map((row) => row.workload))).toEqual(
      renewals.map(({ workload }) =>
        (workload as Part[]).map(({ mask, assignment }) =>
          typeof assignment === 'string'
            ? { mask, assignment, task: null }
            : { mask, assignment: 'Task', task: assignment.task },
        ),
      ),
    );
  });

  it('Parquet and Arrow come as whole files', async () => {
    const parquet = (await get('/api/daily-tps?format=parquet')).rawPayload;
    expect(parquet.subarray(0, 4).toString()).toBe('PAR1');
    expect(parquet.subarray(-4).toString()).toBe('PAR1');
    const arrow = (await get('/api/daily-tps?format=arrow')).rawPayload;
    expect(arrow.subarray(0, 4)).toEqual(Buffer.from([0xff, 0xff, 0xff, 0xff]));
  });
});

describe('freshness and coverage', () => {
  it('an answer says how old and how whole its data are', async () => {
    const { headers } = await get('/api/explorer/network-stats?chain=kusama');
    expect(headers['x-data-as-of']).toBe('2022-07-14T11:20:18.014Z');
    expect(Number(headers['x-data-lag-seconds'])).toBeGreaterThan(0);
    expect(headers['x-coverage']).toBe('partial');
  });

  it('a range without holes is complete', async () => {
    const { headers } = await get('/api/daily-tps?chain=moonbeam');
    expect(headers['x-coverage']).toBe('complete');
  });
});
