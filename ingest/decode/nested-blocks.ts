import { asRecord } from './names.ts';

/** Keys that jq takes without quotes. */
const PLAIN_KEY = /^[a-zA-Z_]\w{0,50}$/;
/** The field of Sidecar's answer to a request by relay block. */
const BY_RELAY_BLOCK = 'parachainDataPerBlock';

/** For a document that is not a block but contains blocks: the reason, and how to extract the blocks. Otherwise null. */
export function explainNestedBlocks(document: unknown): string | null {
  const record = asRecord(document) ?? {};
  if (Array.isArray(record[BY_RELAY_BLOCK]) && record[BY_RELAY_BLOCK].length === 0)
    return `no block: the chain has no block in this relay block (${BY_RELAY_BLOCK} is empty)`;
  for (const [key, value] of Object.entries(record)) {
    if (!PLAIN_KEY.test(key)) continue;
    if (isBlock(value))
      return `no block: the block is in the field ${key}; extract it with \`jq -c .${key} FILE\``;
    if (Array.isArray(value) && (key === BY_RELAY_BLOCK || isBlock(value[0])))
      return `no block: the blocks are in the list ${key}; extract them with \`jq -c '.${key}[]' FILE > BLOCKS.ndjson\`, and ingest that file`;
  }
  return null;
}

function isBlock(value: unknown): boolean {
  const held = asRecord(value);
  return held !== null && 'number' in held && 'extrinsics' in held;
}
