import type { InputLine } from '../../../reference/input.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import { ALICE, BOB, batch, CHARLIE, Writer } from '../governance/story.ts';
import { priceOf } from '../shapes/shape.ts';

// Edge cases of bounties: all steps in one extrinsic, unknown shapes, other chains.

const child = (parent: number, id: number) => ({
  parent_bounty_id: String(parent),
  child_bounty_id: String(id),
});
const add = (parent: number, value: unknown, description: unknown = '0x41') =>
  shapeCall('childBounties.addChildBounty', { parent_bounty_id: String(parent), value, description });
const propose = (parent: number, id: number, fee: unknown) =>
  shapeCall('childBounties.proposeCurator', { ...child(parent, id), curator: { id: BOB }, fee });
const accept = (parent: number, id: number) => shapeCall('childBounties.acceptCurator', child(parent, id));
const unassign = (parent: number, id: number) =>
  shapeCall('childBounties.unassignCurator', child(parent, id));
const award = (parent: number, id: number) =>
  shapeCall('childBounties.awardChildBounty', { ...child(parent, id), beneficiary: { id: CHARLIE } });
const childEvent = (name: string, parent: number, id: number, ...more: unknown[]): ShapedEvent => [
  `childBounties.${name}`,
  String(parent),
  String(id),
  ...more,
];

/** From its addition to its award, in one extrinsic. */
const atOnce: ShapedExtrinsic = batch(
  ALICE,
  [add(0, '100'), propose(0, 0, '7'), accept(0, 0), award(0, 0)],
  [childEvent('Added', 0, 0), childEvent('Awarded', 0, 0, CHARLIE)],
);
const relay = new Writer('polkadot');
relay.extrinsics('2025-03-01T10:00:00.000Z', {
  call: 'bounties.proposeBounty',
  args: { value: '900000000000', description: '0x' },
  signer: ALICE,
  events: [['bounties.BountyProposed', '0']],
});
relay.opening(
  '2025-03-02T00:00:00.000Z',
  ['bounties.BountyBecameActive', '0'],
  ['bounties.BountyBecameActive', 'x'],
);
relay.extrinsics('2025-03-03T00:00:00.000Z', atOnce);
relay.extrinsics(
  '2025-03-04T00:00:00.000Z',
  // The first of three events has an unknown shape; its call still belongs to it.
  batch(
    ALICE,
    [add(0, '1'), add(0, '2', 'plain'), add(0, '3.5', '0xe29c93')],
    [childEvent('Added', 0, 1, 'more'), childEvent('Added', 0, 2), childEvent('Added', 0, 3)],
  ),
  batch(ALICE, [propose(0, 2, '4'), accept(0, 2), unassign(0, 2), propose(0, 3, '-1'), accept(0, 9)], []),
  batch(BOB, [propose(0, 2, '5'), accept(0, 2)], []),
);
/** Awards and claims in one extrinsic, a payout of 0, and events after the end. */
relay.extrinsics(
  '2025-03-05T00:00:00.000Z',
  batch(
    BOB,
    [award(0, 2)],
    [childEvent('Awarded', 0, 2, CHARLIE), childEvent('Claimed', 0, 2, '0', CHARLIE)],
  ),
  batch(BOB, [propose(0, 2, '6'), unassign(0, 2)], [childEvent('Canceled', 0, 2)]),
);
relay.opening(
  '2025-03-05T00:00:06.000Z',
  childEvent('Claimed', 0, 0, '33', BOB),
  childEvent('Claimed', 4, 4, '33', 'nobody'),
  childEvent('Canceled', 4, 5),
  ['childBounties.Awarded', '4', '6'],
);

/** Bounties in other assets have a pallet and ids of their own, and do not count here. */
relay.extrinsics('2025-03-06T00:00:00.000Z', {
  call: 'multiAssetBounties.fundBounty',
  args: { asset_kind: { v4: {} }, value: '5', curator: { id: BOB }, metadata: '0x00' },
  signer: ALICE,
  events: [
    ['multiAssetBounties.BountyCreated', '0'],
    ['multiAssetBounties.ChildBountyCreated', '0', '0'],
    ['multiAssetBounties.BountyPayoutProcessed', '0', '0', { v4: {} }, '5', CHARLIE],
  ],
});

/** The same id on the asset hub, and an id on another relay chain; a day without a price. */
const hub = new Writer('statemint');
hub.extrinsics(
  '2025-03-07T00:00:00.000Z',
  batch(ALICE, [add(0, '50')], [childEvent('Added', 0, 7), childEvent('Claimed', 0, 7, '49', CHARLIE)]),
);
const kusama = new Writer('kusama');
kusama.opening(
  '2025-03-05T23:59:59.999Z',
  ['bounties.BountyExtended', '3'],
  childEvent('Added', 3, 1),
  childEvent('Claimed', 3, 1, '1000000000001', BOB),
);

export const bounties: readonly InputLine[] = [
  priceOf('DOT', '2025-03-05T08:00:00.000Z', '0.1'),
  priceOf('KSM', '2025-03-05T00:00:00.000Z', '33.33'),
  priceOf('KSM', '2025-03-06T00:00:00.000Z', 1),
  ...relay.lines,
  ...hub.lines,
  ...kusama.lines,
];
