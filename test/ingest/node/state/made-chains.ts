import { decAnyMetadata, metadata } from '@polkadot-api/substrate-bindings';
import type { Chain } from '../../../../ingest/chains/chain.ts';
import { buildRegistry } from '../../../../ingest/chains/registry.ts';
import type { SnapshotKind } from '../../../../ingest/decode/snapshot.ts';
import { type NodeRuntime, readRuntime } from '../../../../ingest/node/decode/runtime.ts';
import type { Subject } from '../../../../ingest/sources/snapshot-line.ts';

const home = {
  staking: { since: '2024-01-01' },
  governance: { since: '2024-01-01' },
  treasury: { since: '2024-01-01' },
};
const common = { relay_chain: 'westend', token: 'PAS', decimals: 10, ss58_prefix: 42 };

/** The recorded chains under names that no chain of the product has. */
const registry = buildRegistry([
  { ...common, ...home, name: 'paseo', role: 'relay' },
  { ...common, name: 'coretime-paseo', role: 'coretime', para_id: 1005 },
  { ...common, name: 'asset-hub-paseo', role: 'asset-hub', para_id: 1000 },
]);

export const paseo = (name: 'paseo' | 'coretime-paseo' | 'asset-hub-paseo'): Subject => ({
  chain: registry.find(name) as Chain,
  registry,
  treasury: [],
});

/** Metadata as `state_getMetadata` answers it: without the option and the length around a version that was asked for. */
export const plainMetadata = (hex: string): string => `0x${hex.slice(hex.indexOf(META))}`;
const META = Buffer.from('meta').toString('hex');

/** The same metadata with a field more in the record of a code, which the newest runtimes have: its type. */
export function withCodeType(hex: string): string {
  const decoded = decAnyMetadata(hex);
  if (decoded.metadata.tag !== 'v15') throw new Error('made for metadata of version 15');
  const { lookup } = decoded.metadata.value;
  const id = lookup.length;
  const variants = ['Pvm', 'Evm'].map((name, index) => ({ name, index, fields: [], docs: [] }));
  const path = ['pallet_revive', 'vm', 'BytecodeType'];
  lookup.push({ id, path, params: [], def: { tag: 'variant', value: variants }, docs: [] });
  const info = lookup.find(({ path }) => path.join('::') === 'pallet_revive::vm::CodeInfo')?.def;
  if (info?.tag !== 'composite') throw new Error('the runtime has no record of codes');
  info.value.push({ name: 'code_type', type: id, typeName: undefined, docs: [] });
  return `0x${Buffer.from(metadata.enc(decoded)).toString('hex')}`;
}

const runtimes = new Map<string, NodeRuntime>();

/** The runtime of some metadata as hex, read once. */
export function runtimeOf(hex: string): NodeRuntime {
  const runtime = runtimes.get(hex) ?? readRuntime(Buffer.from(hex.slice(2), 'hex'));
  runtimes.set(hex, runtime);
  return runtime;
}

interface SnapshotDocument {
  readonly kind: SnapshotKind;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of any kind
  readonly payload: any;
  readonly as_of: string;
  readonly block_number: number;
}

/** The documents of some lines. */
export const documentsOf = (lines: readonly Buffer[]): SnapshotDocument[] =>
  lines
    .map(String)
    .filter((line) => line !== '\n')
    .map((line) => JSON.parse(line));
