import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { raw, type Sql, sql } from '../../../infra/sql.ts';
import { decompress, readLines } from '../../../ingest/sources/lines.ts';
import { parquetLines } from '../../../ingest/sources/parquet.ts';
import { openStore } from '../../support/open-store.ts';
import { recordedLines } from '../../support/recordings.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// Parquet as other programs write it: of one document a row, its fields in columns.

const blocks = recordedLines('blocks')
  .filter(({ chain }) => chain === 'kusama')
  // Small enough to be told to the engine in one statement.
  .filter(({ line }) => line.length < 8000)
  .slice(0, 10)
  .map(({ line }) => JSON.parse(line) as Record<string, unknown>);
const disk = vi.hoisted(() => ({ free: Number.POSITIVE_INFINITY }));
vi.mock('node:fs/promises', async (original) => ({
  ...(await original<object>()),
  statfs: async () => ({ bavail: disk.free, bsize: 1 }),
}));
const directory = temporaryDirectory();
let opened: Awaited<ReturnType<typeof openStore>>;
beforeAll(async () => {
  opened = await openStore();
});
afterAll(async () => {
  await opened.close();
  directory[Symbol.dispose]();
});

async function documentsOf(bytes: Readable, lineBytes = 2 ** 24): Promise<unknown[]> {
  const documents: unknown[] = [];
  for await (const line of readLines(decompress('kusama.parquet', bytes, lineBytes), lineBytes)) {
    documents.push(JSON.parse(line.bytes.toString()));
  }
  return documents;
}

/** A table of texts, one row a document. */
const rowsOf = (documents: readonly object[]): Sql =>
  sql`(SELECT arrayJoin(${documents.map((document) => JSON.stringify(document))}) AS document)`;
const field = (name: string) => raw(`JSONExtractString(document, '${name}') AS ${name}`);
const json = (name: string) => raw(`JSONExtractRaw(document, '${name}') AS ${name}`);
const written = (statement: Sql) => opened.store.bytes(statement, 'Parquet');

const AS_COLUMNS = (documents: readonly object[]) => sql`
  SELECT ${field('number')}, ${field('hash')}, ${field('parentHash')}, ${json('onInitialize')}, ${json('extrinsics')},
    ${json('onFinalize')}, ${json('logs')}, toBool(JSONExtractBool(document, 'finalized')) AS finalized,
    CAST(NULL, 'Nullable(String)') AS authorId
  FROM ${rowsOf(documents)}`;

describe('the rows of a Parquet file', () => {
  const whole = blocks.map(
    ({ number, hash, parentHash, onInitialize, extrinsics, onFinalize, logs, finalized }) => ({
      number,
      hash,
      parentHash,
      onInitialize,
      extrinsics,
      onFinalize,
      logs,
      finalized: finalized === true,
    }),
  );

  test.each(['zstd', 'gzip', 'snappy', 'lz4', 'brotli', 'none'])(
    'are the blocks that the same lines would be, packed by %s',
    async (packing) => {
      const statement = sql`${AS_COLUMNS(whole)} SETTINGS output_format_parquet_compression_method = ${packing}`;
      expect(await documentsOf(Readable.from([await written(statement)]))).toEqual(whole);
    },
  );

  test('are read from a file part by part', async () => {
    const path = join(directory.path, 'kusama.parquet');
    writeFileSync(
      path,
      await written(sql`${AS_COLUMNS(whole)} SETTINGS output_format_parquet_row_group_size = 3`),
    );
    expect(await documentsOf(createReadStream(path))).toEqual(whole);
  });

  test('may hold the document in their only column, whatever its name', async () => {
    expect(await documentsOf(Readable.from([await written(rowsOf(whole))]))).toEqual(whole);
  });

  test('may be envelopes, with digits that no double holds', async () => {
    const statement = sql`SELECT 'block/1' AS schema, 'kusama' AS chain,
      '{"number":"1",\n "amount":340282366920938463463374607431768211455}' AS payload, toUInt64(9223372036854775809) AS version`;
    const lines = decompress('x.parquet', Readable.from([await written(statement)]), 2 ** 24);
    const [line] = await lines.toArray();
    expect(String(line)).toBe(
      '{"schema":"block/1","chain":"kusama","payload":{"number":"1",  "amount":340282366920938463463374607431768211455},"version":9223372036854775809}\n',
    );
  });

  test.each(['zstd', 'gzip', 'snappy', 'lz4', 'brotli'])(
    'are not unpacked where a page of %s is many times as long as the longest line',
    async (packing) => {
      const long = sql`SELECT repeat('0', 1000000) AS document SETTINGS output_format_parquet_compression_method = ${packing}`;
      await expect(documentsOf(Readable.from([await written(long)]), 100_000)).rejects.toMatchObject({
        code: 'PARQUET_BROKEN',
        message: expect.stringMatching(
          /a page has 10\d+ bytes, and the limit is 400000 \(4 × LINE_BYTES_MAX\)/,
        ),
      });
    },
  );

  const equalRows = (columns: Sql, rows: number) => sql`SELECT ${columns} FROM numbers(${rows})
    SETTINGS max_threads = 1, max_block_size = ${rows}, output_format_parquet_row_group_size = ${rows},
      output_format_parquet_row_group_size_bytes = 100000000000, output_format_parquet_compression_method = 'zstd'`;

  test('that take next to no bytes are decoded in parts as well', async () => {
    const bytes = await written(equalRows(sql`'{"number":"1"}' AS payload`, 8_000_000));
    expect(bytes.length).toBeLessThan(2000);
    const before = process.memoryUsage().heapUsed;
    for await (const line of parquetLines(Readable.from([bytes]), 1000)) {
      expect(String(line)).toBe('{"number":"1"}\n');
      break;
    }
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300 * 2 ** 20);
  });

  test('are not decoded where the pages of all columns hold too much at once', async () => {
    const columns = sql`'a' AS a, 'b' AS b, 'c' AS c, 'd' AS d, 'e' AS e`;
    await expect(
      documentsOf(Readable.from([await written(equalRows(columns, 4_000_000))])),
    ).rejects.toMatchObject({
      code: 'PARQUET_BROKEN',
      message: expect.stringContaining('pages have more than 16777216 values'),
    });
  });

  test('of a stream are not copied to a disk that has no room for them', async () => {
    disk.free = 2 ** 20;
    const endless = function* () {
      for (let pieces = 0; pieces < 128; pieces++) yield Buffer.alloc(2 ** 20);
    };
    await expect(documentsOf(Readable.from(endless()))).rejects.toMatchObject({
      code: 'source_failed',
      message: expect.stringMatching(/less than 536870912 bytes left after 67108864 bytes .*: set TMPDIR/),
    });
    disk.free = Number.POSITIVE_INFINITY;
  });

  test('that cannot be read are said to be broken', async () => {
    await expect(documentsOf(Readable.from([Buffer.from('no parquet at all')]))).rejects.toMatchObject({
      code: 'PARQUET_BROKEN',
    });
    const half = (await written(AS_COLUMNS(whole))).subarray(0, 2000);
    await expect(documentsOf(Readable.from([half]))).rejects.toMatchObject({ code: 'PARQUET_BROKEN' });
  });
});
