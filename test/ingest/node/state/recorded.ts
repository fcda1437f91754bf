import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { NodeRefusal } from '../../../../ingest/node/rpc-errors.ts';
import type { RecordedChain } from '../decode/recorded.ts';
import { StateServer, type StoredBlock } from './state-server.ts';

interface Answer {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result: unknown;
}

/** The heights whose maps are recorded: first, middle, last. */
export const RECORDED_HEIGHTS = {
  paseo: [1_036_786, 1_036_818, 1_036_851],
  'coretime-westend': [1, 32, 63],
  'asset-hub-paseo': [1, 15, 30],
} as const;

const answersOf = (chain: RecordedChain): Answer[] =>
  gunzipSync(readFileSync(new URL(`../../../fixtures/node/${chain}/rpc.ndjson.gz`, import.meta.url)))
    .toString('utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const ITEM_CHARACTERS = 66;

/** The recorded state of a chain: the pairs of every block, and a server that refuses items that were not recorded. */
export function recordedState(chain: RecordedChain) {
  const answers = answersOf(chain);
  const values = new Map<string, Map<string, string>>();
  const items = new Map<string, Set<string>>();
  const put = (hash: string, key: string, value: string | null) => {
    const block = values.get(hash) ?? new Map<string, string>();
    values.set(hash, block);
    if (value !== null) block.set(key, value);
    items.set(hash, (items.get(hash) ?? new Set()).add(key.slice(0, ITEM_CHARACTERS)));
  };
  for (const { method, params, result } of answers) {
    const [first, second] = params as string[];
    if (method === 'state_getStorage') put(second as string, first as string, result as string | null);
    if (method === 'state_getKeysPaged') put(params[3] as string, first as string, null);
    if (method !== 'state_queryStorageAt') continue;
    const [{ changes }] = result as [{ changes: [string, string | null][] }];
    for (const [key, value] of changes) put(second as string, key, value);
  }
  const blocks: StoredBlock[] = answers
    .filter(({ method, params }) => method === 'chain_getBlockHash' && (params[0] as number) > 0)
    .map(({ params, result }) => ({
      height: params[0] as number,
      hash: result as string,
      values: values.get(result as string) ?? new Map(),
    }));
  const metadata = answers.find(({ method }) => method === 'state_getMetadata')?.result as string;
  return { blocks, metadata, server: new RecordedServer(blocks, metadata, items) };
}

class RecordedServer extends StateServer {
  readonly #items: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(
    blocks: readonly StoredBlock[],
    metadata: string,
    items: ReadonlyMap<string, ReadonlySet<string>>,
  ) {
    super(blocks, () => metadata);
    this.#items = items;
  }

  /** An item that was not recorded is unknown, not absent. */
  override answer(method: string, params: readonly unknown[]): unknown {
    const asked = { state_getStorage: [params[0], params[1]], state_getKeysPaged: [params[0], params[3]] }[
      method
    ];
    const [key, hash] = (asked ?? []) as string[];
    if (key !== undefined && !this.#items.get(hash as string)?.has(key.slice(0, ITEM_CHARACTERS)))
      throw new NodeRefusal(`${key} was not recorded at ${hash}`, false);
    return super.answer(method, params);
  }
}
