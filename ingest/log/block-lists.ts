import { recordOf } from '../decode/names.ts';

const PLAIN_KEY = /^[A-Za-z_]\w*$/;

/**
 * Why a document that holds a list of blocks is none, and how its blocks are taken out; null for any other document.
 * Sidecar answers so where blocks are asked for by relay block: `{rcBlock, parachainDataPerBlock: […]}`.
 */
export function refusalOfBlockList(document: unknown): string | null {
  const record = recordOf(document);
  if (record === null || 'extrinsics' in record) return null;
  for (const [key, value] of Object.entries(record)) {
    if (!Array.isArray(value) || !PLAIN_KEY.test(key)) continue;
    const isOfRelayBlock = key === 'parachainDataPerBlock';
    if (isOfRelayBlock && value.length === 0)
      return `no block: no block of the chain is in this relay block (${key} is empty)`;
    if (!isOfRelayBlock && !isBlock(value[0])) continue;
    return `no block: its blocks are in the list ${key}; take them out with \`jq -c '.${key}[]' FILE > BLOCKS.ndjson\`, and give that file`;
  }
  return null;
}

function isBlock(value: unknown): boolean {
  const record = recordOf(value);
  return record !== null && 'number' in record && 'extrinsics' in record;
}
