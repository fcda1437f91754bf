import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import { parseSnapshot, type SnapshotKind } from '../decode/snapshot.ts';

/** The chain whose state is collected. */
export interface Subject {
  readonly chain: Chain;
  readonly registry: Registry;
  /** Addresses of the treasury. */
  readonly treasury: readonly string[];
}

/** Formats a snapshot as a line. Throws if loading would refuse it. */
export function snapshotLine(
  { relay_chain, name }: Chain,
  kind: SnapshotKind,
  { height, time }: { readonly height: number; readonly time: number },
  payload: object,
): Buffer {
  const document = {
    schema: 'snapshot/1',
    kind,
    relay_chain,
    chain: name,
    block_number: height,
    as_of: new Date(time).toISOString(),
    payload,
  };
  const read = parseSnapshot(document);
  if (!read.ok) throw new Error(read.reason);
  return Buffer.from(JSON.stringify(document));
}
