import { raw, type Sql } from '../../../infra/clickhouse/sql.ts';

/**
 * Exact amounts, once as SQL text and once for folds in bigint: sums and products are integers, and the number
 * with decimals is rounded to a double once, in the last step. Names that end in `Sql` take and give SQL text.
 */

/** Decimals of an exact USD amount: 18 of the smallest unit of any token and 30 of the price. */
export const USD_SCALE = 48;
/** Decimals of a stored price in USD. */
export const PRICE_SCALE = 30;
const TOKEN_SCALE = USD_SCALE - PRICE_SCALE;
/** Digits that a division adds, so that the rounding to a double is decided by the exact quotient. */
const DIVISION_SCALE = 30;

const powerSql = (exponent: string) => `toUInt256(concat('1', repeat('0', ${exponent})))`;
const power = (exponent: number) => 10n ** BigInt(exponent);

/** `integer / 10^scale` as the nearest double. */
export const scaledDownSql = (integer: string, scale: string): string =>
  `toFloat64(concat(toString(${integer}), 'e-', toString(${scale})))`;

/** `integer / 10^scale` as the nearest double. */
export function scaledDown(integer: bigint, scale: number): number {
  if (integer < 0n) return -scaledDown(-integer, scale);
  const digits = integer.toString().padStart(scale + 1, '0');
  return Number(`${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}`);
}

/** `integer / divisor / 10^scale` as the nearest double, however far apart the two are. */
export function dividedDownSql(integer: string, divisor: string, scale: string): string {
  const digits = (of: string) => `toInt32(length(toString(${of})))`;
  const shift = `(${DIVISION_SCALE} + greatest(0, ${digits(divisor)} - ${digits(integer)}))`;
  const quotient = `intDiv(toUInt256(${integer}) * ${powerSql(shift)}, toUInt256(${divisor}))`;
  return scaledDownSql(quotient, `${scale} + ${shift}`);
}

/** `integer / divisor / 10^scale` as the nearest double, however far apart the two are. */
export function dividedDown(integer: bigint, divisor: bigint, scale: number): number {
  const shift = DIVISION_SCALE + Math.max(0, divisor.toString().length - integer.toString().length);
  return scaledDown((integer * power(shift)) / divisor, scale + shift);
}

/** Planck times price (`usd_scaled` of the prices table), as an integer of 10^-48 USD. */
export function usdExactSql(planck: string, decimals: string, priceScaled: string): string {
  return `toUInt256(${planck}) * ${priceScaled} * ${powerSql(`${TOKEN_SCALE} - ${decimals}`)}`;
}

/** Planck times price (`usd_scaled` of the prices table), as an integer of 10^-48 USD; such amounts may be summed. */
export function usdExact(planck: bigint, decimals: number, usdScaled: bigint): bigint {
  return planck * usdScaled * power(TOKEN_SCALE - decimals);
}

/** An exact USD amount as the nearest double; null stays null. */
export const usdSql = (exact: string): Sql => roundedSql(exact, String(USD_SCALE));

/** An exact USD amount as the nearest double. */
export const usd = (exact: bigint): number => scaledDown(exact, USD_SCALE);

/** A planck amount in native tokens as the nearest double; null stays null. */
export const nativeSql = (planck: string, decimals: string): Sql => roundedSql(planck, decimals);

const roundedSql = (integer: string, scale: string): Sql =>
  raw(`if(isNull(${integer}), NULL, ${scaledDownSql(`assumeNotNull(${integer})`, scale)})`);
