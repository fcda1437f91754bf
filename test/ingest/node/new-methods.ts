import { compact, str, u32 } from '@polkadot-api/substrate-bindings';
import { ReplayError } from './replayed-chain.ts';

type Answer = (method: string, params: readonly unknown[]) => unknown;

interface Header {
  readonly parentHash: string;
  readonly number: string;
  readonly stateRoot: string;
  readonly extrinsicsRoot: string;
  readonly digest: { readonly logs: readonly string[] };
}

const PAGE = 1000;
const LISTED = [
  'body',
  'call',
  'finalizedHeight',
  'genesisHash',
  'hashByHeight',
  'header',
  'stopStorage',
  'storage',
]
  .map((name) => `archive_v1_${name}`)
  .concat('chainHead_v1_follow', 'chainHead_v1_unfollow');
const LEGACY = ['chain_getBlock', 'chain_getBlockHash', 'chain_getFinalizedHead', 'state_getStorage'];

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The `archive_v1_` and `chainHead_v1_` methods of a node, answered by what it answers to `chain_` and `state_`. */
export class NewMethods {
  readonly #legacy: Answer;
  /** Whether the others are answered too. */
  readonly #hasLegacy: boolean;

  constructor(legacy: Answer, hasLegacy: boolean) {
    this.#legacy = legacy;
    this.#hasLegacy = hasLegacy;
  }

  answer(method: string, params: readonly unknown[]): unknown {
    const [first, second, third] = params;
    switch (method) {
      case 'rpc_methods':
        return { methods: [...LISTED, ...(this.#hasLegacy ? LEGACY : [])] };
      case 'archive_v1_finalizedHeight':
        return Number(this.#header(this.#legacy('chain_getFinalizedHead', [])).number);
      case 'archive_v1_hashByHeight':
        return [this.#legacy('chain_getBlockHash', [first])].filter((hash) => hash !== null);
      case 'archive_v1_header':
        return scaleOf(this.#header(first));
      case 'archive_v1_body':
        return (this.#legacy('chain_getBlock', [first]) as { block: { extrinsics: string[] } } | null)?.block
          .extrinsics;
      case 'archive_v1_call':
        return this.#call(first, String(second), third);
      case 'archive_v1_storage':
      case 'chainHead_v1_follow':
        return `subscription ${Math.random()}`;
      case 'archive_v1_stopStorage':
      case 'chainHead_v1_unfollow':
        return null;
      default:
        if (!this.#hasLegacy && /^(?:chain|state)_/.test(method))
          throw new ReplayError(-32601, 'Method not found');
        return this.#legacy(method, params);
    }
  }

  /** What comes for a subscription. */
  *events(method: string, [hash, items]: readonly unknown[]): Generator<object> {
    if (method === 'chainHead_v1_follow') {
      const finalized = this.#legacy('chain_getFinalizedHead', []);
      const best = this.#legacy('chain_getBlockHash', []);
      yield { event: 'initialized', finalizedBlockHashes: [finalized] };
      yield { event: 'newBlock', blockHash: best, parentBlockHash: finalized, newRuntime: null };
      yield { event: 'bestBlockChanged', bestBlockHash: best };
    }
    if (method !== 'archive_v1_storage') return;
    try {
      const [{ key, type }] = items as [{ key: string; type: string }];
      if (type === 'value') {
        const value = this.#legacy('state_getStorage', [key, hash]);
        if (value !== null) yield { event: 'storage', key, value };
      } else yield* this.#descendants(key, hash, type);
      yield { event: 'storageDone' };
    } catch (error) {
      yield { event: 'storageError', error: (error as Error).message };
    }
  }

  *#descendants(prefix: string, hash: unknown, type: string): Generator<object> {
    for (let last: string | null = null; ; ) {
      const keys = this.#legacy('state_getKeysPaged', [prefix, PAGE, last, hash]) as string[];
      if (keys.length === 0) return;
      const [{ changes }] = this.#legacy('state_queryStorageAt', [keys, hash]) as [{ changes: string[][] }];
      for (const [key, value] of changes)
        yield type === 'descendantsValues'
          ? { event: 'storage', key, value }
          : { event: 'storage', key, hash: `0x${'00'.repeat(32)}` };
      last = keys.at(-1) as string;
    }
  }

  #header(hash: unknown): Header {
    return this.#legacy('chain_getHeader', [hash]) as Header;
  }

  #call(hash: unknown, name: string, params: unknown): object {
    try {
      return { success: true, value: this.#called(hash, name, params) };
    } catch (error) {
      return { success: false, error: (error as Error).message };
    }
  }

  #called(hash: unknown, name: string, params: unknown): unknown {
    if (name === 'Metadata_metadata') {
      const metadata = String(this.#legacy('state_getMetadata', [hash])).slice(2);
      return `0x${hex(compact.enc(metadata.length / 2))}${metadata}`;
    }
    if (name !== 'Core_version') return this.#legacy('state_call', [name, params, hash]);
    const { specName, specVersion } = this.#legacy('state_getRuntimeVersion', [hash]) as {
      specName: string;
      specVersion: number;
    };
    // The name of the implementation, the versions of authoring, and what follows the version of the runtime.
    const parts = [
      str.enc(specName),
      str.enc('implementation'),
      u32.enc(1),
      u32.enc(specVersion),
      u32.enc(7),
    ];
    return `0x${parts.map(hex).join('')}`;
  }
}

function scaleOf(header: Header | null): string | null {
  if (header === null) return null;
  const { parentHash, number, stateRoot, extrinsicsRoot, digest } = header;
  const parts = [
    parentHash.slice(2),
    hex(compact.enc(Number(number))),
    stateRoot.slice(2),
    extrinsicsRoot.slice(2),
    hex(compact.enc(digest.logs.length)),
    ...digest.logs.map((log) => log.slice(2)),
  ];
  return `0x${parts.join('')}`;
}
