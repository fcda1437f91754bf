import { describe, expect, test } from 'vitest';
import { ProductError } from '../../../infra/errors.ts';
import type { StagedBatch, Store } from '../../../infra/ports.ts';
import { raw, sql } from '../../../infra/sql.ts';
import type { Opened } from './opened.ts';
import { lines, linesIn, MAX_128, things, useStore } from './store-tables.ts';

/** Intended differences of an implementation. */
export interface StoreDifferences {
  /** Why a staged batch is lost with the process; absent when it is not. */
  readonly losesStaged?: string;
}

export function storeWritesContract(
  name: string,
  open: () => Promise<Opened<Store>>,
  { losesStaged: reason }: StoreDifferences = {},
): void {
  const keepsStaged = reason === undefined;
  describe(`store, writes: ${name}`, () => {
    const used = useStore(open);

    const line = (sequence: number, id: number, name: string, amounts: unknown = [1]) =>
      Buffer.from(JSON.stringify({ sequence, id, payload: { name, amounts } }));
    const canonical = () =>
      used.store.rows(sql`SELECT id, name, toString(total) AS total FROM ${lines} FINAL ORDER BY id`);

    describe('insert', () => {
      test('stores rows with defaults for missing columns', async () => {
        await used.store.insert(things, [
          { id: 1, name: 'one', at: '2026-01-02T03:04:05.678Z' },
          { id: 2, name: 'two', at: '2026-01-02T03:04:05.000Z' },
        ]);
        expect(await used.store.rows(sql`SELECT * FROM ${things} ORDER BY id`)).toEqual([
          { id: 1, name: 'one', amount: null, tags: [], at: '2026-01-02T03:04:05.678Z' },
          { id: 2, name: 'two', amount: null, tags: [], at: '2026-01-02T03:04:05.000Z' },
        ]);
      });

      test('of no rows does nothing', async () => {
        await used.store.insert(things, []);
        expect(await used.store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });

      test('of an unknown column fails instead of dropping it', async () => {
        await expect(used.store.insert(things, [{ id: 1, nmae: 'typo' }])).rejects.toThrow();
        expect(await used.store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });

      test('of one bad row among good ones stores none of them', async () => {
        await expect(used.store.insert(things, [{ id: 1 }, { id: 'two' }, { id: 3 }])).rejects.toThrow();
        expect(await used.store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });

      test('stores all rows of concurrent calls', async () => {
        await Promise.all(
          Array.from({ length: 40 }, (_, id) => used.store.insert(things, [{ id, name: `row ${id}` }])),
        );
        expect(
          await used.store.rows(sql`SELECT count() AS n, uniqExact(name) AS names FROM ${things}`),
        ).toEqual([{ n: 40, names: 40 }]);
      });
    });

    describe.each([
      { size: 'few bytes', filler: '' },
      { size: 'many bytes', filler: 'x'.repeat(300_000) },
    ])('inserted lines of $size', ({ filler }) => {
      const columns = ['id', 'name', 'amount', 'tags', 'at'];
      const first = [
        `{"id":1,"amount":null,"tags":["${filler}"],"at":"2026-01-02T03:04:05.678Z"`,
        ',"name":',
      ];
      const insertAfterFirst = (...others: string[]) =>
        used.store.insertLines(things, columns, [
          [...first, '{"a" : [1.50,"\\ud800"]}', '}'].map((piece) => Buffer.from(piece)),
          ...others.map((other) => Buffer.from(other)),
        ]);

      test('store an object as its text, and a default for what a line leaves out', async () => {
        await insertAfterFirst('{"id":2,"name":"two"}');
        const rows = await used.store.rows(
          sql`SELECT id, name, amount, length(tags[1]) AS characters, toUnixTimestamp64Milli(at) AS ms FROM ${things} ORDER BY id`,
        );
        expect(rows).toEqual([
          {
            ...{ id: 1, name: '{"a" : [1.50,"\\ud800"]}', amount: null },
            ...{ characters: filler.length, ms: Date.UTC(2026, 0, 2, 3, 4, 5, 678) },
          },
          { id: 2, name: 'two', amount: null, characters: 0, ms: 0 },
        ]);
      });

      test.each([
        ['cannot be parsed', '{"id":"two"}'],
        ['is no JSON', '{"id":2'],
        ['has an unknown column', '{"id":2,"nmae":"typo"}'],
      ])('of which one %s are all refused', async (_title, other) => {
        await expect(insertAfterFirst(other)).rejects.toMatchObject({ code: 'store_refused' });
        expect(await used.store.rows(sql`SELECT count() AS n FROM ${things}`)).toEqual([{ n: 0 }]);
      });
    });

    describe('staged batches', () => {
      test('a commit loads every line under its own number, and no line is loaded before', async () => {
        const batch = await used.store.stage(linesIn, [
          line(0, 1, 'one'),
          line(1, 2, 'two', [1, '2', `${MAX_128 - 10n}`]),
        ]);
        expect(await canonical()).toEqual([]);
        await batch.commit(100n);
        await batch.discard();
        expect(
          await used.store.rows(
            sql`SELECT id, name, toString(total) AS total, sequence FROM ${lines} ORDER BY id`,
          ),
        ).toEqual([
          { id: 1, name: 'one', total: '1', sequence: 100 },
          { id: 2, name: 'two', total: (MAX_128 - 7n).toString(), sequence: 101 },
        ]);
      });

      test('sequences beyond 2^53 are added exactly', async () => {
        const first = 2n ** 61n + 1n;
        const batch = await used.store.stage(linesIn, [line(0, 1, 'one'), line(1, 2, 'two')]);
        await batch.commit(first);
        await batch.discard();
        const rows = await used.store.rows<{ s: string }>(
          sql`SELECT toString(sequence) AS s FROM ${lines} ORDER BY id`,
        );
        expect(rows.map(({ s }) => BigInt(s))).toEqual([first, first + 1n]);
      });

      test('thousands of lines of different lengths are stored in order and unchanged', async () => {
        const many = Array.from({ length: 3000 }, (_, i) => line(i, i, 'é'.repeat((i * 37) % 500)));
        const batch = await used.store.stage(linesIn, many);
        const read = await batch.lines();
        expect(read).toHaveLength(many.length);
        expect(Buffer.concat(read).equals(Buffer.concat(many))).toBe(true);
        await batch.commit(1n);
        await batch.discard();
        expect(
          await used.store.rows(sql`SELECT count() AS n, sum(lengthUTF8(name)) AS letters FROM ${lines}`),
        ).toEqual([{ n: 3000, letters: many.reduce((sum, _, i) => sum + ((i * 37) % 500), 0) }]);
      });

      test('a second commit under newer numbers gives the same canonical rows', async () => {
        const batch = await used.store.stage(linesIn, [
          line(0, 1, 'one'),
          line(1, 2, 'two'),
          line(2, 1, 'one again'),
        ]);
        await batch.commit(10n);
        const before = await canonical();
        await batch.commit(20n);
        await batch.discard();
        expect(await canonical()).toEqual(before);
        expect(before).toEqual([
          { id: 1, name: 'one again', total: '1' },
          { id: 2, name: 'two', total: '1' },
        ]);
      });

      test.each([
        ['has no number where one is expected', '{"sequence":1,"id":"many","payload":{}}'],
        ['ends too soon', '{"sequence":1,"id":1,"payload":{"name":"x'],
        ['is not JSON', 'garbage'],
        ['is of another type', '{"sequence":1,"id":1,"payload":"text"}'],
        ['fails in a view', '{"sequence":1,"id":1,"payload":{"name":"x","amounts":["-1.5"]}}'],
      ])('a batch with a line that %s is refused, and its lines can be read', async (_title, bad) => {
        const batch = await used.store.stage(linesIn, [
          line(0, 1, 'good'),
          Buffer.from(bad),
          line(2, 2, 'good'),
        ]);
        const error = await batch.commit(1n).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ProductError);
        expect((error as ProductError).code).toBe('store_refused');
        expect((await batch.lines()).map(String)[1]).toBe(bad);
        await batch.discard();
      });

      test.each([
        [
          'that the data cannot cause is one of the store',
          { ...linesIn, name: 'port_nowhere_in' },
          'store_failed',
        ],
        ['of a view is one of the store or of the data', linesIn, 'store_exhausted'],
      ])('a failure %s', async (_title, table, code) => {
        const batch = await used.store.stage(table, [line(0, 1, 'broken view')]);
        const error = await batch.commit(1n).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ProductError);
        expect((error as ProductError).code).toBe(code);
        await batch.discard();
      });

      test('batches that are not discarded are unfinished, oldest first, where the store keeps them', async () => {
        const batches: StagedBatch[] = [];
        for (let i = 0; i < 12; i++)
          batches.push(await used.store.stage(linesIn, [line(0, i, `batch ${i}`)]));
        await batches[3]?.discard();
        await batches[3]?.discard();
        const left = await used.store.unfinished();
        if (!keepsStaged) {
          expect(left).toEqual([]);
          return;
        }
        const ids = await Promise.all(
          left.map(async (batch) => JSON.parse(String((await batch.lines())[0])).id),
        );
        expect(ids).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
        expect(new Set(left.map(({ table }) => table))).toEqual(new Set([linesIn.name]));
        for (const batch of left) await batch.discard();
        expect(await used.store.unfinished()).toEqual([]);
      });
    });

    describe('errors', () => {
      const SECRET = 'the_secret_of_the_query';
      const failures: [name: string, fail: () => Promise<unknown>, code?: string][] = [
        ['rows', () => used.store.rows(sql`SELECT ${SECRET} FROM ${{ name: 'port_nowhere' }}`)],
        ['bytes', () => used.store.bytes(sql`SELECT ${raw(SECRET)}`, 'JSON')],
        ['run', () => used.store.run(sql`INSERT INTO ${things} (id) SELECT throwIf(1, ${SECRET})`)],
        ['an invalid statement', () => used.store.run(`SELEKT ${SECRET}`)],
        ['insert of other types', () => used.store.insert(things, [{ id: SECRET }]), 'store_refused'],
        [
          'insert of no JSON',
          () => used.store.insertLines(things, ['id'], `{"id":${SECRET}`),
          'store_refused',
        ],
      ];

      test.each(failures)(
        '%s: a code and a public message without SQL; the message of ClickHouse is the detail',
        async (_name, fail, expected = 'store_failed') => {
          const error = await fail().catch((thrown: unknown) => thrown);
          expect(error).toBeInstanceOf(ProductError);
          const { code, message, detail } = error as ProductError;
          expect(code).toBe(expected);
          expect(message).not.toContain(SECRET);
          expect(message).not.toMatch(/SELECT|INSERT|port_|FROM/);
          expect(detail).toBeTruthy();
        },
      );

      test('the store continues after each of them', async () => {
        for (const [, fail] of failures) await fail().catch(() => undefined);
        expect(await used.store.rows(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
      });
    });

    describe('reopened', () => {
      test('has all inserted rows and committed batches', async () => {
        await used.store.insert(things, [{ id: 1, name: 'kept' }]);
        const done = await used.store.stage(linesIn, [line(0, 1, 'committed')]);
        await done.commit(1n);
        await done.discard();
        await used.reopen();
        expect(await used.store.rows(sql`SELECT id, name FROM ${things}`)).toEqual([{ id: 1, name: 'kept' }]);
        expect(await canonical()).toEqual([{ id: 1, name: 'committed', total: '1' }]);
      });

      test(
        keepsStaged ? 'has the staged batch, which can be committed' : `has no staged batch: ${reason}`,
        async () => {
          await used.store.stage(linesIn, [line(0, 2, 'staged'), line(1, 3, 'staged too')]);
          await used.reopen();
          const [batch, ...others] = await used.store.unfinished();
          expect(others).toEqual([]);
          if (!keepsStaged) {
            expect(batch).toBeUndefined();
            return;
          }
          expect(batch?.table).toBe(linesIn.name);
          await batch?.commit(2n);
          await batch?.discard();
          expect(await canonical()).toHaveLength(2);
          expect(await used.store.unfinished()).toEqual([]);
        },
      );
    });
  });
}
