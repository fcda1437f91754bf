import { hash } from 'node:crypto';
import { withoutHidden } from '../../../infra/hidden-characters.ts';

// Converts values of any JSON type to the types of an alert. No function throws.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Reads an own property, so that `constructor` and the like have no special meaning. */
export const ownProperty = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** Converts a value to one line of text, truncated; '' for a missing or blank value. */
export function lineOf(value: unknown, charactersMax: number): string {
  const text = oneLine(textOf(value));
  return text.trim() === '' ? '' : truncate(text, charactersMax);
}

/** Converts a value to text: U+FFFD replaces lone surrogates, other types become JSON; '' for a missing or blank value. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  // The store replaces lone surrogates too, so answers and later reads are equal.
  const text = typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value);
  return text.trim() === '' ? '' : text;
}

/** The first value that is not blank, as text. */
export function firstText(...values: readonly unknown[]): string {
  for (const value of values) {
    const text = textOf(value);
    if (text !== '') return text;
  }
  return '';
}

/** Control characters, and characters that change the direction of text. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression searches for them
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LINE_SPACE = /[\t\n\v\f\r\u0085\u2028\u2029]/g;

/** Removes invisible characters that change how others are shown. */
export const visible = (text: string): string => text.replace(HIDDEN, '');

/** Characters that `oneLine` replaces. Most texts have none. */
const NOT_ON_LINE = new RegExp(`${HIDDEN.source}|${LINE_SPACE.source}`);

/** Removes hidden characters, and replaces line breaks by spaces. */
export const oneLine = (text: string): string =>
  NOT_ON_LINE.test(text) ? visible(text).replace(LINE_SPACE, ' ') : text;

/** Cleans text that a user entered in a field of one line; '' if nothing visible is left. */
export const cleanLine = (text: string): string => withoutHidden(oneLine(text.toWellFormed())).trim();

const ELLIPSIS = '...';

/** Truncates text to `charactersMax`, ellipsis included. Does not split a surrogate pair. */
export function truncate(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  // A character has at most two code units, so the rest of a long text need not be split.
  const characters = Array.from(text.slice(0, 2 * charactersMax + 2));
  if (characters.length <= charactersMax) return text;
  return characters.slice(0, Math.max(0, charactersMax - ELLIPSIS.length)).join('') + ELLIPSIS;
}

/** The texts in a value. Flattens lists, and leaves out blank texts. */
export function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  const text = textOf(value);
  return text === '' ? [] : [text];
}

/** ISO 8601, RFC 2822, and dates with the name of a month. `Date.parse` accepts more, such as bare numbers. */
const LOOKS_LIKE_TIME =
  /^(?:[+-]?\d{4,6}-\d{2}(?:-\d{2})?|\d{4}\/\d{1,2}\/\d{1,2}|(?:[a-z]{3,9},?\s+)?\d{1,2}\s+[a-z]{3,9},?\s+\d{4}|(?:[a-z]{3,9},?\s+)?[a-z]{3,9}\s+\d{1,2},?\s+\d)/i;
const HAS_ZONE = /(?:z|utc|gmt|[+-]\d{2}:?\d{2}|\b[ecmp][sd]t)\)?$/i;
const IS_DAY_OR_MONTH = /^[+-]?\d{4,6}(?:-\d{2}){1,2}$/;
/** Digits beyond milliseconds. Not every engine parses them. */
const FRACTION = /(\.\d{3})\d+/;
/** A date-time of ISO 8601. Engines parse only its usual forms. */
const ISO_TIME =
  /^(?<year>\d{4})(?<dash>-?)(?<month>\d{2})\k<dash>(?<day>\d{2})[T ](?<hour>\d{2})(?::?(?<minute>\d{2})(?::?(?<second>\d{2})(?:[.,](?<fraction>\d+))?)?)?\s*(?:Z|(?<zone>[+-]\d{2}):?(?<zoneMinute>\d{2})?)?$/i;
const ISO_DAY = /^(\d{4})-(\d{2})-(\d{2})/;

/** The last moment that ISO 8601 writes with a year of four digits. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Parses a date-time string to milliseconds since the epoch. A time without a zone is UTC. Null for other values and for
 * times before 1970 or after 9999: year 1 is the zero time of Go, and other APIs cannot represent the rest.
 */
export function timeOf(value: unknown): number | null {
  if (typeof value !== 'string') return null;
  const text = usualIsoOf(value.trim()).replace(FRACTION, '$1');
  if (!LOOKS_LIKE_TIME.test(text) || YEAR_ONE.test(text) || !hasPossibleDay(text)) return null;
  const isZoned = IS_DAY_OR_MONTH.test(text) || HAS_ZONE.test(text);
  const attempts = isZoned ? [text] : [`${text}Z`, `${text} UTC`];
  const ms = attempts.map((attempt) => Date.parse(attempt)).find((found) => !Number.isNaN(found));
  return ms === undefined || ms < 0 || ms > LAST_MS ? null : ms;
}

/** Converts a time of ISO 8601 to the form that every engine parses. Returns other texts unchanged. */
function usualIsoOf(text: string): string {
  const parts = ISO_TIME.exec(text)?.groups;
  if (parts === undefined) return text;
  const {
    year,
    month,
    day,
    hour,
    minute = '00',
    second = '00',
    fraction = '0',
    zone,
    zoneMinute = '00',
  } = parts;
  const offset = zone === undefined ? 'Z' : `${zone}:${zoneMinute}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}${offset}`;
}

/** Refuses days such as 30 February, which engines read as a day in March. */
function hasPossibleDay(text: string): boolean {
  const [, year, month, day] = ISO_DAY.exec(text) ?? [];
  return (
    day === undefined ||
    new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  );
}

/** The size of a number shows its unit, for times from 1973 to 5138. */
const EPOCH_UNITS = [
  { below: 1e11, perMs: 1e-3 },
  { below: 1e14, perMs: 1 },
  { below: 1e17, perMs: 1e3 },
  { below: 1e20, perMs: 1e6 },
] as const;

/** Converts a Unix time in seconds, milliseconds, microseconds or nanoseconds to milliseconds; null for other values. */
export function epochOf(value: unknown): number | null {
  const number = numberIn(value);
  const unit = EPOCH_UNITS.find(({ below }) => number < below);
  return number > 1e8 && unit ? Math.round(number / unit.perMs) : null;
}

/** A number, or a string with one: numbers that a double would round are parsed as strings. */
const numberIn = (value: unknown): number => {
  const isText = typeof value === 'string' && /^-?\d{9,20}(?:\.\d+)?$/.test(value.trim());
  return typeof value === 'number' || isText ? Number(value) : Number.NaN;
};

const YEAR_ONE = /^0001[-/]|^\d{1,2}\/\d{1,2}\/0001\b|^(?:[a-z]{3,9},?\s+)?\d{1,2}\s+[a-z]{3,9},?\s+0001\b/i;
const YEAR_ONE_SECONDS = { from: -62_135_596_800, before: -62_104_060_800 };
/** `time.Time{}.UnixNano()` in Go, which overflows. */
const GO_ZERO_NANOSECONDS = -6.795364578871345e18;

/** Whether a time is in year 1. Go and .NET write such a time for an unset time. */
export function isYearOne(value: unknown): boolean {
  const number = numberIn(value);
  if (number === GO_ZERO_NANOSECONDS) return true;
  const { from, before } = YEAR_ONE_SECONDS;
  if ([1, 1e3, 1e6].some((unit) => number >= from * unit && number < before * unit)) return true;
  return typeof value === 'string' && YEAR_ONE.test(usualIsoOf(value.trim()));
}

/** JSON with sorted keys, so that equal values have equal texts. */
export function canonicalJson(value: unknown, without: ReadonlySet<string> = NOTHING): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).filter((name) => !without.has(name));
  return `{${names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`)
    .join(',')}}`;
}
const NOTHING: ReadonlySet<string> = new Set();

export const sha256 = (text: string): string => hash('sha256', text.toWellFormed(), 'hex');

/** Properties of JSON that are checked before parsing. */
interface JsonShape {
  /** The nesting depth of lists and objects. */
  readonly depth: number;
  /** Whether the text ends inside a list or an object. */
  readonly isCut: boolean;
  /** Whether a number has an exponent, or more digits than a double always keeps. */
  readonly mayBeRounded: boolean;
}

/** Scans JSON without parsing it. */
export function shapeOf(bytes: Buffer): JsonShape {
  let depth = 0;
  let deepest = 0;
  let digits = 0;
  let mayBeRounded = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) {
      digits = 0;
      // A fast loop, because most of a body is strings.
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
    } else if ((byte >= 0x30 && byte <= 0x39) || byte === POINT) {
      digits++;
      if (digits > EXACT_DIGITS) mayBeRounded = true;
    } else {
      if (digits > 0 && (byte | LOWER_CASE) === LETTER_E) mayBeRounded = true;
      digits = 0;
      if (byte === 0x5b || byte === 0x7b) {
        depth++;
        if (depth > deepest) deepest = depth;
      } else if (byte === 0x5d || byte === 0x7d) depth--;
    }
  }
  return { depth: deepest, isCut: depth > 0, mayBeRounded };
}
const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const POINT = 0x2e;
const LETTER_E = 0x65;
const LOWER_CASE = 0x20;
/** A double keeps every number of this many digits. */
const EXACT_DIGITS = 15;
