import { recordOf } from './names.ts';

/** Keys that jq takes without quotes. */
const PLAIN_KEY = /^[a-zA-Z_]\w{0,50}$/;
/** Sidecar lists blocks so where they are asked for by relay block. */
const BY_RELAY_BLOCK = 'parachainDataPerBlock';

/** Why a document that holds blocks is none, and how they are taken out of it; null for any other document. */
export function refusalOfHeldBlocks(document: unknown): string | null {
  const record = recordOf(document) ?? {};
  if (Array.isArray(record[BY_RELAY_BLOCK]) && record[BY_RELAY_BLOCK].length === 0)
    return `no block: no block of the chain is in this relay block (${BY_RELAY_BLOCK} is empty)`;
  for (const [key, value] of Object.entries(record)) {
    if (!PLAIN_KEY.test(key)) continue;
    if (isBlock(value))
      return `no block: it is within ${key}; take it out, as \`jq -c .${key} FILE\` does of JSON`;
    if (Array.isArray(value) && (key === BY_RELAY_BLOCK || isBlock(value[0])))
      return `no block: its blocks are in the list ${key}; take them out with \`jq -c '.${key}[]' FILE > BLOCKS.ndjson\`, and give that file`;
  }
  return null;
}

function isBlock(value: unknown): boolean {
  const held = recordOf(value);
  return held !== null && 'number' in held && 'extrinsics' in held;
}
