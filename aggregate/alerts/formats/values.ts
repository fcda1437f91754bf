import { hash } from 'node:crypto';
import { withoutHidden } from '../../../infra/hidden-characters.ts';

// Converts values of any JSON type to the types of an alert. No function throws.

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own property, so that names such as `constructor` are names only. */
export const get = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** A value as a text of one line, cut; '' for missing and blank ones. */
export function lineOf(value: unknown, charactersMax: number): string {
  const text = oneLine(textOf(value));
  return text.trim() === '' ? '' : cut(text, charactersMax);
}

/** Strings, with U+FFFD for half a character, other values as JSON; '' for missing and blank ones. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  // As the store writes them: what is answered at once is what is read later.
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

/** Control characters, and those that change the direction of the text around them. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LINE_SPACE = /[\t\n\v\f\r\u0085\u2028\u2029]/g;

/** Without characters that are not seen and change how others are. */
export const visible = (text: string): string => text.replace(HIDDEN, '');

/** What `oneLine` replaces; most texts have none of it. */
const NOT_ON_LINE = new RegExp(`${HIDDEN.source}|${LINE_SPACE.source}`);

/** A text that is shown on one line. */
export const oneLine = (text: string): string =>
  NOT_ON_LINE.test(text) ? visible(text).replace(LINE_SPACE, ' ') : text;

/** A text that somebody entered for one line; '' for one in which nothing is seen. */
export const enteredLine = (text: string): string => withoutHidden(oneLine(text.toWellFormed())).trim();

const ELLIPSIS = '...';

/** Cuts a text to `charactersMax`, ellipsis included. Does not split a surrogate pair. */
export function cut(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  // A character has one or two units, so a longer text need not be split as a whole.
  const characters = Array.from(text.slice(0, 2 * charactersMax + 2));
  if (characters.length <= charactersMax) return text;
  return characters.slice(0, Math.max(0, charactersMax - ELLIPSIS.length)).join('') + ELLIPSIS;
}

/** The texts of a value; lists are flattened, blank texts left out. */
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
/** Fractions finer than milliseconds are cut: not every engine parses them. */
const FRACTION = /(\.\d{3})\d+/;
/** A day and a time of ISO 8601, of which engines parse the most usual forms only. */
const ISO_TIME =
  /^(?<year>\d{4})(?<dash>-?)(?<month>\d{2})\k<dash>(?<day>\d{2})[T ](?<hour>\d{2})(?::?(?<minute>\d{2})(?::?(?<second>\d{2})(?:[.,](?<fraction>\d+))?)?)?\s*(?:Z|(?<zone>[+-]\d{2}):?(?<zoneMinute>\d{2})?)?$/i;
const ISO_DAY = /^(\d{4})-(\d{2})-(\d{2})/;

/** The last moment that ISO 8601 writes with a year of four digits. */
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * Milliseconds since the epoch of a date-time string; null when it is none. A time without a zone is UTC. One before
 * 1970 or after 9999 is none: year 1 is the zero time of Go, and other APIs cannot write the rest.
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

/** A time of ISO 8601 in the form that every engine parses; other texts unchanged. */
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

/** Engines take the 30th of February for a day of March. */
function hasPossibleDay(text: string): boolean {
  const [, year, month, day] = ISO_DAY.exec(text) ?? [];
  return (
    day === undefined ||
    new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  );
}

/** Since the epoch, units give numbers of other sizes from 1973 to 5138. */
const EPOCH_UNITS = [
  { below: 1e11, perMs: 1e-3 },
  { below: 1e14, perMs: 1 },
  { below: 1e17, perMs: 1e3 },
  { below: 1e20, perMs: 1e6 },
] as const;

/** Milliseconds since the epoch of a number of seconds, milliseconds, microseconds or nanoseconds; null when it is none. */
export function epochOf(value: unknown): number | null {
  const number = numberIn(value);
  const unit = EPOCH_UNITS.find(({ below }) => number < below);
  return number > 1e8 && unit ? Math.round(number / unit.perMs) : null;
}

/** A number, also as a text: JSON writes those that no double holds as texts. */
const numberIn = (value: unknown): number => {
  const isText = typeof value === 'string' && /^-?\d{9,20}(?:\.\d+)?$/.test(value.trim());
  return typeof value === 'number' || isText ? Number(value) : Number.NaN;
};

const YEAR_ONE = /^0001[-/]|^\d{1,2}\/\d{1,2}\/0001\b|^(?:[a-z]{3,9},?\s+)?\d{1,2}\s+[a-z]{3,9},?\s+0001\b/i;
/** Seconds from the epoch to the first and the last moment of year 1, and what Go makes of its zero time in nanoseconds. */
const YEAR_ONE_SECONDS = { from: -62_135_596_800, before: -62_104_060_800 };
const GO_ZERO_NANOSECONDS = -6.795364578871345e18;

/** Whether a time is in year 1, as Go and .NET write one that is not set. */
export function isYearOne(value: unknown): boolean {
  const number = numberIn(value);
  if (number === GO_ZERO_NANOSECONDS) return true;
  const { from, before } = YEAR_ONE_SECONDS;
  if ([1, 1e3, 1e6].some((unit) => number >= from * unit && number < before * unit)) return true;
  return typeof value === 'string' && YEAR_ONE.test(usualIsoOf(value.trim()));
}

/** JSON with sorted keys: equal for equal values. */
export function canonical(value: unknown, without: ReadonlySet<string> = NOTHING): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const names = Object.keys(value).filter((name) => !without.has(name));
  return `{${names
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
    .join(',')}}`;
}
const NOTHING: ReadonlySet<string> = new Set();

export const sha256 = (text: string): string => hash('sha256', text.toWellFormed(), 'hex');

/** What has to be known of JSON before it is parsed. */
interface JsonShape {
  /** The nesting depth of lists and objects. */
  readonly depth: number;
  /** Whether it ends within a list or an object, and so is no JSON. */
  readonly isCut: boolean;
  /** Whether a number has an exponent, or more digits than every double can hold. */
  readonly mayBeRounded: boolean;
}

/** Looks at JSON without parsing it. */
export function shapeOf(bytes: Buffer): JsonShape {
  let depth = 0;
  let deepest = 0;
  let digits = 0;
  let mayBeRounded = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte === QUOTE) {
      digits = 0;
      // Most of a body are texts.
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
    } else if ((byte >= 0x30 && byte <= 0x39) || byte === POINT) {
      digits++;
      if (digits > DIGITS_HELD) mayBeRounded = true;
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
/** A double holds every number of so many digits. */
const DIGITS_HELD = 15;
