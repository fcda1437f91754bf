// JSON.parse rounds numbers that a double cannot represent, such as amounts with 18 decimals. This parser returns such a
// number as a decimal string in plain notation, or as its original text if it is larger than every double.

/** TypeScript does not know the third argument of a reviver yet. */
type SourceReviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** Short literals without an exponent always fit a double, so most texts need no reviver. */
const MAY_BE_ROUNDED = /[:[,\s]-?(?:\d[\d.]{15}|[\d.]+[eE])/;

export function parseExact(text: string): unknown {
  if (!MAY_BE_ROUNDED.test(` ${text}`)) return JSON.parse(text);
  const revive: SourceReviver = (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactNumber(value, source) : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

function exactNumber(value: number, source: string): number | string {
  const written = plainDecimal(source);
  // Such as 1e999, which JSON.stringify would write as null.
  if (!Number.isFinite(value)) return source;
  if (written === null) return value;
  const isHeld = written === plainDecimal(String(value));
  const isExact = isHeld && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact ? value : written;
}

/** Matches every number that JavaScript would write differently, and some others. */
const MAY_BE_REWRITTEN = /[:[,\s]-?(?:\d{16}|\d+[.eE])|-0/;

export const mayBeRewritten = (text: string): boolean => MAY_BE_REWRITTEN.test(` ${text}`);

/** The types of TypeScript lack these functions. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => boolean;
};

/** Whether a value is an object that `parseAsWritten` returns in place of a number. */
export const isNumberAsWritten = isRawJSON;

/** Parses JSON so that `JSON.stringify` writes all numbers unchanged. Numbers such as 5.0 and 1e3 become objects. */
export function parseAsWritten(text: string): unknown {
  if (!mayBeRewritten(text)) return JSON.parse(text);
  const revive: SourceReviver = (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value) ? rawJSON(source) : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

const DIGITS_MAX = 100;

/** Writes a number without exponent, redundant zeros or plus sign; null if it is invalid or too long. */
export function plainDecimal(text: string): string | null {
  const parts = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (parts === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const shift = Number(exponent);
  if (whole.length + fraction.length + Math.abs(shift) > DIGITS_MAX) return null;
  const digits = '0'.repeat(Math.max(0, -shift)) + whole + fraction + '0'.repeat(Math.max(0, shift));
  const point = Math.max(0, -shift) + whole.length + shift;
  return tidy(sign === '-', digits.slice(0, point), digits.slice(point));
}

function tidy(isNegative: boolean, whole: string, fraction: string): string {
  const before = whole.replace(/^0+(?=\d)/, '') || '0';
  const after = fraction.replace(/0+$/, '');
  const plain = after === '' ? before : `${before}.${after}`;
  return isNegative && plain !== '0' ? `-${plain}` : plain;
}
