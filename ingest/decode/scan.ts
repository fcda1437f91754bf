// Most blocks hold no nested call. Their text is looked over, not parsed.

const MARKS = ['"call":', '"calls":', '"proposal":'].map((mark) => Buffer.from(mark));
const ETHEREUM = ['ethTransact', 'eth_transact', 'EthTransact'].map((mark) => Buffer.from(mark));
const [SPACE, BRACE, BRACKET] = [0x20, 0x7b, 0x5b];

/** Whether a block's JSON may hold a call inside a call or a signed Ethereum transaction. */
export function mayHoldNestedCalls(json: Buffer): boolean {
  return MARKS.some((mark) => opensAfter(json, mark)) || ETHEREUM.some((mark) => json.includes(mark));
}

/** Whether `mark` occurs with an object or a list behind it: other arguments share these names. */
function opensAfter(json: Buffer, mark: Buffer): boolean {
  for (let at = json.indexOf(mark); at >= 0; at = json.indexOf(mark, at + mark.length)) {
    let next = at + mark.length;
    while (json[next] === SPACE) next += 1;
    if (json[next] === BRACE || json[next] === BRACKET) return true;
  }
  return false;
}
