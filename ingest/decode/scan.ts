// Searches the text of blocks, since most blocks contain no nested call and need no parsing. In other blocks only the
// extrinsics that may contain a nested call are parsed.

/**
 * Arguments that contain calls: `"call":`, `"calls":`, `"proposal":`, `"fallback":`. The search looks for the part after
 * `|`. That part starts with a letter that hex never contains, so the search skips hex at the speed of memory.
 */
const ARGUMENTS = ['"ca|ll":', '"ca|lls":', '"pro|posal":', '"fal|lback":'].map(searchedBy);
/** The common part of `ethTransact` and `EthTransact`, and `eth_transact`. */
const ETHEREUM = ['th|Transact', 'th|_transact'].map(searchedBy);
/** The key before the arguments. It follows the method object in a nested call, and the nonce in an extrinsic. */
const CALL_ARGUMENTS = searchedBy('"a|rgs":');
const [SPACE, QUOTE, COMMA, COLON, BACKSLASH] = [0x20, 0x22, 0x2c, 0x3a, 0x5c];
const [BRACE, BRACKET, BRACE_END, BRACKET_END] = [0x7b, 0x5b, 0x7d, 0x5d];

interface Searched {
  readonly before: string;
  readonly end: Buffer;
}

function searchedBy(text: string): Searched {
  const [before = '', end = ''] = text.split('|');
  return { before, end: Buffer.from(end) };
}

/** Whether the JSON of a block or extrinsic may contain a nested call or a signed Ethereum transaction. */
export function mayHoldNestedCalls(json: Buffer): boolean {
  return (
    ARGUMENTS.some((argument) => occurs(json, argument, isObjectOrList)) ||
    ETHEREUM.some((text) => occurs(json, text, () => true)) ||
    occurs(json, CALL_ARGUMENTS, (_, end) => followsObject(json, end - '"args":'.length))
  );
}

function occurs(
  json: Buffer,
  { before, end }: Searched,
  isFollowed: (json: Buffer, at: number) => boolean,
): boolean {
  for (let at = json.indexOf(end); at >= 0; at = json.indexOf(end, at + end.length)) {
    const from = at - before.length;
    if (from < 0 || json.toString('latin1', from, at) !== before) continue;
    if (isFollowed(json, at + end.length)) return true;
  }
  return false;
}

/** Whether the value is an object or a list. Arguments with these names that are not calls are neither. */
function isObjectOrList(json: Buffer, at: number): boolean {
  let next = at;
  while (json[next] === SPACE) next += 1;
  return json[next] === BRACE || json[next] === BRACKET;
}

/** Whether an object and a comma precede this position. */
function followsObject(json: Buffer, start: number): boolean {
  const comma = skipSpaceBack(json, start - 1);
  return json[comma] === COMMA && json[skipSpaceBack(json, comma - 1)] === BRACE_END;
}

function skipSpaceBack(json: Buffer, from: number): number {
  let at = from;
  while ((json[at] ?? COMMA) <= SPACE) at -= 1;
  return at;
}

/** The beginning of an extrinsic with a valid method, as Sidecar writes it. */
const NAMED = /^\{"method":\{"pallet":"[^"\\]+","method":"[^"\\]+"\}/;
const NAMED_BYTES = 256;

/**
 * The extrinsics in a block's JSON that must be parsed, by position: those that may contain calls, and those without a valid
 * method. Null if the whole JSON must be parsed.
 */
export function extrinsicsToParse(json: Buffer): readonly (readonly [index: number, json: Buffer])[] | null {
  const all = extrinsicsIn(json);
  if (all === null) return null;
  return [...all.entries()].filter(
    ([, extrinsic]) =>
      !NAMED.test(extrinsic.toString('latin1', 0, NAMED_BYTES)) || mayHoldNestedCalls(extrinsic),
  );
}

const KEY = 'extrinsics';

/** The bytes of each extrinsic; null unless they are a list of objects under exactly one key of the block. */
function extrinsicsIn(json: Buffer): Buffer[] | null {
  let found: Buffer[] | null = null;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === BRACE || byte === BRACKET) depth++;
    else if (byte === BRACE_END || byte === BRACKET_END) depth--;
    else if (byte === QUOTE) {
      const end = endOfText(json, at + 1);
      const isKey =
        depth === 1 && end - at - 1 === KEY.length && json.toString('latin1', at + 1, end) === KEY;
      if (end < 0 || (isKey && (found !== null || json[end + 1] !== COLON || json[end + 2] !== BRACKET)))
        return null;
      at = end;
      if (!isKey) continue;
      const list = objectsIn(json, end + 3);
      if (list === null) return null;
      found = list.objects;
      at = list.end;
    }
  }
  return found;
}

/** The objects of a list from its first byte, and the position of its end. */
function objectsIn(json: Buffer, first: number): { objects: Buffer[]; end: number } | null {
  const objects: Buffer[] = [];
  for (let at = first; at < json.length; at++) {
    const byte = json[at];
    if (byte === BRACKET_END) return { objects, end: at };
    if (byte === SPACE || byte === COMMA) continue;
    const end = byte === BRACE ? endOfObject(json, at) : -1;
    if (end < 0) return null;
    objects.push(json.subarray(at, end + 1));
    at = end;
  }
  return null;
}

function endOfObject(json: Buffer, first: number): number {
  let depth = 0;
  for (let at = first; at < json.length; at++) {
    const byte = json[at];
    if (byte === BRACE || byte === BRACKET) depth++;
    else if (byte === BRACE_END || byte === BRACKET_END) {
      if (--depth === 0) return at;
    } else if (byte === QUOTE) {
      at = endOfText(json, at + 1);
      if (at < 0) return -1;
    }
  }
  return -1;
}

/** Most strings are short: comparing their bytes is faster than calling `indexOf`. */
const SHORT_BYTES = 48;

/** Position of the closing quote of a string; -1 if there is none. */
function endOfText(json: Buffer, first: number): number {
  let at = first;
  for (const end = Math.min(first + SHORT_BYTES, json.length); at < end; at++) {
    if (json[at] === QUOTE) return at;
    if (json[at] === BACKSLASH) at++;
  }
  for (;;) {
    const quote = json.indexOf(QUOTE, at);
    const escaped = quote < 0 ? -1 : json.subarray(at, quote).indexOf(BACKSLASH);
    if (escaped < 0) return quote;
    at += escaped + 2;
  }
}
