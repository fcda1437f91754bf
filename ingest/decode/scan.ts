// Most blocks hold no nested call. Their text is looked over, not parsed, and as few times as will do; of the others
// only the extrinsics that may hold one are parsed.

/**
 * How the arguments are written that hold calls: `"call":`, `"calls":`, `"proposal":`, `"fallback":`. They are found by
 * their ends, since those begin with letters that no hex text has: the search passes over the rest as fast as memory is
 * read.
 */
const ARGUMENTS = ['"ca|ll":', '"ca|lls":', '"pro|posal":', '"fal|lback":'].map(searchedBy);
/** What `ethTransact` and `EthTransact` share, and `eth_transact`. */
const ETHEREUM = ['th|Transact', 'th|_transact'].map(searchedBy);
/** The arguments of a call. Those of one inside another follow its name, and those of an extrinsic its nonce. */
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

/** Whether a block's JSON, or an extrinsic's, may hold a call inside a call or a signed Ethereum transaction. */
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

/** Arguments that hold no calls share these names. */
function isObjectOrList(json: Buffer, at: number): boolean {
  let next = at;
  while (json[next] === SPACE) next += 1;
  return json[next] === BRACE || json[next] === BRACKET;
}

/** Whether an object and a comma stand before the text that begins there. */
function followsObject(json: Buffer, start: number): boolean {
  const comma = skipSpaceBack(json, start - 1);
  return json[comma] === COMMA && json[skipSpaceBack(json, comma - 1)] === BRACE_END;
}

function skipSpaceBack(json: Buffer, from: number): number {
  let at = from;
  while ((json[at] ?? COMMA) <= SPACE) at -= 1;
  return at;
}

/** An extrinsic as Sidecar writes it, whose method can be read. */
const NAMED = /^\{"method":\{"pallet":"[^"\\]+","method":"[^"\\]+"\}/;
const NAMED_BYTES = 256;

/**
 * The extrinsics of a block's JSON that have to be parsed, by their position: those that may hold calls, and those that
 * may have no name. Null where the JSON has to be parsed whole to tell them.
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

/** The bytes of each extrinsic; null where they are no list of objects under one key of the block. */
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

/** The objects of a list whose first byte is given, and the position of its end. */
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

/** Most texts are short, and a call for each of them would cost more than to look at their bytes. */
const SHORT_BYTES = 48;

/** Position of the quote that ends a text, -1 where there is none. */
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
