// Most blocks hold no nested call. Their text is looked over, not parsed, and as few times as will do.

/** How the arguments begin that hold calls, and how they may end: `"call"`, `"calls"`, `"proposal"`. */
const ARGUMENTS: readonly (readonly [opening: Buffer, endings: readonly string[]])[] = [
  [Buffer.from('"call'), ['":', 's":']],
  [Buffer.from('"proposal'), ['":']],
];
/** What `ethTransact` and `EthTransact` share, and `eth_transact`. */
const ETHEREUM = ['thTransact', 'th_transact'].map((text) => Buffer.from(text));
const [SPACE, BRACE, BRACKET] = [0x20, 0x7b, 0x5b];

/** Whether a block's JSON may hold a call inside a call or a signed Ethereum transaction. */
export function mayHoldNestedCalls(json: Buffer): boolean {
  return (
    ARGUMENTS.some(([opening, endings]) => holdsArgument(json, opening, endings)) ||
    ETHEREUM.some((text) => json.includes(text))
  );
}

/** Whether the argument occurs with an object or a list as its value: others share these names. */
function holdsArgument(json: Buffer, opening: Buffer, endings: readonly string[]): boolean {
  for (let at = json.indexOf(opening); at >= 0; at = json.indexOf(opening, at + opening.length)) {
    const end = at + opening.length;
    const ending = endings.find((text) => json.toString('latin1', end, end + text.length) === text);
    if (ending === undefined) continue;
    let next = end + ending.length;
    while (json[next] === SPACE) next += 1;
    if (json[next] === BRACE || json[next] === BRACKET) return true;
  }
  return false;
}
