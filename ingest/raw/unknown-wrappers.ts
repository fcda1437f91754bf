import { plural } from '../../infra/format.ts';
import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import type { ChainKey } from './canonical.ts';
import { RANK } from './ordering.ts';
import { blocks, replacedBlocks } from './tables.ts';

export const unknownWrappers = table({
  name: 'unknown_wrappers',
  doc: 'Executed calls that contain calls, but for which the decoder has no rule: the contained calls are not read.',
  columns: {
    relay_chain: 'LowCardinality(String)',
    chain: 'LowCardinality(String)',
    number: 'UInt64',
    extrinsic_index: 'UInt32',
    path: 'String', // Position in the extrinsic; empty for the extrinsic itself.
    pallet: 'LowCardinality(String)',
    call: 'LowCardinality(String)',
    calls: 'UInt32', // Number of contained calls.
    rank: RANK,
  },
  engine: 'ReplacingMergeTree(rank)',
  orderBy: ['relay_chain', 'chain', 'number', 'extrinsic_index', 'path'],
});

/** Calls inside wrappers without a rule: it is unknown whether they ran, so no metric counts them. */
export interface UnreadCalls {
  readonly calls: number;
  /** The wrappers with most of these calls, in descending order. */
  readonly wrappers: readonly (ChainKey & { readonly wrapper: string; readonly calls: number })[];
}

const WRAPPERS_MAX = 20;

/** Counts the calls inside unknown wrappers of the canonical blocks. */
export async function readUnreadCalls(store: Pick<Store, 'rows'>): Promise<UnreadCalls> {
  const ofHeights = sql`(relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${unknownWrappers})`;
  const rows = await store.rows<UnreadCalls['wrappers'][number]>(
    sql`SELECT relay_chain, chain, concat(pallet, '.', call) AS wrapper, sum(unknown.calls) AS calls
      FROM ${unknownWrappers} AS unknown FINAL
      WHERE rank IN (SELECT rank FROM ${blocks} FINAL WHERE ${ofHeights})
        AND rank NOT IN (SELECT rank FROM ${replacedBlocks} WHERE ${ofHeights})
      GROUP BY relay_chain, chain, wrapper ORDER BY calls DESC, relay_chain, chain, wrapper`,
  );
  return {
    calls: rows.reduce((sum, { calls }) => sum + calls, 0),
    wrappers: rows.slice(0, WRAPPERS_MAX),
  };
}

/** Describes unread calls, such as `12 calls inside unknown wrappers: council.propose of kusama (12)`. */
export function formatUnreadCalls({ calls, wrappers }: UnreadCalls): string {
  const names = wrappers.map(({ chain, wrapper, calls }) => `${wrapper} of ${chain} (${calls})`);
  const list = names.length === 0 ? '' : `: ${names.join(', ')}`;
  return `${plural(calls, 'call')} inside unknown wrappers${list}`;
}
