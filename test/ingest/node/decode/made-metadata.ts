import { metadata as codec } from '@polkadot-api/substrate-bindings';
import type { TypeEntry } from '../../../../ingest/node/decode/value-reader.ts';

type Whole = ReturnType<typeof codec.dec>;
type V14 = Extract<Whole['metadata'], { tag: 'v14' }>['value'];

/** Metadata of version 14 with more types, or others. */
export function changedMetadata(bytes: Uint8Array, change: (metadata: V14) => void): Buffer {
  const whole = codec.dec(bytes);
  if (whole.metadata.tag !== 'v14') throw new Error(`metadata of version ${whole.metadata.tag}`);
  change(whole.metadata.value);
  return Buffer.from(codec.enc(whole));
}

/** Adds a type and returns its id. */
export function addType(
  { lookup }: V14,
  def: TypeEntry['def'],
  { path = [], params = [] }: { path?: string[]; params?: number[] } = {},
): number {
  const id = lookup.length;
  lookup.push({ id, path, params: params.map((type) => ({ name: 'T', type })), def, docs: [] });
  return id;
}

export const struct = (fields: Record<string, number>): TypeEntry['def'] => ({
  tag: 'composite',
  value: Object.entries(fields).map(([name, type]) => ({ name, type, typeName: undefined, docs: [] })),
});

export const tupleStruct = (...types: number[]): TypeEntry['def'] => ({
  tag: 'composite',
  value: types.map((type) => ({ name: undefined, type, typeName: undefined, docs: [] })),
});

export const variants = (named: Record<string, number[]>): TypeEntry['def'] => ({
  tag: 'variant',
  value: Object.entries(named).map(([name, types], index) => ({
    name,
    index,
    fields: types.map((type) => ({ name: undefined, type, typeName: undefined, docs: [] })),
    docs: [],
  })),
});
