import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  dividedDown,
  dividedDownSql,
  nativeSql,
  usdAs,
  usdColumns,
  usdPartsSql,
  usdSql,
} from '../../../aggregate/metrics/shared/amounts.ts';
import type { Store } from '../../../infra/ports.ts';
import { raw, sql } from '../../../infra/sql.ts';
import { openStore, seeded } from '../../support/open-store.ts';

const MAX_128 = 2n ** 128n - 1n;
const next = seeded(20_26);
/** Amounts of every size: as many of twelve digits as of thirty. */
const amount = (): bigint => next(2n ** (1n + next(128n)));
const decimalsOf = (i: number) => i % 19;

/** The double nearest to `numerator / denominator / 10^scale`, by division until no digit can matter. */
function nearest(numerator: bigint, denominator: bigint, scale: number): number {
  const digits = 80;
  const quotient = (numerator * 10n ** BigInt(digits)) / denominator;
  const sticky = (numerator * 10n ** BigInt(digits)) % denominator === 0n ? '0' : '1';
  return Number(`${quotient}${sticky}e-${scale + digits + 1}`);
}

describe('exact arithmetic: one rounding, at the end', () => {
  let store: Store;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ store, close } = await openStore());
  });
  afterAll(() => close());

  /** Evaluates an expression over rows of integers, all as UInt256, in one statement. */
  async function evaluate(
    expression: string,
    rows: readonly Record<string, bigint | null>[],
  ): Promise<(number | null)[]> {
    const names = Object.keys(rows[0] ?? {});
    const types = names.map((name) =>
      name === 'decimals' ? 'UInt8' : name === 'amount' ? 'Nullable(UInt128)' : 'UInt256',
    );
    const values = rows.map((row) => names.map((name) => (row[name] === null ? null : String(row[name]))));
    const tuple = names.map((name, i) => `CAST(row[${i + 1}], '${types[i]}') AS ${name}`).join(', ');
    const answer = await store.rows<{ value: number | null }>(sql`
      SELECT ${raw(expression)} AS value FROM (SELECT ${raw(tuple)}, at FROM (
        SELECT arrayJoin(arrayZip(${values}, arrayEnumerate(${values}))) AS pair, pair.1 AS row, pair.2 AS at)) ORDER BY at`);
    return answer.map(({ value }) => value);
  }

  test('an amount in planck becomes the nearest double of native tokens, for every number of decimals', async () => {
    const rows = Array.from({ length: 600 }, (_, i) => ({
      amount: amount(),
      decimals: BigInt(decimalsOf(i)),
    }));
    const got = await evaluate(nativeSql('amount').text, rows);
    expect(got).toEqual(rows.map(({ amount, decimals }) => Number(`${amount}e-${decimals}`)));
  });

  test.each([
    [0n, 10],
    [1n, 0],
    [1n, 18],
    [10n ** 10n, 10],
    [2n ** 53n + 1n, 0],
    [2n ** 53n + 1n, 10],
    [9007199254740993n, 6],
    [MAX_128, 0],
    [MAX_128, 10],
    [MAX_128, 18],
    [135_000_000n, 12],
    [123456789012345678901234567890n, 12],
  ])('%s planck of %i decimals', async (planck, decimals) => {
    const got = await evaluate(nativeSql('amount').text, [{ amount: planck, decimals: BigInt(decimals) }]);
    expect(got).toEqual([Number(`${planck}e-${decimals}`)]);
  });

  test('halves between two doubles are rounded to even, and anything above them up', async () => {
    const half = 2n ** 53n + 1n; // lies between two doubles
    const rows = [half * 10n ** 18n, half * 10n ** 18n + 1n, half * 10n ** 18n - 1n].map((amount) => ({
      amount,
      decimals: 18n,
    }));
    expect(await evaluate(nativeSql('amount').text, rows)).toEqual([2 ** 53, 2 ** 53 + 2, 2 ** 53]);
  });

  test('null stays null', async () => {
    expect(await evaluate(nativeSql('amount').text, [{ amount: null, decimals: 10n }])).toEqual([null]);
    const none = "CAST(NULL, 'Nullable(UInt256)')";
    expect(await store.rows(sql`SELECT ${usdSql(usdPartsSql('toUInt256(1)', '10', none))} AS value`)).toEqual(
      [{ value: null }],
    );
  });

  test('an average is the nearest double of the exact quotient, however small a part it is', async () => {
    const rows = Array.from({ length: 1200 }, (_, i) => {
      const divisor = 1n + next(2n ** (1n + next(i % 2 === 0 ? 40n : 127n)));
      return { amount: amount(), divisor, decimals: BigInt(decimalsOf(i)) };
    });
    const nearestOnes = rows.map(({ amount, divisor, decimals }) =>
      nearest(amount, divisor, Number(decimals)),
    );
    const got = await evaluate(dividedDownSql('assumeNotNull(amount)', 'divisor', 'decimals'), rows);
    expect(got).toEqual(nearestOnes);
    const folded = rows.map(({ amount, divisor, decimals }) =>
      dividedDown(amount, divisor, Number(decimals)),
    );
    expect(folded).toEqual(nearestOnes);
  });

  test.each([
    [2n ** 53n + 1n, 2n ** 100n, 2 ** -47],
    [2n ** 53n + 3n, 2n ** 100n, (2 ** 53 + 4) * 2 ** -100],
    [2n ** 53n + 1n, MAX_128, (2 ** 53 + 2) * 2 ** -128],
    [2n ** 53n + 1n, MAX_128 + 2n, 2 ** -75],
    [MAX_128, 2n ** 75n, 2 ** 53],
    [MAX_128, 1n, 2 ** 128],
    [0n, MAX_128, 0],
  ])(
    '%s / %s lies between two doubles or beside, and is rounded as it is',
    async (amount, divisor, nearestOne) => {
      const rows = [{ amount, divisor, decimals: 0n }];
      const got = await evaluate(dividedDownSql('assumeNotNull(amount)', 'divisor', 'decimals'), rows);
      expect(got).toEqual([nearestOne]);
      expect(dividedDown(amount, divisor, 0)).toBe(nearestOne);
    },
  );

  test('an amount of any size times any price that is stored is the nearest double of the exact product', async () => {
    const rows = Array.from({ length: 600 }, (_, i) => ({
      amount: i % 20 === 0 ? MAX_128 : amount(),
      price: i % 10 === 0 ? 10n ** 50n - 1n : next(10n ** (1n + next(50n))),
      decimals: BigInt(decimalsOf(i)),
    }));
    const got = await evaluate(
      usdSql(usdPartsSql('assumeNotNull(amount)', 'decimals', 'toNullable(price)')).text,
      rows,
    );
    expect(got).toEqual(
      rows.map(({ amount, price, decimals }) => Number(`${amount * price}e-${30n + decimals}`)),
    );
  });

  test.each([
    ['ordinary amounts', 6_123456789012345678901234567890n, 10n, () => next(10n ** 20n)],
    ['the largest amounts at the highest price', 10n ** 50n - 1n, 0n, () => MAX_128 - next(10n ** 20n)],
  ])('sums of dollars are added before they are rounded: %s', async (_title, price, decimals, amountOf) => {
    const parts = Array.from({ length: 300 }, amountOf);
    const total = parts.reduce((sum, part) => sum + part, 0n);
    const worth = usdPartsSql('toUInt128(part)', String(decimals), `toUInt256('${price}')`);
    const [row] = await store.rows<{ value: number }>(sql`
      SELECT ${usdSql(usdColumns('usd'))} AS value
      FROM (SELECT ${usdAs((part) => `sum(${part})`, worth, 'usd')} FROM (SELECT arrayJoin(${parts.map(String)}) AS part))`);
    expect(row?.value).toBe(Number(`${total * price}e-${30n + decimals}`));
  });
});
