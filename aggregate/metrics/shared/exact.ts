import { raw, type Sql } from '../../../infra/clickhouse/sql.ts';

/**
 * Exact arithmetic until the last step: sums and products are integers, and a number with decimals is written
 * out in full before it becomes a double once. Each function takes and gives SQL text.
 */

const power = (exponent: string) => `toUInt256(concat('1', repeat('0', ${exponent})))`;

/** `integer / 10^scale` as the nearest double. */
export function scaledDown(integer: string, scale: string): string {
  const wide = `toUInt256(${integer})`;
  const below = `leftPad(toString(${wide} % ${power(scale)}), ${scale}, '0')`;
  return `toFloat64(concat(toString(intDiv(${wide}, ${power(scale)})), '.', ${below}))`;
}

/** `integer / divisor / 10^scale` as a double; thirty more digits than the integer has decide the rounding. */
export function dividedDown(integer: string, divisor: string, scale: string): string {
  return scaledDown(`intDiv(toUInt256(${integer}) * ${power('30')}, toUInt256(${divisor}))`, `${scale} + 30`);
}

/** Decimals of an exact USD amount: 18 of the smallest unit of any token and 30 of the price. */
export const USD_SCALE = 48;
const PRICE_SCALE = 30;

/** Planck times price, as an integer of 10^-48 USD. */
export function usdExact(planck: string, decimals: string, priceScaled: string): string {
  return `toUInt256(${planck}) * ${priceScaled} * ${power(`${USD_SCALE - PRICE_SCALE} - ${decimals}`)}`;
}

/** An exact USD amount as the nearest double; null stays null. */
export const usd = (exact: string): Sql =>
  raw(`if(isNull(${exact}), NULL, ${scaledDown(`assumeNotNull(${exact})`, String(USD_SCALE))})`);

/** A planck amount in native tokens as the nearest double; null stays null. */
export const native = (planck: string, decimals: string): Sql =>
  raw(`if(isNull(${planck}), NULL, ${scaledDown(`assumeNotNull(${planck})`, decimals)})`);
