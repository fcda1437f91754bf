import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll } from '../../../infra/ports.ts';
import { startClickHouse } from '../../support/services/clickhouse.ts';
import type { Service } from '../../support/services/service.ts';
import { until } from '../ports/opened.ts';

// The server of the other tests, seen by the ClickHouse client: the official one where Docker works, otherwise chDB
// behind the same HTTP interface, which must not differ in any of this.

let service: Service;
let client: ClickHouseClient;
const connect = (more: object = {}) =>
  createClient({
    url: `http://${service.host}:${service.port}`,
    username: 'reader',
    password: 'pa:ss wörd',
    log: { level: ClickHouseLogLevel.OFF },
    ...more,
  });

beforeAll(async () => {
  service = await startClickHouse({ user: 'reader', password: 'pa:ss wörd' });
  client = connect();
  await client.command({ query: 'CREATE DATABASE IF NOT EXISTS front' });
  await client.command({
    query: `CREATE TABLE front.rows (id UInt64, name String DEFAULT 'none', tags Array(String)) ENGINE = MergeTree ORDER BY id`,
  });
});
afterAll(async () => {
  await client.close();
  await service.close();
});

const json = async <T = unknown>(query: string, more: object = {}) =>
  (await client.query({ query, format: 'JSONEachRow', ...more })).json<T>();
const failure = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error as ClickHouseError,
  );

describe('ping', () => {
  test('succeeds, with and without a query', async () => {
    expect(await client.ping()).toEqual({ success: true });
    expect(await client.ping({ select: true })).toEqual({ success: true });
  });

  test('reports a missing server instead of throwing', async () => {
    const missing = connect({ url: 'http://127.0.0.1:9', request_timeout: 1000 });
    expect((await missing.ping()).success).toBe(false);
    await missing.close();
  });
});

describe('parameters', () => {
  test.each([
    ['String', "it's; {a:String} -- \\ \n\t 🦀"],
    ['UInt64', '18446744073709551615'],
    ['Array(String)', ['a', "b'c", 'd,e']],
    ['Nullable(String)', null],
    ['Bool', true],
    ['Map(String, UInt8)', { a: 1 }],
  ])('%s arrives unchanged', async (type, value) => {
    for (const use_multipart_params of [false, true]) {
      const [row] = await json<{ v: unknown }>(
        `SELECT {v:${type}} AS v SETTINGS output_format_json_quote_64bit_integers=1`,
        {
          query_params: { v: value },
          use_multipart_params,
        },
      );
      expect(row?.v).toEqual(value);
    }
  });

  test('a missing one is an error', async () => {
    expect((await failure(json('SELECT {v:UInt8}')))?.code).toBe('456');
  });
});

describe('settings', () => {
  test('of a query do not apply to the next', async () => {
    const get = "SELECT getSetting('max_block_size') AS n SETTINGS output_format_json_quote_64bit_integers=0";
    expect(await json(get, { clickhouse_settings: { max_block_size: '1234' } })).toEqual([{ n: 1234 }]);
    const after = await Promise.all(Array.from({ length: 20 }, () => json<{ n: number }>(get)));
    expect(after.flat().filter(({ n }) => n === 1234)).toEqual([]);
  });

  test('that do not exist are refused', async () => {
    expect((await failure(json('SELECT 1', { clickhouse_settings: { no_such_setting: 1 } })))?.code).toBe(
      '115',
    );
  });

  test('cancel a query that exceeds its time', async () => {
    const long = json('SELECT sum(sipHash64(number)) FROM numbers(1000000000000)', {
      clickhouse_settings: { max_execution_time: 1 },
    });
    expect((await failure(long))?.type).toBe('TIMEOUT_EXCEEDED');
  });
});

describe('results', () => {
  test.each(['JSONEachRow', 'JSON', 'JSONCompact'] as const)('%s is parsed by the client', async (format) => {
    const answer = await client.query({ query: 'SELECT number AS n FROM numbers(3)', format });
    const read = await answer.json<{ n: string }>();
    const rows = Array.isArray(read) ? read : (read as { data: unknown[] }).data;
    expect(rows).toHaveLength(3);
  });

  test('have the id of their query and their format', async () => {
    const { query_id, response_headers } = await client.query({
      query: 'SELECT 1 AS one',
      format: 'CSVWithNames',
      query_id: 'a-query-id',
    });
    expect(query_id).toBe('a-query-id');
    expect(response_headers['x-clickhouse-query-id']).toBe('a-query-id');
    expect(response_headers['x-clickhouse-format']).toBe('CSVWithNames');
  });

  test('are streamed row by row', async () => {
    const answer = await client.query({ query: 'SELECT number FROM numbers(300000)', format: 'JSONEachRow' });
    let rows = 0;
    let pieces = 0;
    for await (const piece of answer.stream()) {
      rows += piece.length;
      pieces++;
    }
    expect(rows).toBe(300_000);
    expect(pieces).toBeGreaterThan(1);
  });

  test('are compressed when the client requests it, with the same content', async () => {
    const packed = connect({ compression: { response: true } });
    const query = 'SELECT number, toString(number) AS text FROM numbers(10000)';
    const plain = await (await client.query({ query, format: 'CSV' })).text();
    expect(await (await packed.query({ query, format: 'CSV' })).text()).toBe(plain);
    await packed.close();
  });

  test('contain the bytes of binary formats', async () => {
    const { stream } = await client.exec({ query: 'SELECT number FROM numbers(1000) FORMAT Parquet' });
    const bytes = await readAll(stream);
    expect(bytes.subarray(0, 4).toString()).toBe('PAR1');
    expect(bytes.subarray(-4).toString()).toBe('PAR1');
  });
});

describe('inserts', () => {
  const rows = () =>
    json('SELECT * FROM front.rows ORDER BY id SETTINGS output_format_json_quote_64bit_integers=0');
  const empty = () => client.command({ query: 'TRUNCATE TABLE front.rows' });

  test('of objects, with defaults for missing columns', async () => {
    await empty();
    await client.insert({
      table: 'front.rows',
      values: [{ id: 1 }, { id: 2, name: 'é', tags: ['x'] }],
      format: 'JSONEachRow',
    });
    expect(await rows()).toEqual([
      { id: 1, name: 'none', tags: [] },
      { id: 2, name: 'é', tags: ['x'] },
    ]);
  });

  test.each([false, true])('of a stream of text, compressed: %s', async (request) => {
    await empty();
    const other = connect({ compression: { request } });
    const lines = Array.from({ length: 5000 }, (_, id) => `${id},"name ${id}"\n`);
    await other.insert({
      table: 'front.rows',
      columns: ['id', 'name'],
      values: Readable.from(lines, { objectMode: false }),
      format: 'CSV',
    });
    await other.close();
    expect(
      await json(
        'SELECT count() AS n, uniqExact(name) AS names FROM front.rows SETTINGS output_format_json_quote_64bit_integers=0',
      ),
    ).toEqual([{ n: 5000, names: 5000 }]);
  });

  test('through a SELECT from input()', async () => {
    await empty();
    await client.exec({
      query:
        "INSERT INTO front.rows SELECT id * 10, upper(name), [] FROM input('id UInt64, name String') FORMAT JSONEachRow",
      values: Readable.from(['{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n'], { objectMode: false }),
    });
    expect(await rows()).toEqual([
      { id: 10, name: 'A', tags: [] },
      { id: 20, name: 'B', tags: [] },
    ]);
  });

  test('with data after the statement', async () => {
    await empty();
    await client.command({ query: `INSERT INTO front.rows (id) VALUES (1), (2)` });
    await client.command({ query: 'INSERT INTO front.rows FORMAT JSONEachRow\n{"id":3,"name":"; DROP"}\n' });
    expect(await rows()).toHaveLength(3);
  });

  test('that are refused return the reason and insert nothing', async () => {
    await empty();
    const values = Readable.from(['{"id":1}\n{"id":"two"}\n'], { objectMode: false });
    const refused = await failure(
      client.exec({ query: 'INSERT INTO front.rows FORMAT JSONEachRow', values }),
    );
    expect(refused?.type).toMatch(/^CANNOT_PARSE/);
    const typo = client.insert({
      table: 'front.rows',
      values: [{ id: 1, nmae: 'x' }],
      format: 'JSONEachRow',
      clickhouse_settings: { input_format_skip_unknown_fields: 0 },
    });
    expect((await failure(typo))?.code).toBe('117');
    expect(await rows()).toEqual([]);
  });
});

describe('errors', () => {
  test.each([
    ['SELECT nothing', '47', 'UNKNOWN_IDENTIFIER'],
    ['SELECT * FROM front.nowhere', '60', 'UNKNOWN_TABLE'],
    ['SELECT * FROM nowhere.rows', '81', 'UNKNOWN_DATABASE'],
    ['SELEKT 1 FROM', '62', 'SYNTAX_ERROR'],
    ["SELECT throwIf(1, 'on purpose')", '395', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO'],
  ])('%s: code %s, %s', async (query, code, type) => {
    const error = await failure(client.command({ query }));
    expect(error).toBeInstanceOf(ClickHouseError);
    expect(error).toMatchObject({ code, type });
  });

  test('a wrong password is refused', async () => {
    const stranger = connect({ password: 'wrong' });
    expect((await failure(stranger.command({ query: 'SELECT 1' })))?.type).toBe('AUTHENTICATION_FAILED');
    await stranger.close();
  });

  test('one of many concurrent queries fails alone', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) => json(i % 3 === 0 ? 'SELECT nothing' : `SELECT ${i} AS n`)),
    );
    outcomes.forEach((outcome, i) => {
      expect(outcome.status).toBe(i % 3 === 0 ? 'rejected' : 'fulfilled');
    });
  });
});

describe('an aborted request', () => {
  test('cancels its query on the server', async () => {
    const abort = new AbortController();
    const text = 'SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 4242';
    const long = failure(
      client.query({
        query: text,
        abort_signal: abort.signal,
        clickhouse_settings: { cancel_http_readonly_queries_on_client_close: 1 },
      }),
    );
    const running = () =>
      json(`SELECT query FROM system.processes WHERE query LIKE '%4242%' AND query NOT LIKE '%processes%'`);
    await until('it runs', async () => (await running()).length === 1);
    abort.abort();
    expect(await long).toBeInstanceOf(Error);
    await until('it has ended', async () => (await running()).length === 0);
  });
});

describe('a server that is killed and started again', () => {
  test('has all acknowledged rows, and the client continues', async () => {
    await client.command({ query: 'TRUNCATE TABLE front.rows' });
    await client.insert({ table: 'front.rows', values: [{ id: 7 }], format: 'JSONEachRow' });
    await service.stop();
    expect(await failure(json('SELECT 1'))).toBeInstanceOf(Error);
    await service.start();
    expect(
      await json('SELECT id FROM front.rows SETTINGS output_format_json_quote_64bit_integers=0'),
    ).toEqual([{ id: 7 }]);
  });
});
