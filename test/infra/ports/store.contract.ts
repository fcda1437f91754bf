import { describe, expect, test } from 'vitest';
import { type Format, type QueryOptions, readAll, type Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { Opened } from './opened.ts';
import { lines, MAX_128, things, useStore } from './store-tables.ts';
import { type StoreDifferences, storeWritesContract } from './store-writes.contract.ts';

const FIXED = sql`SELECT toUInt32(1) AS id, 'a,"b"' AS name, CAST('340282366920938463463374607431768211455', 'UInt128') AS amount,
  NULL AS nothing, toDateTime64('2026-01-02 03:04:05.678', 3, 'UTC') AS at, [1, 2] AS list
  UNION ALL SELECT 2, 'line\nbreak', 0, NULL, toDateTime64('2026-01-02 00:00:00.000', 3, 'UTC'), []`;

/** Runs until it is cancelled. */
const ENDLESS = sql`SELECT sum(sipHash64(number, 7)) AS s FROM numbers(1000000000000)`;

export function storeContract(
  name: string,
  open: () => Promise<Opened<Store>>,
  differences?: StoreDifferences,
): void {
  describe(`store: ${name}`, () => {
    const used = useStore(open);

    describe('queries', () => {
      test('rows are objects, in order, with their types', async () => {
        expect(await used.store.rows(sql`SELECT * EXCEPT amount FROM (${FIXED}) ORDER BY id`)).toEqual([
          { id: 1, name: 'a,"b"', nothing: null, at: '2026-01-02T03:04:05.678Z', list: [1, 2] },
          { id: 2, name: 'line\nbreak', nothing: null, at: '2026-01-02T00:00:00.000Z', list: [] },
        ]);
        expect(await used.store.rows(sql`SELECT 1 AS one WHERE 0`)).toEqual([]);
      });

      test('a condition is applied to the newest version of a row, not before', async () => {
        for (const sequence of [1, 2]) {
          await used.store.insert(lines, [{ id: 1, name: `version ${sequence}`, total: 0, sequence }]);
        }
        const named = (name: string) =>
          used.store.rows(sql`SELECT name FROM ${lines} FINAL WHERE id = 1 AND name = ${name}`);
        expect(await named('version 1')).toEqual([]);
        expect(await named('version 2')).toEqual([{ name: 'version 2' }]);
      });

      test('64-bit counts are numbers', async () => {
        expect(await used.store.rows(sql`SELECT toUInt64(9007199254740991) AS n, count() AS c`)).toEqual([
          { n: Number.MAX_SAFE_INTEGER, c: 1 },
        ]);
      });

      test('JSON is one array with every digit', async () => {
        const bytes = await used.store.bytes(sql`SELECT * FROM (${FIXED}) ORDER BY id`, 'JSON');
        expect(JSON.parse(bytes.toString())).toHaveLength(2);
        expect(bytes.toString()).toContain(`"amount":${MAX_128}`);
        expect(bytes.toString()).toContain('"at":"2026-01-02T03:04:05.678Z"');
      });

      test('JSON of no rows is an empty array', async () => {
        const bytes = await used.store.bytes(sql`SELECT 1 AS one WHERE 0`, 'JSON');
        expect(JSON.parse(bytes.toString())).toEqual([]);
      });

      test('NDJSON is one object a line', async () => {
        const bytes = await used.store.bytes(sql`SELECT id, name FROM (${FIXED}) ORDER BY id`, 'NDJSON');
        expect(bytes.toString()).toBe('{"id":1,"name":"a,\\"b\\""}\n{"id":2,"name":"line\\nbreak"}\n');
      });

      test('CSV starts with the column names and quotes line breaks', async () => {
        const bytes = await used.store.bytes(sql`SELECT id, name, amount FROM (${FIXED}) ORDER BY id`, 'CSV');
        expect(bytes.toString()).toBe(`"id","name","amount"\n1,"a,""b""",${MAX_128}\n2,"line\nbreak",0\n`);
      });

      test('CSV of no rows has the column names, NDJSON is empty', async () => {
        expect((await used.store.bytes(sql`SELECT 1 AS one WHERE 0`, 'CSV')).toString()).toBe('"one"\n');
        expect((await used.store.bytes(sql`SELECT 1 AS one WHERE 0`, 'NDJSON')).toString()).toBe('');
      });

      test('Parquet is complete: the magic bytes at both ends and a footer', async () => {
        const bytes = await used.store.bytes(
          sql`SELECT number AS n, toString(number) AS t FROM numbers(5000)`,
          'Parquet',
        );
        expect(bytes.subarray(0, 4).toString('latin1')).toBe('PAR1');
        expect(bytes.subarray(-4).toString('latin1')).toBe('PAR1');
        const footer = bytes.readUInt32LE(bytes.length - 8);
        expect(footer).toBeGreaterThan(0);
        expect(footer).toBeLessThan(bytes.length - 8);
      });

      test('Arrow is complete: from the schema message to the end of the stream', async () => {
        const bytes = await used.store.bytes(sql`SELECT number AS n FROM numbers(5000)`, 'Arrow');
        expect(bytes.readUInt32LE(0)).toBe(0xffffffff);
        expect(bytes.readInt32LE(4)).toBeGreaterThan(0);
        expect(bytes.subarray(-8).toString('hex')).toBe('ffffffff00000000');
      });

      test.each<Format>(['JSON', 'NDJSON', 'CSV', 'Parquet', 'Arrow'])(
        'a stream of %s has the same bytes',
        async (format) => {
          for (const rows of [0, 1, 3000]) {
            const answer = sql`SELECT number AS n, concat('a\nb,', toString(number)) AS t FROM numbers(${rows}) ORDER BY n DESC`;
            const streamed = await readAll(await used.store.stream(answer, format));
            expect(streamed.equals(await used.store.bytes(answer, format))).toBe(true);
          }
        },
      );

      test('a stream of any size has chunks, and is never in memory as a whole', async () => {
        const answer = sql`SELECT number AS n, repeat('x', 1000) AS t FROM numbers(60000) ORDER BY n DESC`;
        const before = process.memoryUsage().arrayBuffers;
        let [bytes, longest, bytesAtFirst] = [0, 0, 0];
        for await (const piece of await used.store.stream(answer, 'NDJSON')) {
          if (bytes === 0) bytesAtFirst = process.memoryUsage().arrayBuffers - before;
          bytes += (piece as Buffer).length;
          longest = Math.max(longest, (piece as Buffer).length);
        }
        expect(bytes).toBeGreaterThan(60_000_000);
        expect(longest).toBeLessThan(2_000_000);
        expect(bytesAtFirst).toBeLessThan(10_000_000);
      });

      test('a stream that fails rejects before its first chunk', async () => {
        const failing = used.store.stream(sql`SELECT throwIf(number = 5, 'no') FROM numbers(10)`, 'CSV');
        await expect(failing).rejects.toMatchObject({ code: 'store_failed' });
      });

      test('unicode is returned unchanged', async () => {
        const text = 'é ü 漢字 🦀 \u2028 ﷽';
        expect(await used.store.rows(sql`SELECT ${text} AS text, lengthUTF8(${text}) AS length`)).toEqual([
          { text, length: [...text].length },
        ]);
      });
    });

    describe('exactness', () => {
      const amounts = [0n, 1n, 2n ** 53n + 1n, 2n ** 64n, 2n ** 127n + 1n, MAX_128];

      test('128-bit amounts are exact, as text and as rendered JSON', async () => {
        await used.store.insert(
          things,
          amounts.map((amount, id) => ({ id, amount: amount.toString() })),
        );
        const rows = await used.store.rows<{ amount: string }>(
          sql`SELECT toString(amount) AS amount FROM ${things} ORDER BY id`,
        );
        expect(rows.map(({ amount }) => BigInt(amount))).toEqual(amounts);
        const bytes = await used.store.bytes(sql`SELECT amount FROM ${things} ORDER BY id`, 'NDJSON');
        expect(bytes.toString().match(/\d+/g)?.map(BigInt)).toEqual(amounts);
      });

      test('amounts interpolated as bigint are compared exactly', async () => {
        await used.store.insert(things, [{ id: 1, amount: MAX_128.toString() }]);
        const count = (amount: bigint) =>
          used.store.rows(
            sql`SELECT count() AS n FROM ${things} WHERE amount = toUInt128(${amount.toString()})`,
          );
        expect(await count(MAX_128)).toEqual([{ n: 1 }]);
        expect(await count(MAX_128 - 1n)).toEqual([{ n: 0 }]);
      });

      test('doubles are returned exactly', async () => {
        const doubles = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 123456789.12345679, 1e21, 2 ** -1074];
        for (const double of doubles) {
          const [row] = await used.store.rows<{ d: number }>(sql`SELECT toFloat64(${String(double)}) AS d`);
          expect(row?.d).toBe(double);
        }
      });
    });

    describe('values', () => {
      const hostile = [
        "'; DROP TABLE port_things; --",
        "\\'; DROP TABLE port_things; --",
        '\\',
        '\\\\',
        "''",
        '{id:UInt64}',
        '`name`',
        '/* comment */ -- line',
        'FORMAT JSON',
        'a\nb\tc\r',
        '\0',
        'SETTINGS max_execution_time=0',
        '🦀\u0001\u007f',
      ];

      test.each(hostile)('%j is stored, found and returned unchanged', async (text) => {
        await used.store.insert(things, [{ id: 1, name: text, tags: [text] }]);
        expect(
          await used.store.rows(
            sql`SELECT name, tags FROM ${things} WHERE name = ${text} AND has(tags, ${text}) AND name IN ${[text, 'x']}`,
          ),
        ).toEqual([{ name: text, tags: [text] }]);
      });
    });

    describe('concurrency', () => {
      test('200 concurrent queries each get their own result', async () => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, i) =>
            i % 2 === 0
              ? used.store
                  .rows<{ n: number }>(sql`SELECT ${i} AS n, sum(number) AS s FROM numbers(${i * 50})`)
                  .then(([row]) => row?.n)
              : used.store
                  .bytes(sql`SELECT ${i} AS n`, 'NDJSON')
                  .then((bytes) => JSON.parse(bytes.toString()).n),
          ),
        );
        expect(answers).toEqual(Array.from({ length: 200 }, (_, i) => i));
      });

      test('one of many concurrent queries fails alone', async () => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 40 }, (_, i) =>
            i % 4 === 1
              ? used.store.rows(sql`SELECT * FROM ${{ name: 'port_nowhere' }}`)
              : used.store.rows(sql`SELECT ${i} AS n`),
          ),
        );
        outcomes.forEach((outcome, i) => {
          if (i % 4 === 1) expect(outcome.status).toBe('rejected');
          else expect(outcome).toEqual({ status: 'fulfilled', value: [{ n: i }] });
        });
      });

      test('a long query does not delay the others', async () => {
        let finished = false;
        const long = used.store.rows(sql`SELECT sleep(1.5) AS s`).then(() => {
          finished = true;
        });
        for (let i = 0; i < 5; i++) expect(await used.store.rows(sql`SELECT ${i} AS n`)).toEqual([{ n: i }]);
        expect(finished).toBe(false);
        await long;
      });

      test('queries of readers delay neither those of work nor probes', async () => {
        const leave = new AbortController();
        const options = { lane: 'readers', signal: leave.signal } as const;
        const long = Array.from({ length: 20 }, () => used.store.rows(ENDLESS, options).catch(() => 'ended'));
        expect(await used.store.rows(sql`SELECT 1 AS one`, { lane: 'probes' })).toEqual([{ one: 1 }]);
        expect(await used.store.rows(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
        leave.abort();
        expect(await Promise.all(long)).toEqual(long.map(() => 'ended'));
      });

      test('a query that lets others go first has a lower priority than those of other readers', async () => {
        const priority = sql`SELECT toUInt8(getSetting('priority')) AS priority`;
        const given = async (options: QueryOptions) => (await used.store.rows(priority, options))[0];
        expect(await given({ lane: 'readers', isLowPriority: false })).toEqual({ priority: 1 });
        expect(await given({ lane: 'readers', isLowPriority: true })).toEqual({ priority: 2 });
        expect(await given({})).toEqual({ priority: 0 });
      });

      test('a split result has the bytes of each of its parts', async () => {
        const rows = sql`SELECT number AS n, toDateTime64('2026-01-30 22:00:00', 3, 'UTC') + n AS time
          FROM numbers(20000)`;
        const day = sql`toString(toDate(time, 'UTC'))`;
        const limits = { memoryBytesMax: 2 ** 28 };
        const parts = await used.store.split(sql`${rows} ORDER BY n DESC`, day, 'Parquet', limits);
        expect([...parts.keys()].sort()).toEqual(['2026-01-30', '2026-01-31']);
        for (const [date, bytes] of parts) {
          const alone = sql`SELECT * FROM (${rows}) WHERE ${day} = ${date} ORDER BY n DESC`;
          expect(bytes.equals(await used.store.bytes(alone, 'Parquet')), date).toBe(true);
        }
        const failing = sql`SELECT throwIf(number > 5) AS n FROM numbers(9)`;
        const failed = used.store.split(failing, sql`toString(n)`, 'CSV', limits);
        await expect(failed).rejects.toMatchObject({ code: 'store_failed' });
      });

      test('a query whose signal is aborted ends, in the engine too', async () => {
        for (const delay of [0, 200]) {
          const leave = new AbortController();
          const long = used.store.bytes(ENDLESS, 'JSON', { lane: 'readers', signal: leave.signal });
          setTimeout(() => leave.abort(new Error('left')), delay);
          await expect(long).rejects.toThrow('left');
          const running = sql`SELECT query FROM system.processes WHERE NOT is_cancelled AND query LIKE concat('%sipHash64(number', ', 7)%')`;
          await expect.poll(() => used.store.rows(running), { timeout: 60_000 }).toEqual([]);
        }
        const late = used.store.rows(sql`SELECT 1`, { signal: AbortSignal.abort(new Error('left before')) });
        await expect(late).rejects.toThrow('left before');
      });

      test('a cancelled query leaves nothing in the results of those that follow', async () => {
        const some = sql`SELECT number FROM numbers(100000000000) WHERE sipHash64(number, 7) % 1000000 = 0`;
        for (const query of [some, ENDLESS]) {
          const leave = new AbortController();
          const options = { lane: 'readers', signal: leave.signal } as const;
          const left = [used.store.rows(query, options), used.store.bytes(query, 'JSON', options)];
          setTimeout(() => leave.abort(), 100);
          await Promise.allSettled(left);
          const next = Array.from({ length: 8 }, () =>
            used.store.rows(sql`SELECT 1 AS one`, { lane: 'readers' }),
          );
          expect((await Promise.all(next)).flat()).toEqual(next.map(() => ({ one: 1 })));
        }
      });

      test('settings of one statement do not apply to the next', async () => {
        await used.store.bytes(sql`SELECT 1 AS one`, 'JSON');
        const answers = await Promise.all(
          Array.from({ length: 16 }, () => used.store.rows(sql`SELECT 1 AS one`)),
        );
        expect(answers.flat()).toEqual(Array.from({ length: 16 }, () => ({ one: 1 })));
      });
    });
  });
  storeWritesContract(name, open, differences);
}
