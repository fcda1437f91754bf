import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Column,
  clickhouseType,
  count,
  cursorValueSql,
  day,
  displayOf,
  flag,
  name,
  nested,
  planck,
  real,
  renderColumn,
  type Shape,
  text,
  timestamp,
} from '../../aggregate/columns.ts';
import { raw, sql } from '../../infra/sql.ts';
import { openStore } from '../support/open-store.ts';

const KINDS = [
  { kind: 'name', column: name('a'), type: 'LowCardinality(String)', good: 'polkadot', bad: 1 },
  { kind: 'day', column: day('a'), type: 'Date', good: '2026-02-28', bad: '2026-02-30' },
  {
    kind: 'timestamp',
    column: timestamp('a'),
    type: "DateTime64(3, 'UTC')",
    good: '2026-02-28T00:00:00.123Z',
    bad: '2026-02-28',
  },
  { kind: 'count', column: count('a'), type: 'UInt64', good: 0, bad: -1 },
  { kind: 'real', column: real('a', { unit: 'usd' }), type: 'Float64', good: -0.5, bad: '0.5' },
  {
    kind: 'planck',
    column: planck('a'),
    type: 'UInt128',
    good: '340282366920938463463374607431768211455',
    bad: '-1',
  },
  { kind: 'text', column: text('a'), type: 'String', good: '', bad: null },
  { kind: 'flag', column: flag('a'), type: 'Bool', good: false, bad: 0 },
];

describe('a column', () => {
  test.each(KINDS)(
    '$kind is stored as $type and validates the served value',
    ({ column, type, good, bad }) => {
      expect(clickhouseType(column)).toBe(type);
      expect(column.safeParse(good).success).toBe(true);
      expect(column.safeParse(bad).success).toBe(false);
      expect(column.safeParse(null).success).toBe(false);
    },
  );

  test.each([
    ['timestamp', timestamp, "Nullable(DateTime64(3, 'UTC'))"],
    ['count', count, 'Nullable(UInt64)'],
    ['planck', planck, 'Nullable(UInt128)'],
    ['text', text, 'Nullable(String)'],
    ['flag', flag, 'Nullable(Bool)'],
    ['real', (doc: string, options = {}) => real(doc, { unit: 'usd', ...options }), 'Nullable(Float64)'],
  ] as const)('%s can be nullable', (_kind, make, type) => {
    const column = make('maybe', { nullable: true });
    expect(clickhouseType(column)).toBe(type);
    expect(column.safeParse(null).success).toBe(true);
    expect(make('never').safeParse(null).success).toBe(false);
  });

  test('adds its description to the public schema, and nothing of the store', () => {
    const schema = z.toJSONSchema(planck('fees, exact', { nullable: true }));
    expect(schema.description).toBe('fees, exact');
    expect(JSON.stringify(schema)).not.toMatch(/UInt|clickhouse|render/i);
  });

  test('is shown as its unit is, unless it says otherwise', () => {
    const fees = real('fees, exact', { unit: 'native', title: 'Fees', overTime: 'last' });
    expect(displayOf(fees)).toEqual({
      title: 'Fees',
      unit: 'native',
      overTime: 'last',
      overChains: 'none',
      isDrawn: true,
    });
    expect(z.toJSONSchema(fees)).toMatchObject({
      title: 'Fees',
      'x-unit': 'native',
      'x-over-time': 'last',
      'x-over-chains': 'none',
    });
    expect(displayOf(day('a day', { title: 'Day' }))).toMatchObject({ unit: null, isDrawn: false });
    expect(() => displayOf(day('a day'))).toThrow('add one to the column "a day"');
  });

  test('is rendered under its own name; amounts as text, since JSON numbers would round them', () => {
    expect(renderColumn('total_fees', real('x', { unit: 'native' }))).toBe('total_fees');
    expect(renderColumn('total_fees_planck', planck('x'))).toBe(
      'toString(total_fees_planck) AS total_fees_planck',
    );
  });

  test('is no formula in a spreadsheet if it is a text, and the same number if it is one', () => {
    const inSheet = (column: Column) => renderColumn('a', column, 'spreadsheet');
    for (const texts of [text('x'), text('x', { nullable: true }), name('x')])
      expect(inSheet(texts)).toMatch(/^if\(match\(a, .*\) AS a$/);
    for (const numbers of [real('x', { unit: 'usd' }), planck('x'), count('x'), day('x'), timestamp('x')])
      expect(inSheet(numbers)).toBe(renderColumn('a', numbers, 'text'));
  });

  test('must be made by a function of columns.ts', () => {
    expect(() => clickhouseType(z.string())).toThrow(/not a column/);
  });
});

describe('a list or an object', () => {
  const region = nested(z.object({ core: z.int() }), { type: 'Tuple(core UInt16)' }, 'a region', {
    nullable: true,
  });
  const parts = nested(
    z.array(z.object({ core: z.int() })),
    { type: 'Array(Tuple(core UInt16))' },
    'its parts',
  );
  let opened: Awaited<ReturnType<typeof openStore>>;
  beforeAll(async () => {
    opened = await openStore();
  });
  afterAll(() => opened.close());

  test('is stored as text and validated as the served value', () => {
    expect([clickhouseType(region), clickhouseType(parts)]).toEqual(['Nullable(String)', 'String']);
    expect(parts.safeParse([{ core: 1 }]).success).toBe(true);
    expect(parts.safeParse('[{"core":1}]').success).toBe(false);
    expect([region.safeParse(null).success, parts.safeParse(null).success]).toEqual([true, false]);
  });

  test('is a value in JSON, Parquet and Arrow, and its text in CSV', async () => {
    const stored = sql`(SELECT '{"core":7}' AS region, '[{"core":1},{"core":2}]' AS parts)`;
    const rows = (shape: Shape) =>
      opened.store.rows(
        sql`SELECT ${raw([renderColumn('region', region, shape), renderColumn('parts', parts, shape)].join(', '))}
          FROM ${stored}`,
      );
    for (const shape of ['json', 'columnar'] as const)
      expect(await rows(shape)).toEqual([{ region: { core: 7 }, parts: [{ core: 1 }, { core: 2 }] }]);
    for (const shape of ['text', 'spreadsheet'] as const)
      expect(await rows(shape)).toEqual([{ region: '{"core":7}', parts: '[{"core":1},{"core":2}]' }]);
  });

  test('is null in JSON where nothing is stored', async () => {
    const task = nested(z.int(), { type: 'Nullable(UInt32)' }, 'a task', { nullable: true });
    const rows = await opened.store.rows(
      sql`SELECT ${raw(renderColumn('task', task))} FROM (SELECT CAST(NULL, 'Nullable(String)') AS task)`,
    );
    expect(rows).toEqual([{ task: null }]);
  });

  test('a cursor value is parsed as the same value', async () => {
    const amount = planck('an amount');
    const moment = timestamp('a moment');
    expect(cursorValueSql('height', count('a height'))).toBe('height');
    const [pointed] = await opened.store.rows<{ amount: string; moment: string }>(
      sql`SELECT ${raw([cursorValueSql('amount', amount), cursorValueSql('moment', moment)].join(', '))}
        FROM (SELECT toUInt128('340282366920938463463374607431768211455') AS amount,
          toDateTime64('2026-01-02 03:04:05.678', 3, 'UTC') AS moment)`,
    );
    expect(pointed).toEqual({
      amount: '340282366920938463463374607431768211455',
      moment: '2026-01-02 03:04:05.678',
    });
    const [again] = await opened.store.rows(
      sql`SELECT toUInt128(${pointed?.amount ?? ''}) = toUInt128('340282366920938463463374607431768211455') AS amount,
        toDateTime64(${pointed?.moment ?? ''}, 3, 'UTC') = toDateTime64('2026-01-02 03:04:05.678', 3, 'UTC') AS moment`,
    );
    expect(again).toEqual({ amount: 1, moment: 1 });
  });
});
