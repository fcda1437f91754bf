import { raw, type Sql } from '../../../infra/sql.ts';

/**
 * Exact amounts, as SQL text and as bigint for folds. Sums and products are integers; the last step rounds once, to a
 * double. Functions whose name ends in `Sql` take and return SQL text.
 */

/** Decimals of an exact USD amount: 18 of the smallest unit of any token and 30 of the price. */
export const USD_SCALE = 48;
/** Decimals of a stored price in USD. */
export const PRICE_SCALE = 30;
const TOKEN_SCALE = USD_SCALE - PRICE_SCALE;
/** Half of the digits of one planck in USD at the highest price, so that both parts leave room for sums. */
const LOW_DIGITS = 34;
/**
 * Approximate bits of a quotient before it is rounded to the 53 bits of a double. A remainder sets the last bit, so that
 * a value at or next to a tie rounds as the exact quotient does.
 */
const QUOTIENT_BITS = 60;

const powerSql = (exponent: string) => `toUInt256(concat('1', repeat('0', ${exponent})))`;
const power = (exponent: number) => 10n ** BigInt(exponent);

/** `integer / 10^scale` as the nearest double. */
const scaledDownSql = (integer: string, scale: string): string =>
  `toFloat64(concat(toString(${integer}), 'e-', toString(${scale})))`;

/** `integer / 10^scale` as the nearest double. */
export function scaledDown(integer: bigint, scale: number): number {
  if (integer < 0n) return -scaledDown(-integer, scale);
  const digits = integer.toString().padStart(scale + 1, '0');
  return Number(`${digits.slice(0, digits.length - scale)}.${digits.slice(digits.length - scale)}`);
}

/** `integer / divisor / 10^scale` as the nearest double, for any magnitudes. */
export function dividedDownSql(integer: string, divisor: string, scale: string): string {
  const [whole, exact] = [`toUInt256(${integer})`, `(toUInt256(${divisor}) * ${powerSql(scale)})`];
  const bits = (value: string) => `toInt32(log2(greatest(toFloat64(${value}), 1)))`;
  const shift = `(${bits(exact)} - ${bits(whole)} + ${QUOTIENT_BITS})`;
  const shifted = (value: string, by: string) => `bitShiftLeft(${value}, toUInt8(greatest(${by}, 0)))`;
  const [dividend, scaledDivisor] = [shifted(whole, shift), shifted(exact, `-${shift}`)];
  return `toFloat64(bitOr(toUInt64(intDiv(${dividend}, ${scaledDivisor})), toUInt64(${dividend} % ${scaledDivisor} != 0))) * exp2(-${shift})`;
}

/** `integer / divisor / 10^scale` as the nearest double, for any magnitudes. */
export function dividedDown(integer: bigint, divisor: bigint, scale: number): number {
  const exact = divisor * power(scale);
  const bits = (value: bigint) => value.toString(2).length;
  const shift = Math.max(0, bits(exact) - bits(integer) + QUOTIENT_BITS);
  const shifted = integer << BigInt(shift);
  return Number((shifted / exact) | BigInt(shifted % exact !== 0n)) * 2 ** -shift;
}

/** The two parts of an exact USD amount, as SQL. Together they exceed 256 bits; each can be summed alone. */
type UsdParts = { readonly high: string; readonly low: string };

/** Planck times price (`usd_scaled` of the prices table), as `high * 10^34 + low` of 10^-48 USD. */
export function usdPartsSql(planck: string, decimals: string, priceScaled: string): UsdParts {
  const worthOfOne = `${priceScaled} * ${powerSql(`${TOKEN_SCALE} - ${decimals}`)}`;
  const times = (factor: string) => `toUInt256(${planck}) * ${factor}`;
  return {
    high: times(`intDiv(${worthOfOne}, ${powerSql(`${LOW_DIGITS}`)})`),
    low: times(`modulo(${worthOfOne}, ${powerSql(`${LOW_DIGITS}`)})`),
  };
}

export const usdColumns = (amount: string): UsdParts => ({ high: `${amount}_high`, low: `${amount}_low` });

/** Applies an expression to both parts, and names the results as columns of `amount`. */
export function usdAs(expression: (part: string) => string, { high, low }: UsdParts, amount: string): Sql {
  const columns = usdColumns(amount);
  return raw(`${expression(high)} AS ${columns.high}, ${expression(low)} AS ${columns.low}`);
}

/** Planck times price (`usd_scaled` of the prices table), as an integer of 10^-48 USD; such amounts may be summed. */
export function usdExact(planck: bigint, decimals: number, usdScaled: bigint): bigint {
  return planck * usdScaled * power(TOKEN_SCALE - decimals);
}

/** An exact USD amount as the nearest double; null stays null. */
export const usdSql = ({ high, low }: UsdParts): Sql =>
  raw(
    `if(isNull(${high}), NULL, ${usdRoundedSql({ high: `assumeNotNull(${high})`, low: `assumeNotNull(${low})` })})`,
  );

function usdRoundedSql({ high, low }: UsdParts): string {
  const carried = powerSql(`${LOW_DIGITS}`);
  const digits = `concat(toString(${high} + intDiv(${low}, ${carried})), leftPad(toString(modulo(${low}, ${carried})), ${LOW_DIGITS}, '0'))`;
  return scaledDownSql(digits, String(USD_SCALE));
}

/** An exact USD amount as the nearest double. */
export const usd = (exact: bigint): number => scaledDown(exact, USD_SCALE);

/** A planck amount in native tokens as the nearest double, by the column `decimals`; null stays null. */
export const nativeSql = (planck: string): Sql =>
  raw(`if(isNull(${planck}), NULL, ${scaledDownSql(`assumeNotNull(${planck})`, 'decimals')})`);
