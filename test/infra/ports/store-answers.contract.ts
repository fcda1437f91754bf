import { describe, expect, test } from 'vitest';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { type Format, readAll, type Store } from '../../../infra/ports.ts';

export const MAX_128 = 2n ** 128n - 1n;
const FIXED = sql`SELECT toUInt32(1) AS id, 'a,"b"' AS name, CAST('340282366920938463463374607431768211455', 'UInt128') AS amount,
  NULL AS nothing, toDateTime64('2026-01-02 03:04:05.678', 3, 'UTC') AS at, [1, 2] AS list
  UNION ALL SELECT 2, 'line\nbreak', 0, NULL, toDateTime64('2026-01-02 00:00:00.000', 3, 'UTC'), []`;

/** Answers of a store in every format; part of its contract. */
export function answersContract(store: () => Store): void {
  describe('answers', () => {
    test('rows come as objects, in order, with their types', async () => {
      expect(await store().rows(sql`SELECT * EXCEPT amount FROM (${FIXED}) ORDER BY id`)).toEqual([
        { id: 1, name: 'a,"b"', nothing: null, at: '2026-01-02T03:04:05.678Z', list: [1, 2] },
        { id: 2, name: 'line\nbreak', nothing: null, at: '2026-01-02T00:00:00.000Z', list: [] },
      ]);
      expect(await store().rows(sql`SELECT 1 AS one WHERE 0`)).toEqual([]);
    });

    test('64-bit counts come as numbers', async () => {
      expect(await store().rows(sql`SELECT toUInt64(9007199254740991) AS n, count() AS c`)).toEqual([
        { n: Number.MAX_SAFE_INTEGER, c: 1 },
      ]);
    });

    test('JSON is one array with every digit', async () => {
      const bytes = await store().bytes(sql`SELECT * FROM (${FIXED}) ORDER BY id`, 'JSON');
      expect(JSON.parse(bytes.toString())).toHaveLength(2);
      expect(bytes.toString()).toContain(`"amount":${MAX_128}`);
      expect(bytes.toString()).toContain('"at":"2026-01-02T03:04:05.678Z"');
    });

    test('JSON of no rows is an empty array', async () => {
      const bytes = await store().bytes(sql`SELECT 1 AS one WHERE 0`, 'JSON');
      expect(JSON.parse(bytes.toString())).toEqual([]);
    });

    test('NDJSON is one object a line', async () => {
      const bytes = await store().bytes(sql`SELECT id, name FROM (${FIXED}) ORDER BY id`, 'NDJSON');
      expect(bytes.toString()).toBe('{"id":1,"name":"a,\\"b\\""}\n{"id":2,"name":"line\\nbreak"}\n');
    });

    test('CSV begins with the names and quotes what would break a line', async () => {
      const bytes = await store().bytes(sql`SELECT id, name, amount FROM (${FIXED}) ORDER BY id`, 'CSV');
      expect(bytes.toString()).toBe(`"id","name","amount"\n1,"a,""b""",${MAX_128}\n2,"line\nbreak",0\n`);
    });

    test('CSV and NDJSON of no rows are the names alone and nothing', async () => {
      expect((await store().bytes(sql`SELECT 1 AS one WHERE 0`, 'CSV')).toString()).toBe('"one"\n');
      expect((await store().bytes(sql`SELECT 1 AS one WHERE 0`, 'NDJSON')).toString()).toBe('');
    });

    test('Parquet is whole: its mark stands at both ends and its footer inside', async () => {
      const bytes = await store().bytes(
        sql`SELECT number AS n, toString(number) AS t FROM numbers(5000)`,
        'Parquet',
      );
      expect(bytes.subarray(0, 4).toString('latin1')).toBe('PAR1');
      expect(bytes.subarray(-4).toString('latin1')).toBe('PAR1');
      const footer = bytes.readUInt32LE(bytes.length - 8);
      expect(footer).toBeGreaterThan(0);
      expect(footer).toBeLessThan(bytes.length - 8);
    });

    test('Arrow is whole: it opens with a schema message and ends with the end of the stream', async () => {
      const bytes = await store().bytes(sql`SELECT number AS n FROM numbers(5000)`, 'Arrow');
      expect(bytes.readUInt32LE(0)).toBe(0xffffffff);
      expect(bytes.readInt32LE(4)).toBeGreaterThan(0);
      expect(bytes.subarray(-8).toString('hex')).toBe('ffffffff00000000');
    });

    test.each<Format>(['JSON', 'NDJSON', 'CSV', 'Parquet', 'Arrow'])(
      'a stream of %s is the same bytes',
      async (format) => {
        for (const rows of [0, 1, 3000]) {
          const answer = sql`SELECT number AS n, concat('a\nb,', toString(number)) AS t FROM numbers(${rows}) ORDER BY n DESC`;
          const streamed = await readAll(await store().stream(answer, format));
          expect(streamed.equals(await store().bytes(answer, format))).toBe(true);
        }
      },
    );

    test('a stream of any size comes in pieces, and is never held as a whole', async () => {
      const answer = sql`SELECT number AS n, repeat('x', 1000) AS t FROM numbers(60000) ORDER BY n DESC`;
      const before = process.memoryUsage().arrayBuffers;
      let [bytes, longest, heldAtFirst] = [0, 0, 0];
      for await (const piece of await store().stream(answer, 'NDJSON')) {
        if (bytes === 0) heldAtFirst = process.memoryUsage().arrayBuffers - before;
        bytes += (piece as Buffer).length;
        longest = Math.max(longest, (piece as Buffer).length);
      }
      expect(bytes).toBeGreaterThan(60_000_000);
      expect(longest).toBeLessThan(2_000_000);
      expect(heldAtFirst).toBeLessThan(10_000_000);
    });

    test('a stream that fails says so before its first piece', async () => {
      const failing = store().stream(sql`SELECT throwIf(number = 5, 'no') FROM numbers(10)`, 'CSV');
      await expect(failing).rejects.toMatchObject({ code: 'store_failed' });
    });

    test('unicode arrives as it was sent', async () => {
      const text = 'é ü 漢字 🦀 \u2028 ﷽';
      expect(await store().rows(sql`SELECT ${text} AS text, lengthUTF8(${text}) AS length`)).toEqual([
        { text, length: [...text].length },
      ]);
    });
  });
}
