import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  clickhouseType,
  count,
  day,
  flag,
  name,
  planck,
  real,
  rendered,
  text,
  timestamp,
} from '../../infra/kernel/columns.ts';

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
  { kind: 'real', column: real('a'), type: 'Float64', good: -0.5, bad: '0.5' },
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
  test.each(KINDS)('$kind is stored as $type and says what readers get', ({ column, type, good, bad }) => {
    expect(clickhouseType(column)).toBe(type);
    expect(column.safeParse(good).success).toBe(true);
    expect(column.safeParse(bad).success).toBe(false);
    expect(column.safeParse(null).success).toBe(false);
  });

  test.each([
    ['timestamp', timestamp, "Nullable(DateTime64(3, 'UTC'))"],
    ['count', count, 'Nullable(UInt64)'],
    ['real', real, 'Nullable(Float64)'],
    ['planck', planck, 'Nullable(UInt128)'],
    ['text', text, 'Nullable(String)'],
    ['flag', flag, 'Nullable(Bool)'],
  ] as const)('%s may be unknown when it says so', (_kind, make, type) => {
    const column = make('maybe', { nullable: true });
    expect(clickhouseType(column)).toBe(type);
    expect(column.safeParse(null).success).toBe(true);
    expect(make('never').safeParse(null).success).toBe(false);
  });

  test('carries its words into the public schema, and nothing of the store', () => {
    const schema = z.toJSONSchema(planck('fees, exact', { nullable: true }));
    expect(schema.description).toBe('fees, exact');
    expect(JSON.stringify(schema)).not.toMatch(/UInt|clickhouse|render/i);
  });

  test('is rendered under its own name; amounts as text, since JSON numbers would round them', () => {
    expect(rendered('total_fees', real('x'))).toBe('total_fees');
    expect(rendered('total_fees_planck', planck('x'))).toBe(
      'toString(total_fees_planck) AS total_fees_planck',
    );
  });

  test('is only what the functions of columns make', () => {
    expect(() => clickhouseType(z.string())).toThrow(/not a column/);
  });
});
