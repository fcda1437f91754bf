import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../infra/ports.ts';
import { ident, join, literal, raw, type SqlValue, sql } from '../../infra/sql.ts';
import { openStore, seeded } from '../support/open-store.ts';

const blocks = { name: 'blocks' };
const extrinsics = { name: 'extrinsics' };

describe('a statement', () => {
  test('values become literals, tables their full names, fragments are unchanged', () => {
    const from = sql`FROM ${blocks}`;
    expect(
      sql`SELECT ${1}, ${'a'}, ${null}, ${true}, ${10n ** 30n}, ${['x', 'y']} ${from} ${raw('FINAL')}`.text,
    ).toBe(`SELECT 1, 'a', NULL, 1, ${10n ** 30n}, ['x', 'y'] FROM chain_metrics.blocks FINAL`);
  });

  test('collects the interpolated tables at any depth, once each', () => {
    const inner = sql`SELECT * FROM ${blocks}`;
    const parts = join([inner, sql`SELECT * FROM ${extrinsics}`], ' UNION ALL ');
    expect([...sql`SELECT count() FROM (${parts}) JOIN ${blocks} USING x`.tables].sort()).toEqual([
      'blocks',
      'extrinsics',
    ]);
    expect([...sql`SELECT 1`.tables]).toEqual([]);
  });

  test('never has two minus signs in a row, which would start a comment', () => {
    expect(sql`SELECT 1 -${-1}`.text).toBe('SELECT 1 -(-1)');
    expect(sql`SELECT 1 -${-1n}`.text).toBe('SELECT 1 -(-1)');
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    '%d is no SQL number',
    (value) => {
      expect(() => sql`SELECT ${value}`).toThrow(/finite/);
    },
  );

  test.each(['', 'a b', 'a-b', "a'", 'a;b', 'a.b', '1a', 'ä', 'a`', 'a\n', 'a)'])('%j is no name', (name) => {
    expect(() => ident(name)).toThrow(/not a name/);
    expect(() => sql`SELECT * FROM ${{ name }}`).toThrow(/not a name/);
  });

  test('a name is written unchanged', () => {
    expect(ident('total_fees_30d').text).toBe('total_fees_30d');
    expect(ident('_x').text).toBe('_x');
  });
});

describe('a value in ClickHouse', () => {
  let store: Store;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ store, close } = await openStore());
  });
  afterAll(() => close());

  const PIECES = [
    "'", '"', '`', '\\', '\0', '\n', '\r', '\t', '\b', '\f', '\v', '%', '_', ';', '--', '/*', '*/', '#', '{x:String}', '$$',
    '$1', '?', '(', ')', '[', ']', ',', ' ', 'a', 'Z', '0', 'é', 'ß', '漢', '🦀', '\u2028', '\ufeff', '\u200f', '\x7f', '\\x41', "\\'",
    "''", 'FORMAT Null', 'SETTINGS x=1', 'UNION ALL SELECT', '\\N', '\\0', 'NULL',
  ]; // biome-ignore format: a list of pieces

  test('2000 texts of quotes, backslashes, NUL, comments and unicode are returned unchanged', async () => {
    const next = seeded(7);
    const texts = Array.from({ length: 2000 }, () =>
      Array.from({ length: Number(next(8n)) }, () => PIECES[Number(next(BigInt(PIECES.length)))]).join(''),
    );
    for (let i = 0; i < texts.length; i += 100) {
      const some = texts.slice(i, i + 100);
      const [row] = await store.rows<{ list: string[]; first: string }>(
        sql`SELECT ${some} AS list, ${some[0] ?? ''} AS first`,
      );
      expect(row).toEqual({ list: some, first: some[0] });
    }
  });

  test('a text is not truncated at NUL', async () => {
    const text = 'before\0after\0';
    expect(
      await store.rows(
        sql`SELECT length(${text}) AS n, ${text} = concat('before', char(0), 'after', char(0)) AS same`,
      ),
    ).toEqual([{ n: 13, same: 1 }]);
  });

  test.each<[SqlValue, string]>([
    [0, '0'],
    [-0, '0'],
    [-5, '-5'],
    [1e21, '1e21'],
    [5e-324, '5e-324'],
    [0.1, '0.1'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [2n ** 64n - 1n, '18446744073709551615'],
    [true, '1'],
    [false, '0'],
  ])('%s is returned as the same number', async (value, text) => {
    const [row] = await store.rows<{ text: string }>(sql`SELECT toString(${value}) AS text`);
    expect(Number(row?.text)).toBe(Number(text));
    if (!text.includes('e')) expect(row?.text).toBe(text);
  });

  test('subtracting a negative value adds', async () => {
    expect(
      await store.rows(sql`SELECT 1 -${-1} AS a, 1 -${-1n} AS b, -${-2} AS c, ${[-1, -2]} AS d`),
    ).toEqual([{ a: 2, b: 2, c: 2, d: [-1, -2] }]);
  });

  test('lists contain lists and null, or are empty', async () => {
    expect(
      await store.rows(
        sql`SELECT ${[['a'], ['b', "c'"]]} AS nested, ${[1, null]} AS gaps, ${[]} AS none, ${null} AS nil`,
      ),
    ).toEqual([{ nested: [['a'], ['b', "c'"]], gaps: [1, null], none: [], nil: null }]);
  });

  test('IN takes a list, also an empty one', async () => {
    expect(
      await store.rows(
        sql`SELECT 'a' IN ${['a', 'b']} AS yes, 'c' IN ${['a']} AS no, 'a' NOT IN ${['b']} AS outside, 2 IN ${[1, 2]} AS number`,
      ),
    ).toEqual([{ yes: 1, no: 0, outside: 1, number: 1 }]);
    expect(await store.rows(sql`SELECT count() AS n FROM numbers(3) WHERE has(${[]}, number)`)).toEqual([
      { n: 0 },
    ]);
  });

  test('literals escape quotes, backslashes and NUL', () => {
    expect(literal("a'b\\c\0d")).toBe("'a\\'b\\\\c\\0d'");
  });
});
