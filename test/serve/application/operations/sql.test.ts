import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLogger } from '../../../../infra/logger.ts';
import { readAll } from '../../../../infra/ports.ts';
import { parquetLines } from '../../../../ingest/sources/parquet.ts';
import { LocalClient } from '../../../../serve/application/operations/client.ts';
import { SocketClient } from '../../../../serve/application/operations/socket-client.ts';
import { openOperationSocket } from '../../../../serve/application/operations/socket-server.ts';
import { runSql, type SqlRequest } from '../../../../serve/application/operations/sql.ts';
import { relations } from '../../../../serve/metrics/relations.ts';
import { onBranch, recordedBlocks } from '../../../ingest/sources/fake-sidecar.ts';
import { ingestAndCompute, openTestPipeline, type TestPipeline } from '../../../support/pipeline.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

let test: TestPipeline;
const recorded = recordedBlocks('polkadot');
const [height = 0] = recorded.keys();

beforeAll(async () => {
  test = await openTestPipeline();
  const lost = onBranch(recorded.get(height) as string, 'aa');
  const lines = [lost, ...recorded.values()].map((line) => ({ line, chain: 'polkadot' }));
  await ingestAndCompute(test.pipeline, lines);
});
afterAll(() => test.close());

async function answer(query: string, more: Partial<SqlRequest> = {}): Promise<string> {
  const request = { query, format: 'ndjson', ...more };
  return (await readAll(await runSql.run(test.pipeline, request, context()))).toString('utf8');
}

const context = () => ({
  onProgress: () => undefined,
  signal: new AbortController().signal,
  body: Readable.from([]),
});

const ask = async (...of: Parameters<typeof answer>): Promise<Record<string, unknown>[]> =>
  (await answer(...of))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('a query of an operator', () => {
  it('sees each block that counts once, and nothing of one that lost its height', async () => {
    const [row] = await ask('SELECT count() AS n, uniqExact(number) AS heights FROM blocks');
    expect([row?.n, row?.heights].map(Number)).toEqual([recorded.size, recorded.size]);
    const [hash] = await ask(`SELECT hash FROM blocks WHERE number = ${height}`);
    expect(hash).toEqual({ hash: JSON.parse(recorded.get(height) as string).hash });
    const [extrinsics] = await ask('SELECT sum(extrinsics) AS said FROM blocks');
    const [found] = await ask('SELECT count() AS n FROM extrinsics');
    expect(Number(found?.n)).toBe(Number(extrinsics?.said));
  });

  it('reads every table that is offered, with the columns that it is said to have', async () => {
    for (const { name, columns } of relations.values()) {
      const head = await answer(`SELECT * FROM ${name} LIMIT 0`, { format: 'csv' });
      expect(head.trim(), name).toBe(
        Object.keys(columns)
          .map((column) => `"${column}"`)
          .join(','),
      );
    }
  });

  it('joins tables, names its own, and keeps its order', async () => {
    const rows = await ask(
      `WITH busy AS (SELECT number, count() AS n FROM events GROUP BY number)
      SELECT number FROM blocks JOIN busy USING (number) ORDER BY number DESC -- the newest first`,
    );
    const numbers = rows.map((row) => Number(row.number));
    expect(numbers).toEqual([...numbers].sort((one, other) => other - one));
    expect(numbers.length).toBeGreaterThan(1);
  });

  it('is of the days and relay chains that are asked for', async () => {
    const days = 'SELECT DISTINCT toDate(time) AS day FROM blocks ORDER BY day';
    const all = (await ask(days)).map(({ day }) => String(day));
    const from = all[0] as string;
    expect(await ask(days, { from, until: from })).toEqual([{ day: from }]);
    expect(await ask(days, { relay_chain: 'kusama' })).toEqual([]);
  });

  it.each([
    ['SELEC 1', 'at position 7 (1): 1. Expected'],
    ["SELECT 'ü',\n  number FROM blocks\nLIMITT 1 x", 'at position 42 (1) (line 3, col 8): 1 x. Expected'],
    ['SELECT count( FROM blocks', 'Unmatched parentheses: ('],
    ['SELECT (1', 'at position 8 ((): (1. Unmatched parentheses: ('],
    ['SELECT 1)', 'at position 9 ()): ). Unmatched parentheses: )'],
  ])('is told where it is wrong by its own lines: %s', async (query, says) => {
    const error = await ask(query).catch((error) => error);
    expect(error.message).toContain(says);
    expect(error.message).not.toMatch(/date_time_output_format|FROM \( S.*SETTINGS|formatQuery/);
  });

  it.each([
    ['DROP TABLE blocks', /Syntax error: failed at position 6/],
    ['INSERT INTO blocks SELECT 1', /Syntax error/],
    ['SELECT 1; DROP TABLE chain_metrics.blocks', /Syntax error/],
    ['SELECT 1) ; DROP TABLE chain_metrics.blocks; SELECT * FROM (SELECT 1', /Unmatched parentheses/],
    ['INSERT INTO a VALUES ) ; DROP TABLE chain_metrics.blocks; SELECT * FROM (SELECT 1', /Syntax error/],
    ['SELECT 1) UNION ALL SELECT 2 FROM (SELECT 3', /Unmatched parentheses/],
    ["SELECT 1 INTO OUTFILE '/tmp/rows'", /Syntax error/],
    ['SELECT 1 FORMAT CSV', /Syntax error: failed at position 17/],
    ['SELECT nothing FROM blocks', /nothing/],
    ['SELECT * FROM tokens_of_somebody', /tokens_of_somebody/],
  ])('cannot be %s', async (query, says) => {
    await expect(ask(query)).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(says) });
    expect(Number((await ask('SELECT count() AS n FROM blocks'))[0]?.n)).toBe(recorded.size);
  });

  it('may have as many blanks as there is room for', async () => {
    expect(await ask(`SELECT${' '.repeat(90_000)}1 AS one ; ;`)).toEqual([{ one: 1 }]);
  });

  it('has amounts as text in files, whose readers know no integer of 128 bits', async () => {
    const query = "SELECT toUInt128('340282366920938463463374607431768211455') AS `a b`, toUInt64(7) AS n";
    const nullable = `${query}, CAST(NULL, 'Nullable(Int256)') AS none FROM blocks LIMIT 1`;
    const file = await runSql.run(test.pipeline, { query: nullable, format: 'parquet' }, context());
    const lines = await readAll(Readable.from(parquetLines(file, 2 ** 20)));
    expect(lines.toString()).toBe('{"a b":"340282366920938463463374607431768211455","n":7}\n');
    const wrong = runSql.run(
      test.pipeline,
      { query: 'SELECT nothing FROM blocks', format: 'arrow' },
      context(),
    );
    await expect(wrong).rejects.toThrow(/nothing/);
  });

  it('is told the same through the server that answers it', async () => {
    using place = temporaryDirectory();
    const log = openLogger({ LOG_LEVEL: 'silent' });
    const socket = await openOperationSocket(new LocalClient(test.pipeline), place.path, log);
    const client = (await SocketClient.connect(place.path)) as SocketClient;
    const through = (query: string) => client.call('sql', { query, format: 'ndjson' });
    await expect(through('SELECT nothing')).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/^ClickHouse refused the query: .*nothing/),
    });
    expect(await text(await through('SELECT 1 AS one'))).toBe('{"one":1}\n');
    await socket.close();
  });
});
