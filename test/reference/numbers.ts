import { type Json, NumberToken } from './json.ts';

const LARGEST_BALANCE = 2n ** 128n - 1n;

/** A double's shortest step is 2^-1074, so half a step is told by 1075 decimal places. */
const DECIMAL_PLACES = 1100;

/** An exact decimal: `digits` divided by ten to the power of `scale`. */
export type Decimal = { readonly digits: bigint; readonly scale: number };

/** An amount as chains and archives write it: digits, a JSON integer or 0x-hex; null for anything else. */
export function parseAmount(value: Json | undefined): bigint | null {
  const amount = parseInteger(value);
  return amount !== null && amount <= LARGEST_BALANCE ? amount : null;
}

/** The same of any size. */
export function parseInteger(value: Json | undefined): bigint | null {
  const text = value instanceof NumberToken ? value.text : value;
  if (typeof text !== 'string') return null;
  const isHex = typeof value === 'string' && /^0x[0-9a-f]+$/i.test(text);
  if (!isHex && !/^[0-9]+$/.test(text)) return null;
  return BigInt(text);
}

/** A whole number written as digits, in a string or bare, that a double holds exactly. */
export function parseIndex(value: Json | undefined): number | null {
  const text = value instanceof NumberToken ? value.text : value;
  if (typeof text !== 'string' || !/^[0-9]+$/.test(text)) return null;
  const index = Number(text);
  return Number.isSafeInteger(index) ? index : null;
}

/** The exact value of a JSON number that is not negative; null for anything else. */
export function parseDecimal(value: Json | undefined): Decimal | null {
  if (!(value instanceof NumberToken)) return null;
  const parts = /^([0-9]+)(?:\.([0-9]+))?(?:e([+-]?[0-9]+))?$/i.exec(value.text);
  if (!parts) return null;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

export function multiply(decimal: Decimal, factor: bigint): Decimal {
  return { digits: decimal.digits * factor, scale: decimal.scale };
}

/** Moves the decimal point, as from planck to whole tokens. */
export function shift(decimal: Decimal, places: number): Decimal {
  return { digits: decimal.digits, scale: decimal.scale + places };
}

/** The exact sum of the known values; null when none is known, because unknown is not zero. */
export function sumKnown(values: readonly (Decimal | null)[]): Decimal | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  const scale = Math.max(...known.map((value) => value.scale));
  const digits = known.reduce((sum, value) => sum + value.digits * 10n ** BigInt(scale - value.scale), 0n);
  return { digits, scale };
}

export function decimalToNumber(decimal: Decimal | null): number | null {
  return decimal === null ? null : quotient(decimal.digits, 10n ** BigInt(decimal.scale));
}

/**
 * The double nearest to a fraction, rounded once. Reading a decimal text rounds correctly whatever its
 * length, so the fraction is written out beyond the precision of any double; a last digit 1 stands for
 * all that is left, so that a value just above the middle of two doubles is not taken for the middle.
 */
export function quotient(numerator: bigint, denominator: bigint): number {
  const sign = numerator < 0n ? '-' : '';
  const magnitude = numerator < 0n ? -numerator : numerator;
  const scaled = (magnitude % denominator) * 10n ** BigInt(DECIMAL_PLACES);
  const fraction = (scaled / denominator).toString().padStart(DECIMAL_PLACES, '0');
  const rest = scaled % denominator === 0n ? '0' : '1';
  return Number(`${sign}${magnitude / denominator}.${fraction}${rest}`);
}

/** Planck as whole tokens. */
export function toTokens(planck: bigint, decimals: number): number {
  return quotient(planck, 10n ** BigInt(decimals));
}

export function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

export function total(values: readonly number[]): number {
  return values.reduce((result, value) => result + value, 0);
}
