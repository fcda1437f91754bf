import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { createTable, createView, landingTable, table, view } from '../../../infra/clickhouse/table.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { StagedBatch, Store } from '../../../infra/ports.ts';
import type { Opened } from './opened.ts';
import { answersContract, MAX_128 } from './store-answers.contract.ts';

const things = table({
  name: 'port_things',
  doc: 'Rows that are written one by one.',
  columns: {
    id: 'UInt64',
    name: 'String',
    amount: 'Nullable(UInt128)',
    tags: 'Array(String)',
    at: "DateTime64(3, 'UTC')",
  },
  engine: 'MergeTree',
  orderBy: ['id'],
});
const linesIn = landingTable({
  name: 'port_lines_in',
  doc: 'Where staged lines enter.',
  columns: { sequence: 'UInt64', id: 'UInt64', payload: 'Tuple(name String, amounts Array(String))' },
});
const lines = table({
  name: 'port_lines',
  doc: 'What became of staged lines; the newest version of an id lives.',
  columns: { id: 'UInt64', name: 'String', total: 'UInt128', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['id'],
});
const lineRows = view(
  'port_lines_to_lines',
  linesIn,
  lines,
  sql`SELECT id, payload.name AS name, arraySum(arrayMap(a -> toUInt128(a), payload.amounts)) AS total,
    sequence + throwIf(payload.name = 'broken view', 'the view is broken') AS sequence FROM ${linesIn}`,
);

/** Where an implementation differs, and why that is right. */
export interface StoreDifferences {
  /** Why a batch that was staged does not outlive the process; absent where it does. */
  readonly forgetsStaged?: string;
}

export function storeContract(
  name: string,
  open: () => Promise<Opened<Store>>,
  { forgetsStaged: reason }: StoreDifferences = {},
): void {
  const keepsStaged = reason === undefined;
  describe(`store: ${name}`, () => {
    let opened: Opened<Store>;
    let store: Store;
    beforeAll(async () => {
      opened = await open();
      store = opened.port;
      for (const each of [things, linesIn, lines]) await store.run(createTable(each));
      await store.run(createView(lineRows));
    });
    afterAll(() => opened.close());
    beforeEach(async () => {
      await store.run(sql`TRUNCATE TABLE ${things}`);
      await store.run(sql`TRUNCATE TABLE ${lines}`);
    });

    const line = (sequence: number, id: number, name: string, amounts: unknown = [1]) =>
      Buffer.from(JSON.stringify({ sequence, id, payload: { name, amounts } }));
    const living = () =>
      store.rows(sql`SELECT id, name, toString(total) AS total FROM ${lines} FINAL ORDER BY id`);

    answersContract(() => store);

    describe('exactness', () => {
      const amounts = [0n, 1n, 2n ** 53n + 1n, 2n ** 64n, 2n ** 127n + 1n, MAX_128];

      test('128-bit amounts are kept digit by digit, as text and as rendered JSON', async () => {
        await store.insert(
          things,
          amounts.map((amount, id) => ({ id, amount: amount.toString() })),
        );
        const rows = await store.rows<{ amount: string }>(
          sql`SELECT toString(amount) AS amount FROM ${things} ORDER BY id`,
        );
        expect(rows.map(({ amount }) => BigInt(amount))).toEqual(amounts);
        const bytes = await store.bytes(sql`SELECT amount FROM ${things} ORDER BY id`, 'NDJSON');
        expect(bytes.toString().match(/\d+/g)?.map(BigInt)).toEqual(amounts);
      });

      test('amounts interpolated as bigint are compared exactly', async () => {
        await store.insert(things, [{ id: 1, amount: MAX_128.toString() }]);
        const count = (amount: bigint) =>
          store.rows(sql`SELECT count() AS n FROM ${things} WHERE amount = toUInt128(${amount.toString()})`);
        expect(await count(MAX_128)).toEqual([{ n: 1 }]);
        expect(await count(MAX_128 - 1n)).toEqual([{ n: 0 }]);
      });

      test('doubles come back bit by bit', async () => {
        const doubles = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 123456789.12345679, 1e21, 2 ** -1074];
        for (const double of doubles) {
          const [row] = await store.rows<{ d: number }>(sql`SELECT toFloat64(${String(double)}) AS d`);
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

      test.each(hostile)('%j is written, found and read as itself', async (text) => {
        await store.insert(things, [{ id: 1, name: text, tags: [text] }]);
        expect(
          await store.rows(
            sql`SELECT name, tags FROM ${things} WHERE name = ${text} AND has(tags, ${text}) AND name IN ${[text, 'x']}`,
          ),
        ).toEqual([{ name: text, tags: [text] }]);
      });
    });

    describe('concurrency', () => {
      test('200 queries at once each get their own answer', async () => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, (_, i) =>
            i % 2 === 0
              ? store
                  .rows<{ n: number }>(sql`SELECT ${i} AS n, sum(number) AS s FROM numbers(${i * 50})`)
                  .then(([row]) => row?.n)
              : store.bytes(sql`SELECT ${i} AS n`, 'NDJSON').then((bytes) => JSON.parse(bytes.toString()).n),
          ),
        );
        expect(answers).toEqual(Array.from({ length: 200 }, (_, i) => i));
      });

      test('a failing query among many fails alone', async () => {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 40 }, (_, i) =>
            i % 4 === 1
              ? store.rows(sql`SELECT * FROM ${{ name: 'port_nowhere' }}`)
              : store.rows(sql`SELECT ${i} AS n`),
          ),
        );
        outcomes.forEach((outcome, i) => {
          if (i % 4 === 1) expect(outcome.status).toBe('rejected');
          else expect(outcome).toEqual({ status: 'fulfilled', value: [{ n: i }] });
        });
      });

      test('a long query does not hold up the others', async () => {
        let finished = false;
        const long = store.rows(sql`SELECT sleep(1.5) AS s`).then(() => {
          finished = true;
        });
        for (let i = 0; i < 20; i++) expect(await store.rows(sql`SELECT ${i} AS n`)).toEqual([{ n: i }]);
        expect(finished).toBe(false);
        await long;
      });

      test('settings of one statement do not reach the next', async () => {
        await store.bytes(sql`SELECT 1 AS one`, 'JSON');
        const answers = await Promise.all(Array.from({ length: 16 }, () => store.rows(sql`SELECT 1 AS one`)));
        expect(answers.flat()).toEqual(Array.from({ length: 16 }, () => ({ one: 1 })));
      });
    });

    describe('insert', () => {
      test('keeps rows with what they name and defaults for the rest', async () => {
        await store.insert(things, [
          { id: 1, name: 'one', at: '2026-01-02T03:04:05.678Z' },
          { id: 2, name: 'two', at: '2026-01-02T03:04:05.000Z' },
        ]);
        expect(await store.rows(sql`SELECT * FROM ${things} ORDER BY id`)).toEqual([
          { id: 1, name: 'one', amount: null, tags: [], at: '2026-01-02T03:04:05.678Z' },
          { id: 2, name: 'two', amount: null, tags: [], at: '2026-01-02T03:04:05.000Z' },
        ]);
      });

      test('of no rows does nothing', async () => {
        await store.insert(things, []);
        expect(await store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });

      test('of a column that the table lacks fails instead of dropping it', async () => {
        await expect(store.insert(things, [{ id: 1, nmae: 'typo' }])).rejects.toThrow();
        expect(await store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });

      test('of one bad row among good ones keeps none of them', async () => {
        await expect(store.insert(things, [{ id: 1 }, { id: 'two' }, { id: 3 }])).rejects.toThrow();
        expect(await store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });

      test('many at once lose nothing', async () => {
        await Promise.all(
          Array.from({ length: 40 }, (_, id) => store.insert(things, [{ id, name: `row ${id}` }])),
        );
        expect(await store.rows(sql`SELECT count() AS n, uniqExact(name) AS names FROM ${things}`)).toEqual([
          { n: 40, names: 40 },
        ]);
      });
    });

    describe('staged batches', () => {
      test('a commit loads every line under a number of its own, and nothing before it', async () => {
        const batch = await store.stage(linesIn, [
          line(0, 1, 'one'),
          line(1, 2, 'two', [1, '2', `${MAX_128 - 10n}`]),
        ]);
        expect(await living()).toEqual([]);
        await batch.commit(100n);
        await batch.discard();
        expect(
          await store.rows(
            sql`SELECT id, name, toString(total) AS total, sequence FROM ${lines} ORDER BY id`,
          ),
        ).toEqual([
          { id: 1, name: 'one', total: '1', sequence: 100 },
          { id: 2, name: 'two', total: (MAX_128 - 7n).toString(), sequence: 101 },
        ]);
      });

      test('sequences beyond 2^53 are added exactly', async () => {
        const first = 2n ** 61n + 1n;
        const batch = await store.stage(linesIn, [line(0, 1, 'one'), line(1, 2, 'two')]);
        await batch.commit(first);
        await batch.discard();
        const rows = await store.rows<{ s: string }>(
          sql`SELECT toString(sequence) AS s FROM ${lines} ORDER BY id`,
        );
        expect(rows.map(({ s }) => BigInt(s))).toEqual([first, first + 1n]);
      });

      test('thousands of lines of every length are kept in order and to the byte', async () => {
        const many = Array.from({ length: 3000 }, (_, i) => line(i, i, 'é'.repeat((i * 37) % 500)));
        const batch = await store.stage(linesIn, many);
        const read = await batch.lines();
        expect(read).toHaveLength(many.length);
        expect(Buffer.concat(read).equals(Buffer.concat(many))).toBe(true);
        await batch.commit(1n);
        await batch.discard();
        expect(
          await store.rows(sql`SELECT count() AS n, sum(lengthUTF8(name)) AS letters FROM ${lines}`),
        ).toEqual([{ n: 3000, letters: many.reduce((sum, _, i) => sum + ((i * 37) % 500), 0) }]);
      });

      test('a second commit under newer numbers leaves the same living rows', async () => {
        const batch = await store.stage(linesIn, [
          line(0, 1, 'one'),
          line(1, 2, 'two'),
          line(2, 1, 'one again'),
        ]);
        await batch.commit(10n);
        const before = await living();
        await batch.commit(20n);
        await batch.discard();
        expect(await living()).toEqual(before);
        expect(before).toEqual([
          { id: 1, name: 'one again', total: '1' },
          { id: 2, name: 'two', total: '1' },
        ]);
      });

      test.each([
        ['is no number where one is due', '{"sequence":1,"id":"many","payload":{}}'],
        ['ends too soon', '{"sequence":1,"id":1,"payload":{"name":"x'],
        ['is not JSON', 'garbage'],
        ['is of another type', '{"sequence":1,"id":1,"payload":"text"}'],
        ['fails in a view', '{"sequence":1,"id":1,"payload":{"name":"x","amounts":["-1.5"]}}'],
      ])('a batch with a line that %s is refused, and the lines can be told', async (_title, bad) => {
        const batch = await store.stage(linesIn, [line(0, 1, 'good'), Buffer.from(bad), line(2, 2, 'good')]);
        const error = await batch.commit(1n).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ProductError);
        expect((error as ProductError).code).toBe('store_refused');
        expect((await batch.lines()).map(String)[1]).toBe(bad);
        await batch.discard();
      });

      test('a failure that is not the data’s fault is no refusal', async () => {
        const elsewhere = await store.stage({ ...linesIn, name: 'port_nowhere_in' }, [line(0, 1, 'one')]);
        const broken = await store.stage(linesIn, [line(0, 1, 'broken view')]);
        for (const batch of [elsewhere, broken]) {
          const error = await batch.commit(1n).catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(ProductError);
          expect((error as ProductError).code).toBe('store_failed');
          await batch.discard();
        }
      });

      test('what was discarded is not unfinished, what was not is, oldest first', async () => {
        const batches: StagedBatch[] = [];
        for (let i = 0; i < 12; i++) batches.push(await store.stage(linesIn, [line(0, i, `batch ${i}`)]));
        await batches[3]?.discard();
        await batches[3]?.discard();
        const left = await store.unfinished();
        const ids = await Promise.all(
          left.map(async (batch) => JSON.parse(String((await batch.lines())[0])).id),
        );
        expect(ids).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
        expect(new Set(left.map(({ table }) => table))).toEqual(new Set([linesIn.name]));
        for (const batch of left) await batch.discard();
        expect(await store.unfinished()).toEqual([]);
      });
    });

    describe('errors', () => {
      const SECRET = 'the_secret_of_the_query';
      const failures: [string, () => Promise<unknown>][] = [
        ['rows', () => store.rows(sql`SELECT ${SECRET} FROM ${{ name: 'port_nowhere' }}`)],
        ['bytes', () => store.bytes(sql`SELECT ${raw(SECRET)}`, 'JSON')],
        ['run', () => store.run(sql`INSERT INTO ${things} (id) SELECT throwIf(1, ${SECRET})`)],
        ['a statement that is none', () => store.run(`SELEKT ${SECRET}`)],
        ['insert', () => store.insert(things, [{ id: SECRET }])],
      ];

      test.each(failures)(
        '%s: a code and a public text without SQL; the engine’s words are for the log',
        async (_name, fail) => {
          const error = await fail().catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(ProductError);
          const { code, message, detail } = error as ProductError;
          expect(code).toBe('store_failed');
          expect(message).not.toContain(SECRET);
          expect(message).not.toMatch(/SELECT|INSERT|port_|FROM/);
          expect(detail).toBeTruthy();
        },
      );

      test('the store goes on after any of them', async () => {
        for (const [, fail] of failures) await fail().catch(() => undefined);
        expect(await store.rows(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
      });
    });

    describe('reopened', () => {
      const reopened = async () => {
        if (!opened.reopen) throw new Error('a store that cannot be opened again keeps nothing');
        store = await opened.reopen();
      };

      test('has every row that was inserted and every batch that was committed', async () => {
        await store.insert(things, [{ id: 1, name: 'kept' }]);
        const done = await store.stage(linesIn, [line(0, 1, 'committed')]);
        await done.commit(1n);
        await done.discard();
        await reopened();
        expect(await store.rows(sql`SELECT id, name FROM ${things}`)).toEqual([{ id: 1, name: 'kept' }]);
        expect(await living()).toEqual([{ id: 1, name: 'committed', total: '1' }]);
      });

      test(
        keepsStaged
          ? 'has every batch that was staged, and it can be committed'
          : `keeps no staged batch: ${reason}`,
        async () => {
          await store.stage(linesIn, [line(0, 2, 'staged'), line(1, 3, 'staged too')]);
          await reopened();
          const [batch, ...others] = await store.unfinished();
          expect(others).toEqual([]);
          if (!keepsStaged) {
            expect(batch).toBeUndefined();
            return;
          }
          expect(batch?.table).toBe(linesIn.name);
          await batch?.commit(2n);
          await batch?.discard();
          expect(await living()).toHaveLength(2);
          expect(await store.unfinished()).toEqual([]);
        },
      );
    });
  });
}
