import kusamaAnswer from '@polkadot/types-support/metadata/v15/kusama-hex';
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../../infra/days.ts';
import type { Chain } from '../../../../ingest/chains/chain.ts';
import { loadRegistry } from '../../../../ingest/chains/registry.ts';
import { StateBackfill } from '../../../../ingest/node/state/state-backfill.ts';
import { stateNode } from '../../../../ingest/node/state/state-node.ts';
import { itemPrefix } from '../../../../ingest/node/state/storage.ts';
import { documentsOf, plainMetadata } from './made-chains.ts';
import { MadeState } from './made-state.ts';
import { StateServer } from './state-server.ts';

const registry = loadRegistry();
const metadata = plainMetadata(kusamaAnswer);
const FIRST = Date.parse('2025-01-10');
const RENUMBERED = 37;

const renumbered = new MadeState(metadata);
renumbered.put('childBounties', 'v0ToV1ChildBountyIds', [2519], [11, 0]);

/** A block an hour over four days; child bounties are renumbered in one of them. */
function server(prunedBelow = 0): StateServer {
  const blocks = Array.from({ length: 96 }, (_, height) => {
    const values = new Map(height < RENUMBERED ? [] : renumbered.values);
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(FIRST + height * HOUR_MS));
    values.set(itemPrefix('Timestamp', 'Now'), `0x${bytes.toString('hex')}`);
    return {
      height,
      hash: `0x${height.toString(16).padStart(64, '0')}`,
      values,
      isPruned: height < prunedBelow,
    };
  });
  return new StateServer(blocks, () => metadata);
}

/** The snapshots of new ids that a range of days brings. */
async function taken(name: string, from: string, to: string, node = server()) {
  const subject = { chain: registry.find(name) as Chain, registry, treasury: [] };
  const source = {
    source: 'node',
    open: async () => stateNode({ rpc: node, block: node.block }),
    signal: new AbortController().signal,
  };
  const feed = new StateBackfill(subject, { from, to }, source);
  const found = [];
  const target = { storedSnapshots: async () => [], noteSkippedSnapshots: async () => undefined };
  for await (const { lines } of feed.portions(target))
    found.push(...documentsOf(lines).filter(({ kind }) => kind === 'child_bounty_ids'));
  return found;
}

describe('new ids of child bounties', () => {
  it('are taken as of the block that gave them, once', async () => {
    expect(await taken('kusama', '2025-01-10', '2025-01-12')).toMatchObject([
      {
        block_number: RENUMBERED,
        as_of: new Date(FIRST + DAY_MS + 13 * HOUR_MS).toISOString(),
        payload: { ids: [{ parent: '11', old: '2519', new: '0' }] },
      },
    ]);
    expect(await taken('kusama', '2025-01-11', '2025-01-11')).toHaveLength(1);
  });

  it('are not taken by a range without that block, nor of a node that lacks what was before', async () => {
    expect(await taken('kusama', '2025-01-12', '2025-01-12')).toEqual([]);
    expect(await taken('kusama', '2025-01-10', '2025-01-10')).toEqual([]);
    expect(await taken('kusama', '2025-01-11', '2025-01-12', server(40))).toEqual([]);
  });

  it('are not taken of a chain that got the map with the bounties', async () => {
    expect(await taken('asset-hub-kusama', '2025-01-10', '2025-01-12')).toEqual([]);
  });
});
