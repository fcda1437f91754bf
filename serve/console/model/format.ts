/**
 * Formats values with their units, on the server and in the browser: `60 %`, `1.2 M DOT`, `$3,400`. Numbers and units
 * are joined by no-break spaces.
 */
import type { Unit } from '../../../aggregate/units.ts';

/** Decimal strings are numbers that a double cannot represent. */
export type Measured = number | bigint | string | null | undefined;

/** Shown for unknown values. */
export const NO_VALUE = '–';

const SPACE = '\u00a0';
const MINUS = '\u2212';

const LETTERS = ['', 'k', 'M', 'B', 'T'] as const;
const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'] as const;
const TIMES = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
  ['ms', 0.001],
] as const;
/** A duration has two units: this one and the next smaller one. */
const DURATIONS = [
  ['d', 86_400, 'h', 3600],
  ['h', 3600, 'min', 60],
  ['min', 60, 's', 1],
] as const;
/** Longer durations are shown in days only. */
const DAYS_ALONE = 100 * 86_400;

/** Significant digits of a short value, and of an exact quotient. */
const SHORT_DIGITS = 3;
const QUOTIENT_DIGITS = 6;
/** Significant digits that a double represents exactly. */
const DOUBLE_DIGITS = 15;
/** Short values below this show all digits before the decimal point. */
const WHOLE_MAX = 10_000;
/** Numbers outside of these bounds are written as a power of ten. */
const SHORT_TINY = 1e-6;
const SHORT_HUGE = 1e18;
const EXACT_TINY = 1e-18;
const EXACT_HUGE = 1e30;
/** Most decimals of an axis label before a smaller unit is used. */
const TICK_DECIMALS_MAX = 2;

/** For tiles and legends: three significant digits. */
export function formatShort(value: Measured, unit: Unit, token?: string | null): string {
  const number = numberOf(value);
  if (number === null) return NO_VALUE;
  const amount = Math.abs(number);
  return signed(number, shortOf(amount, unit, token ?? ''));
}

/** For tables and tooltips: all digits of counts, six significant digits of quotients. */
export function formatExact(value: Measured, unit: Unit, token?: string | null): string {
  const number = numberOf(value);
  if (number === null) return NO_VALUE;
  const amount = typeof value === 'number' ? Math.abs(value) : String(value).trim().replace(/^[-+]/, '');
  return signed(number, exactOf(amount, unit, token ?? ''));
}

/**
 * Labels of an axis, in the same unit and with enough digits to distinguish them. On a logarithmic axis each label has
 * its own unit. Token names are in the axis title, see `unitOf`.
 */
export function formatTicks(given: readonly number[], unit: Unit, isLogarithmic = false): string[] {
  if (isLogarithmic && given.length > 1) return given.flatMap((tick) => formatTicks([tick], unit, true));
  const largest = Math.max(0, ...given.map(Math.abs));
  // A tiny value is zero with a rounding error.
  const ticks = given.map((tick) => (Math.abs(tick) > largest * 1e-12 ? tick : 0));
  const isTiny = isLogarithmic && largest < 10 ** -TICK_DECIMALS_MAX;
  if (largest === 0 || isTiny) return ticks.map((tick) => formatShort(tick, unit));
  const step = stepOf(ticks) || largest;
  // `1234` is as short as `1.2 k`.
  const isWhole = (name: string) => name === 'k' && largest < WHOLE_MAX && !isLogarithmic;
  const scales = scalesOf(unit).filter(
    ([name, factor], i, all) => (factor <= largest && !isWhole(name)) || i === all.length - 1,
  );
  for (const [suffix, factor] of scales) {
    for (let decimals = 0; decimals <= TICK_DECIMALS_MAX; decimals++) {
      const error = (tick: number) => Math.abs(tick - round(tick / factor, decimals) * factor);
      if (ticks.every((tick) => error(tick) < step * 1e-6)) {
        return ticks.map((tick) => tickOf(tick / factor, decimals, suffix, unit));
      }
    }
  }
  const [suffix, factor] = scales.at(-1) as readonly [string, number];
  const decimals = decimalsFor(step / factor, 2);
  return ticks.map((tick) => tickOf(tick / factor, decimals, suffix, unit));
}

/** The unit for an axis title. Empty if the labels contain the unit. */
export function unitOf(unit: Unit, token?: string | null): string {
  if (unit === 'native') return token ?? 'native token';
  const names: Partial<Record<Unit, string>> = {
    planck: 'planck',
    usd: 'USD',
    per_second: 'per second',
    weight: 'weight',
  };
  return names[unit] ?? '';
}

function shortOf(amount: number, unit: Unit, token: string): string {
  switch (unit) {
    case 'height':
    case 'identifier':
      return exactOf(amount, unit, token);
    case 'ratio':
      return joined(lettered(amount * 100), '%');
    case 'seconds':
      return durationOf(amount);
    case 'bytes': {
      const [text, power] = scaled(amount, BYTES.length - 1);
      return joined(text, BYTES[power] ?? '');
    }
    case 'usd':
      return `$${amount < WHOLE_MAX / 10 && amount >= 0.1 && !isWhole(amount) ? decimal(amount, 2, 2) : lettered(amount)}`;
    default:
      return joined(lettered(amount), suffixOf(unit, token));
  }
}

function exactOf(amount: number | string, unit: Unit, token: string): string {
  const number = Number(amount);
  if (number >= EXACT_HUGE || (number > 0 && number < EXACT_TINY)) {
    return withUnit(power(unit === 'ratio' ? number * 100 : number), unit, token);
  }
  const quotient = decimalsFor(number, QUOTIENT_DIGITS);
  switch (unit) {
    case 'identifier':
      return String(amount);
    case 'ratio':
      return withUnit(decimal(number, decimalsFor(number * 100, QUOTIENT_DIGITS), 0, true), unit, token);
    case 'usd':
      return withUnit(
        decimal(amount, number >= 1 ? 2 : Math.max(2, quotient), isWhole(number) ? 0 : 2),
        unit,
        token,
      );
    case 'native': {
      const all = typeof amount === 'number' ? decimalsFor(number, DOUBLE_DIGITS) : 100;
      return withUnit(decimal(amount, all), unit, token);
    }
    default:
      return withUnit(decimal(amount, quotient), unit, token);
  }
}

function withUnit(text: string, unit: Unit, token: string): string {
  if (unit === 'usd') return `$${text}`;
  return joined(text, suffixOf(unit, token));
}

function suffixOf(unit: Unit, token: string): string {
  const suffixes: Partial<Record<Unit, string>> = {
    native: token,
    planck: 'planck',
    ratio: '%',
    percent: '%',
    seconds: 's',
    bytes: 'B',
    per_second: '/s',
  };
  return suffixes[unit] ?? '';
}

/** Suffixes and divisors of axis labels, the largest first. */
function scalesOf(unit: Unit): (readonly [string, number])[] {
  if (unit === 'ratio') return [['%', 0.01]];
  if (unit === 'percent') return [['%', 1]];
  if (unit === 'seconds') return [...TIMES];
  if (unit === 'height' || unit === 'identifier') return [['', 1]];
  const names: readonly string[] = unit === 'bytes' ? BYTES : LETTERS;
  return names.map((name, i) => [name, 1000 ** i] as const).reverse();
}

function tickOf(value: number, decimals: number, suffix: string, unit: Unit): string {
  const rounded = round(value, decimals);
  const sign = unit === 'usd' ? '$' : '';
  const isLetter = LETTERS.some((letter) => letter === suffix);
  const number =
    unit === 'identifier'
      ? String(Math.abs(rounded))
      : decimal(Math.abs(rounded), decimals, rounded === 0 ? 0 : decimals);
  return signed(rounded, joined(`${sign}${number}`, rounded === 0 && isLetter ? '' : suffix));
}

/** At most two units: `1 h 12 min`. */
function durationOf(seconds: number): string {
  if (seconds === 0) return joined('0', 's');
  if (seconds < 0.9995) return joined(lettered(seconds * 1000), 'ms');
  if (seconds >= DAYS_ALONE) return joined(lettered(Math.round(seconds / 86_400)), 'd');
  for (const [name, length, restName, restLength] of DURATIONS) {
    const parts = Math.round(seconds / restLength);
    if (parts * restLength < length) continue;
    const rest = parts % (length / restLength);
    const whole = joined(String(Math.floor((parts * restLength) / length)), name);
    return rest === 0 ? whole : `${whole}${SPACE}${joined(String(rest), restName)}`;
  }
  return joined(decimal(seconds, 1, 1), 's');
}

/** A number with three significant digits and a letter: `1.23 M`. */
function lettered(amount: number): string {
  const [text, index] = scaled(amount, LETTERS.length - 1);
  return joined(text, LETTERS[index] ?? '');
}

/** Divides a number by a power of 1000. Returns the text and the exponent. */
function scaled(amount: number, most: number): readonly [string, number] {
  if (amount > 0 && (amount < SHORT_TINY || amount >= SHORT_HUGE)) return [power(amount), 0];
  const rounded =
    amount >= 1000 && amount < WHOLE_MAX ? Math.round(amount) : Number(amount.toPrecision(SHORT_DIGITS));
  if (rounded < WHOLE_MAX) return [decimal(rounded, decimalsFor(rounded, SHORT_DIGITS)), 0];
  const index = Math.min(most, Math.floor(Math.log10(rounded) / 3 + 1e-9));
  const value = rounded / 1000 ** index;
  return [decimal(value, decimalsFor(value, SHORT_DIGITS)), index];
}

/** `1.2×10⁻⁹`. */
function power(amount: number): string {
  const [digits = '', exponent = ''] = amount.toExponential(SHORT_DIGITS - 1).split('e');
  const raised = [...exponent.replace('+', '')]
    .map((one) => (one === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(one)]))
    .join('');
  return `${Number(digits)}×10${raised}`;
}

const joined = (text: string, suffix: string): string => (suffix === '' ? text : `${text}${SPACE}${suffix}`);
const signed = (number: number, text: string): string => (number < 0 ? `${MINUS}${text}` : text);
const isWhole = (amount: number): boolean => Number.isInteger(amount);

/** Converts a value to a number; null if it is not finite. */
function numberOf(value: Measured): number | null {
  if (value === null || value === undefined || value === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** Number of decimals for a number of significant digits. */
function decimalsFor(amount: number, digits: number): number {
  if (amount === 0) return 0;
  return Math.min(100, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(amount)))));
}

function round(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals;
}

/** The smallest distance between two ticks; 0 if there is none. */
function stepOf(ticks: readonly number[]): number {
  const sorted = [...ticks].sort((a, b) => a - b);
  const steps = sorted.slice(1).map((tick, i) => tick - (sorted[i] as number));
  const apart = steps.filter((step) => step > 0);
  return apart.length === 0 ? 0 : Math.min(...apart);
}

/** Cached, because formatters are slow to create. */
const formatters = new Map<string, Intl.NumberFormat>();

function decimal(amount: number | string, most: number, least = 0, isPercent = false): string {
  const key = `${most} ${least} ${isPercent}`;
  const formatter =
    formatters.get(key) ??
    new Intl.NumberFormat('en-US', {
      // The style `percent` multiplies by 100 without a rounding error.
      style: isPercent ? 'percent' : 'decimal',
      maximumFractionDigits: Math.max(most, least),
      minimumFractionDigits: least,
    });
  formatters.set(key, formatter);
  const text = formatter.format(amount as number);
  return isPercent ? text.replace('%', '') : text;
}

/** A title for use within a sentence: lower case, except for names. */
export const inSentence = (title: string): string =>
  /^(?:[A-Z]{2}|Ethereum)/.test(title) ? title : title.charAt(0).toLowerCase() + title.slice(1);
