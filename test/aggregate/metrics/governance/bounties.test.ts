import { beforeAll, describe, expect, it } from 'vitest';
import { govChildBounty } from '../../../../aggregate/metrics/governance/gov-child-bounties.ts';
import { govParentBountySummary } from '../../../../aggregate/metrics/governance/gov-parent-bounty-summary.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import type { Row } from '../../../support/served.ts';
import { priceOf } from '../shapes/shape.ts';
import { ALICE, BOB, batch, CHARLIE, columns, computeRows, DAVE, EVE, Writer } from './story.ts';

const relay = new Writer('polkadot', 100);
const hub = new Writer('asset-hub-polkadot', 9000);
const day = (n: number) => `2024-03-${String(n).padStart(2, '0')}T12:00:00.000Z`;
const hex = (text: string) => `0x${Buffer.from(text).toString('hex')}`;

const add = (parent: number, value: unknown, description: string) =>
  shapeCall('childBounties.addChildBounty', {
    parent_bounty_id: String(parent),
    value,
    description: hex(description),
  });
const added = (parent: number, child: number): ShapedEvent => [
  'childBounties.Added',
  String(parent),
  String(child),
];
const awarded = (parent: number, child: number, to: string): ShapedEvent => [
  'childBounties.Awarded',
  String(parent),
  String(child),
  to,
];
const claimed = (parent: number, child: number, payout: unknown, to: string): ShapedEvent => [
  'childBounties.Claimed',
  String(parent),
  String(child),
  payout,
  to,
];
const curation = (call: string, parent: number, child: number, more: object = {}) => ({
  call: `childBounties.${call}`,
  args: { parent_bounty_id: String(parent), child_bounty_id: String(child), ...more },
});
const by = (signer: string, call: ReturnType<typeof curation>): ShapedExtrinsic => ({ ...call, signer });
const nested = ({ call, args }: ReturnType<typeof curation>) => shapeCall(call, args);
const propose = (parent: number, child: number, fee: unknown) =>
  curation('proposeCurator', parent, child, { curator: { id: BOB }, fee });

// Bounty 1 with one child for each status.
relay.extrinsics(day(1), {
  call: 'bounties.proposeBounty',
  args: { value: '1000000000000', description: '0x' },
  signer: ALICE,
  events: [['bounties.BountyProposed', '1']],
});
relay.opening(day(2), ['bounties.BountyBecameActive', '1']);
relay.extrinsics(
  day(3),
  batch(
    ALICE,
    [
      add(1, '10000000000', 'eins'),
      add(2, '99', 'other'),
      add(1, '20000000000', 'zwölf'),
      add(1, '30', 'drei'),
      add(1, '40', 'vier'),
      add(1, '50', 'fünf'),
      add(1, '60', 'sechs'),
      add(1, '70', 'sieben'),
    ],
    [added(1, 1), added(2, 1), added(1, 2), added(1, 3), added(1, 4), added(1, 5), added(1, 6), added(1, 7)],
  ),
);
relay.extrinsics(day(4), ...[2, 3, 4, 5, 6, 7].map((child) => by(ALICE, propose(1, child, '7'))));
relay.extrinsics(day(5), ...[3, 4, 5, 6, 7].map((child) => by(BOB, curation('acceptCurator', 1, child))));
relay.opening(day(6), awarded(1, 4, CHARLIE), awarded(1, 5, DAVE), awarded(1, 7, EVE));
relay.opening(day(7), claimed(1, 5, '30000000000', DAVE), ['childBounties.Canceled', '1', '6']);
const unpaid = relay.extrinsics(
  day(8),
  by(BOB, curation('unassignCurator', 1, 7)),
  by(BOB, curation('unassignCurator', 1, 5)),
  by(ALICE, propose(1, 7, '8')),
  by(ALICE, propose(1, 2, '-9')),
);
// All in one batch: the events are later than the call of the curator.
relay.extrinsics(
  day(9),
  batch(
    ALICE,
    [
      add(1, '80', 'acht'),
      nested(propose(1, 8, '1')),
      nested(curation('acceptCurator', 1, 8)),
      nested(curation('awardChildBounty', 1, 8, { beneficiary: { id: CHARLIE } })),
    ],
    [added(1, 8), awarded(1, 8, CHARLIE)],
  ),
);
// Known only on the chain that governance moved to; child bounties of unknown bounties do not count.
const late = hub.opening(day(10), claimed(1, 9, '30000000000', CHARLIE));
hub.opening(day(11), claimed(1, 10, '0', CHARLIE));
hub.extrinsics(day(12), by(ALICE, propose(1, 11, '1')), by(ALICE, propose(77, 1, '1')));
// A bounty that never became active, and one that only an event of its child names.
relay.opening(day(13), ['bounties.BountyProposed', '3'], ['bounties.BountyRejected', '3', '1']);
const wrong = relay.opening(day(14), claimed(4, 1, '1.5', CHARLIE), ['childBounties.Added', '4', '2', '3']);
// What comes after the end of a child bounty: no chain emits it.
relay.opening(day(15), ['childBounties.Canceled', '5', '1'], claimed(5, 2, '20', DAVE));
relay.opening(day(16), awarded(5, 1, CHARLIE), awarded(5, 2, CHARLIE), ['childBounties.Canceled', '5', '2']);
relay.opening(day(17), claimed(5, 1, '10', EVE), claimed(5, 2, '21', EVE), awarded(5, 1, DAVE));

const lines = [
  priceOf('DOT', day(7), 5),
  priceOf('DOT', '2024-03-07T23:00:00.000Z', '7.25', 'asset-hub-polkadot'),
  priceOf('DOT', day(11), 9),
  ...hub.lines,
  ...relay.lines,
];
let children: readonly Row[];
let parents: readonly Row[];
let refused: readonly string[];
beforeAll(async () => {
  const all = await computeRows(lines, [govChildBounty, govParentBountySummary]);
  [children, parents] = all.rows as [readonly Row[], readonly Row[]];
  refused = all.refused;
});
const child = (id: number) =>
  children.filter((row) => row.parent_bounty_id === 1 && row.child_bounty_id === id);

describe('child bounties', () => {
  it('have a time for each step from addition to claim', () => {
    expect(child(5)).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'polkadot',
        parent_bounty_id: 1,
        child_bounty_id: 5,
        status: 'Claimed',
        value: 5e-9,
        value_planck: '50',
        curator_fee: 7e-10,
        curator_fee_planck: '7',
        claimed_amount: 3,
        claimed_amount_planck: '30000000000',
        claimed_amount_usd: 21.75,
        beneficiary: DAVE,
        description: 'fünf',
        added_at: day(3),
        awarded_at: day(6),
        claimed_at: day(7),
        parent_bounty_start_date: '2024-03-02',
      },
    ]);
  });

  it('their status follows calls and events until they are claimed or cancelled', () => {
    const status = (id: number) => child(id)[0]?.status;
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(status)).toEqual([
      'Added',
      'CuratorProposed',
      'Active',
      'PendingPayout',
      'Claimed',
      'Canceled',
      'CuratorProposed',
      'PendingPayout',
    ]);
  });

  it('a claim or a cancellation keeps the status, and what comes later counts beside it', () => {
    const own = children.filter((row) => row.parent_bounty_id === 5);
    expect(
      columns(
        own,
        'child_bounty_id',
        'status',
        'awarded_at',
        'claimed_at',
        'claimed_amount_planck',
        'beneficiary',
      ),
    ).toEqual([
      [1, 'Canceled', day(17), day(17), '10', EVE],
      [2, 'Claimed', day(16), day(15), '20', DAVE],
    ]);
    expect(parents.filter((row) => row.parent_bounty_id === 5)).toMatchObject([
      {
        child_bounties_awarded: 2,
        child_bounties_claimed: 2,
        child_bounties_canceled: 2,
        total_claimed_planck: '30',
      },
    ]);
  });

  it('value and description are those of the k-th call of the parent, the fee that of the last curator', () => {
    expect(
      columns(
        children.filter((row) => row.chain === 'polkadot'),
        'parent_bounty_id',
        'child_bounty_id',
        'value_planck',
        'description',
        'curator_fee_planck',
      ).slice(0, 9),
    ).toEqual([
      [1, 1, '10000000000', 'eins', null],
      [1, 2, '20000000000', 'zwölf', '7'],
      [1, 3, '30', 'drei', '7'],
      [1, 4, '40', 'vier', '7'],
      [1, 5, '50', 'fünf', '7'],
      [1, 6, '60', 'sechs', '7'],
      [1, 7, '70', 'sieben', '8'],
      [1, 8, '80', 'acht', '1'],
      [2, 1, '99', 'other', null],
    ]);
  });

  it('one without a known addition has a row, under the chain of its events', () => {
    expect(
      columns(
        child(9),
        'chain',
        'status',
        'value',
        'description',
        'added_at',
        'claimed_at',
        'claimed_amount_usd',
      ),
    ).toEqual([['asset-hub-polkadot', 'Claimed', null, null, null, day(10), null]]);
    expect(columns(child(10), 'claimed_amount', 'claimed_amount_usd')).toEqual([[0, 0]]);
    expect(child(11)).toEqual([]);
    expect(late.number).toBe(9000);
  });

  it('events with other fields or malformed amounts are refused, and so are calls with malformed amounts', () => {
    expect(children.filter((row) => row.parent_bounty_id === 4)).toEqual([]);
    expect(refused).toEqual([unpaid, wrong, wrong].map(({ number }) => `polkadot ${number}`));
  });
});

describe('bounties', () => {
  it('have the sums of their child bounties; of equal beneficiaries the one with the lowest key is named', () => {
    expect(parents.filter((row) => row.parent_bounty_id === 1)).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'asset-hub-polkadot',
        parent_bounty_id: 1,
        bounty_status: 'Funded',
        bounty_value: 100,
        bounty_value_planck: '1000000000000',
        curator: null,
        parent_bounty_start_date: '2024-03-02',
        child_bounty_count: 8,
        child_bounties_added: 8,
        child_bounties_awarded: 4,
        child_bounties_claimed: 3,
        child_bounties_canceled: 1,
        total_claimed: 6,
        total_claimed_planck: '60000000000',
        total_claimed_usd: 21.75,
        average_claimed: 2,
        average_claimed_usd: 10.875,
        unique_beneficiaries: 2,
        top_beneficiary: CHARLIE,
        top_beneficiary_claimed: 3,
        top_beneficiary_claimed_planck: '30000000000',
        top_beneficiary_claimed_usd: 0,
        first_claim_at: day(7),
        last_claim_at: day(11),
      },
    ]);
  });

  it('start when they first became active, else when they were proposed, else the start is null', () => {
    expect(
      columns(
        parents,
        'parent_bounty_id',
        'parent_bounty_start_date',
        'child_bounty_count',
        'average_claimed',
        'total_claimed_usd',
      ).slice(-3, -1),
    ).toEqual([
      [2, null, 1, null, null],
      [3, '2024-03-13', 0, null, null],
    ]);
  });
});
