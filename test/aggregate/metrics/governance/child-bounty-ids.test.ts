import { describe, expect, it } from 'vitest';
import { govChildBounty } from '../../../../aggregate/metrics/governance/gov-child-bounties.ts';
import { govParentBountySummary } from '../../../../aggregate/metrics/governance/gov-parent-bounty-summary.ts';
import type { InputLine } from '../../../reference/input.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import { ALICE, BOB, batch, CHARLIE, columns, computeRows, snapshotLine, Writer } from './story.ts';

// Child bounties whose ids are given again, or that get new ids.

const day = (n: number) => `2025-05-${String(n).padStart(2, '0')}T12:00:00.000Z`;
const at = (name: string, parent: number, child: number, ...more: unknown[]): ShapedEvent => [
  `childBounties.${name}`,
  String(parent),
  String(child),
  ...more,
];
const added = (parent: number, child: number) => at('Added', parent, child);
const claimed = (parent: number, child: number, dot: number, to = ALICE) =>
  at('Claimed', parent, child, `${dot}0000000000`, to);
const renumbered = (as_of: string, ids: readonly [number, unknown, unknown][], chain = 'polkadot') =>
  snapshotLine(
    'child_bounty_ids',
    as_of,
    { ids: ids.map(([parent, before, after]) => ({ parent, old: before, new: after })) },
    chain,
  );

const CHILD = ['parent_bounty_id', 'child_bounty_id', 'status', 'claimed_amount', 'added_at'];
async function childrenOf(lines: readonly InputLine[]) {
  const { rows, refused } = await computeRows(lines, [govChildBounty, govParentBountySummary]);
  const [children = [], parents = []] = rows;
  const PARENT = ['child_bounty_count', 'child_bounties_added', 'child_bounties_claimed', 'total_claimed'];
  return {
    children: columns(children, ...CHILD),
    parents: columns(parents, 'parent_bounty_id', ...PARENT),
    refused,
  };
}

describe('an id that is given again', () => {
  it('opens another child bounty, to which all that follows belongs', async () => {
    const relay = new Writer('polkadot', 8_000_000);
    relay.opening(day(1), added(10, 4), claimed(10, 4, 10));
    relay.opening(day(2), added(10, 4), claimed(10, 4, 70));
    expect(await childrenOf(relay.lines)).toEqual({
      children: [
        [10, 4, 'Claimed', 10, day(1)],
        [10, 4, 'Claimed', 70, day(2)],
      ],
      parents: [[10, 2, 2, 2, 80]],
      refused: [],
    });
  });

  it('leaves the first one as it stands, ended or not, also within an extrinsic and over chains', async () => {
    const relay = new Writer('polkadot', 8_000_000);
    const hub = new Writer('asset-hub-polkadot', 9_000_000);
    const add = (value: string) =>
      shapeCall('childBounties.addChildBounty', { parent_bounty_id: '1', value, description: '0x' });
    const by = (call: string, more: object = {}): ShapedExtrinsic => ({
      call: `childBounties.${call}`,
      args: { parent_bounty_id: '1', child_bounty_id: '0', ...more },
      signer: ALICE,
    });
    relay.extrinsics(
      day(1),
      batch(ALICE, [add('10000000000'), add('20000000000')], [added(1, 0), added(1, 0)]),
    );
    relay.extrinsics(day(2), by('proposeCurator', { curator: { id: BOB }, fee: '1' }), by('acceptCurator'));
    hub.opening(day(3), at('Canceled', 1, 0));
    hub.opening(day(4), added(1, 0), claimed(2, 0, 1, CHARLIE));
    hub.opening(day(5), added(2, 0));
    const { rows } = await computeRows([...hub.lines, ...relay.lines], [govChildBounty]);
    expect(columns(rows[0] ?? [], 'chain', ...CHILD, 'value', 'curator_fee_planck')).toEqual([
      ['asset-hub-polkadot', 1, 0, 'Canceled', null, day(1), 2, '1'],
      ['asset-hub-polkadot', 1, 0, 'Added', null, day(4), null, null],
      ['asset-hub-polkadot', 2, 0, 'Claimed', 1, null, null, null],
      ['asset-hub-polkadot', 2, 0, 'Added', null, day(5), null, null],
      ['polkadot', 1, 0, 'Added', null, day(1), 1, null],
    ]);
  });
});

describe('a child bounty that gets a new id', () => {
  const story = () => {
    const relay = new Writer('polkadot', 8_000_000);
    relay.opening(day(1), added(11, 2519));
    relay.opening(day(9), at('Awarded', 11, 0, ALICE), claimed(11, 0, 50));
    return relay.lines;
  };

  it('is two without the snapshot of ids, one without an end and one without an addition', async () => {
    const { children, parents } = await childrenOf(story());
    expect(children).toEqual([
      [11, 0, 'Claimed', 50, null],
      [11, 2519, 'Added', null, day(1)],
    ]);
    expect(parents).toEqual([[11, 1, 1, 1, 50]]);
  });

  it('is one with it, in whatever order they are loaded', async () => {
    const expected = {
      children: [[11, 0, 'Claimed', 50, day(1)]],
      parents: [[11, 1, 1, 1, 50]],
      refused: [],
    };
    const ids = renumbered(day(5), [[11, '2519', 0]]);
    expect(await childrenOf([...story(), ids])).toEqual(expected);
    expect(await childrenOf([ids, ...story()])).toEqual(expected);
  });

  it('has both ids until another one takes the old one', async () => {
    const relay = new Writer('polkadot', 8_000_000);
    relay.opening(day(1), added(1, 7), added(1, 8), added(1, 0));
    relay.opening(day(6), claimed(1, 7, 3), at('Awarded', 1, 8, BOB));
    relay.opening(day(7), added(1, 7));
    relay.opening(day(8), at('Canceled', 1, 7), claimed(1, 1, 4));
    const ids = renumbered(day(5), [
      [1, 7, 0],
      [1, 8, 1],
    ]);
    const { children } = await childrenOf([...relay.lines, ids]);
    expect(children).toEqual([
      [1, 0, 'Claimed', 3, day(1)],
      [1, 0, 'Added', null, day(1)],
      [1, 1, 'Claimed', 4, day(1)],
      [1, 7, 'Canceled', null, day(7)],
    ]);
  });

  it('changes it at once with all others, and an id without a child bounty is free', async () => {
    const relay = new Writer('polkadot', 8_000_000);
    relay.opening(day(1), added(1, 0), added(1, 1), added(1, 2), added(2, 0));
    relay.opening(day(6), claimed(1, 0, 10), claimed(1, 1, 11), claimed(1, 2, 12), claimed(2, 0, 20));
    const ids = renumbered(day(5), [
      [1, 0, 1],
      [1, 1, 0],
      [1, 99, 2],
      [77, 0, 1],
    ]);
    const { children, parents } = await childrenOf([...relay.lines, ids]);
    expect(children).toEqual([
      [1, 0, 'Claimed', 10, day(1)],
      [1, 1, 'Claimed', 11, day(1)],
      [1, 2, 'Added', null, day(1)],
      [1, 2, 'Claimed', 12, null],
      [2, 0, 'Claimed', 20, day(1)],
    ]);
    expect(parents).toEqual([
      [1, 3, 3, 3, 33],
      [2, 1, 1, 1, 20],
    ]);
  });

  it('does so before the block of that time of its chain, and after those of chains before it', async () => {
    const relay = new Writer('polkadot', 8_000_000);
    const hub = new Writer('asset-hub-polkadot', 9_000_000);
    relay.opening(day(1), added(1, 5));
    hub.opening(day(5), claimed(1, 0, 1));
    relay.opening(day(5), claimed(1, 0, 2));
    const { children } = await childrenOf([...relay.lines, ...hub.lines, renumbered(day(5), [[1, 5, 0]])]);
    expect(children).toEqual([
      [1, 0, 'Claimed', 1, null],
      [1, 0, 'Claimed', 2, day(1)],
    ]);
    const early = await childrenOf([
      ...relay.lines,
      ...hub.lines,
      renumbered(day(5), [[1, 5, 0]], 'asset-hub-polkadot'),
    ]);
    expect(early.children).toEqual([[1, 0, 'Claimed', 1, day(1)]]);
  });

  it('keeps its ids where a snapshot is refused', async () => {
    const twice = renumbered(day(5), [
      [11, 2519, 0],
      [11, 2520, 0],
    ]);
    expect((await childrenOf([...story(), twice])).children).toHaveLength(2);
  });
});
