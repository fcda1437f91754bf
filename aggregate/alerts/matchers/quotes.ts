const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
};
const PART =
  /[^\\\n]+|\\(?:(?<simple>[abfnrtv\\"])|x(?<hex>[\da-fA-F]{2})|(?<octal>[0-3][0-7]{2})|u(?<short>[\da-fA-F]{4})|U(?<long>[\da-fA-F]{8}))/uy;

/** Decodes the text between double quotes, with Go's escapes; null if one is invalid. */
export function unquote(quoted: string): string | null {
  const text = quoted.slice(1, -1);
  const bytes: Buffer[] = [];
  let offset = 0;
  while (offset < text.length) {
    PART.lastIndex = offset;
    const match = PART.exec(text);
    const part = match === null ? null : bytesOf(match);
    if (part === null) return null;
    bytes.push(part);
    offset = PART.lastIndex;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(bytes));
  } catch {
    return null;
  }
}

/** Hexadecimal and octal escapes are bytes; several may form one character. */
function bytesOf({ 0: text, groups = {} }: RegExpExecArray): Buffer | null {
  const { simple, hex, octal, short, long } = groups;
  if (simple !== undefined) return Buffer.from(ESCAPES[simple] ?? '');
  if (hex !== undefined) return Buffer.from([Number.parseInt(hex, 16)]);
  if (octal !== undefined) return Buffer.from([Number.parseInt(octal, 8)]);
  const digits = short ?? long;
  if (digits === undefined) return Buffer.from(text);
  const code = Number.parseInt(digits, 16);
  const isCharacter = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? Buffer.from(String.fromCodePoint(code)) : null;
}

export const quote = (text: string): string => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
