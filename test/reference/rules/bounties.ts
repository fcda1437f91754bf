import { type ShapedEvent, shapeCall } from '../shaped.ts';
import { ALICE, BOB, Rule } from './rule.ts';

// Which child bounty a pair of numbers names. Each case has a parent of its own.

const relay = new Rule('polkadot', { number: 8000, day: '2025-06-01' });
const CHILDREN = 'gov-child-bounties';
const PARENTS = 'gov-parent-bounty-summary';
let parent = 10;

const told = (name: string, id: number, ...more: readonly unknown[]): ShapedEvent => [
  `childBounties.${name}`,
  String(parent),
  String(id),
  ...more,
];
const added = (id: number) => told('Added', id);
const awarded = (id: number) => told('Awarded', id, BOB);
const claimed = (id: number, dot: number, who = BOB) => told('Claimed', id, `${dot}0000000000`, who);
const canceled = (id: number) => told('Canceled', id);
const child = (child_bounty_id: number, status: string, isAdded: boolean, dot: number | null = null) => ({
  child_bounty_id,
  status,
  added_at: isAdded ? 'a time' : null,
  claimed_amount: dot,
});
type Child = ReturnType<typeof child>;
/** Blocks of their own day each, and the children that they leave. */
const children = (
  title: string,
  blocks: readonly (readonly ShapedEvent[] | (() => void))[],
  rows: readonly Child[],
  summary: object = {},
) => {
  for (const block of blocks) typeof block === 'function' ? block() : relay.opening(...block);
  relay.rows(title, CHILDREN, { parent_bounty_id: parent }, rows);
  if (Object.keys(summary).length > 0)
    relay.rows(`${title}: the parent`, PARENTS, { parent_bounty_id: parent }, [summary as never]);
  parent++;
};
const renumbered = (...pairs: readonly (readonly [old: number, now: number])[]) => {
  const ids = pairs.map(([old, now]) => ({ parent: String(parent), old: String(old), new: now }));
  return () =>
    void relay.snapshot(
      'child_bounty_ids',
      { ids },
      new Date(Date.parse(relay.time) + 3_600_000).toISOString(),
    );
};

children(
  'a number that is added again is another child',
  [
    [added(4), claimed(4, 10)],
    [added(4), claimed(4, 70, ALICE)],
  ],
  [child(4, 'Claimed', true, 10), child(4, 'Claimed', true, 70)],
  {
    child_bounty_count: 2,
    child_bounties_claimed: 2,
    total_claimed: 80,
    average_claimed: 40,
    unique_beneficiaries: 2,
  },
);
children(
  'also while the first is open',
  [[added(0)], [added(0)], [awarded(0)]],
  [child(0, 'Added', true), child(0, 'PendingPayout', true)],
  { child_bounty_count: 2, child_bounties_awarded: 1 },
);
children(
  'also after one that was never added',
  [[awarded(0)], [added(0)], [canceled(0)]],
  [child(0, 'PendingPayout', false), child(0, 'Canceled', true)],
  { child_bounty_count: 1, child_bounties_canceled: 1 },
);
children(
  'three of one number',
  [[added(1), canceled(1)], [added(1), claimed(1, 1)], [added(1)]],
  [child(1, 'Canceled', true), child(1, 'Claimed', true, 1), child(1, 'Added', true)],
  { child_bounty_count: 3 },
);
children(
  'calls are of the newest',
  [
    [added(2), added(3)],
    [added(2)],
    () =>
      void relay.extrinsics(
        ...[2, 3].map((id) => ({
          call: 'childBounties.proposeCurator',
          args: {
            parent_bounty_id: String(parent),
            child_bounty_id: String(id),
            curator: { id: BOB },
            fee: '5',
          },
          signer: ALICE,
        })),
      ),
  ],
  [child(2, 'Added', true), child(2, 'CuratorProposed', true), child(3, 'CuratorProposed', true)],
);

children(
  'two numbers without a snapshot stay two children',
  [[added(2519)], [awarded(0), claimed(0, 50)]],
  [child(0, 'Claimed', false, 50), child(2519, 'Added', true)],
  { child_bounty_count: 1, total_claimed: 50 },
);
children(
  'one child with a snapshot',
  [[added(2519)], renumbered([2519, 0]), [awarded(0), claimed(0, 50)]],
  [child(0, 'Claimed', true, 50)],
  { child_bounty_count: 1, child_bounties_awarded: 1 },
);
children(
  'the old number goes on naming it',
  [[added(7)], renumbered([7, 0]), [awarded(7)], [claimed(0, 2)]],
  [child(0, 'Claimed', true, 2)],
);
children(
  'until it is added',
  [[added(7)], renumbered([7, 0]), [added(7)], [claimed(7, 3)]],
  [child(0, 'Added', true), child(7, 'Claimed', true, 3)],
);
children(
  'or another entry takes it',
  [[added(7), added(9)], renumbered([7, 0], [9, 7]), [claimed(7, 3)]],
  [child(0, 'Added', true), child(7, 'Claimed', true, 3)],
);
children(
  'two that swap their numbers',
  [[added(0), added(1)], renumbered([0, 1], [1, 0]), [claimed(0, 4)]],
  [child(0, 'Claimed', true, 4), child(1, 'Added', true)],
);
children(
  'an unknown child takes the number from a known one',
  [[added(0)], renumbered([8, 0]), [claimed(0, 5)]],
  [child(0, 'Added', true), child(0, 'Claimed', false, 5)],
  { child_bounty_count: 1 },
);
children(
  'what was told before stays',
  [[added(6), claimed(6, 6)], [added(0)], renumbered([6, 0])],
  [child(0, 'Claimed', true, 6), child(0, 'Added', true)],
);
children(
  'the order is that of the first events',
  [[added(0)], [added(5)], renumbered([5, 0]), [claimed(0, 8)]],
  [child(0, 'Added', true), child(0, 'Claimed', true, 8)],
);
children(
  'a call finds it by its new number',
  [
    [added(5)],
    renumbered([5, 1]),
    () =>
      void relay.extrinsics({
        ...{ call: 'utility.batchAll', signer: ALICE, events: [['utility.BatchCompleted']] },
        args: {
          calls: [1].map((id) =>
            shapeCall('childBounties.acceptCurator', {
              parent_bounty_id: String(parent),
              child_bounty_id: String(id),
            }),
          ),
        },
      }),
  ],
  [child(1, 'Active', true)],
);
children(
  'a payload with a number twice is refused whole',
  [[added(5), added(6)], renumbered([5, 0], [6, 0]), renumbered([5, 0], [5, 1]), [claimed(5, 9)]],
  [child(5, 'Claimed', true, 9), child(6, 'Added', true)],
);
relay.refuses('new').refuses('old');

/** At the moment of a block the snapshot comes first. */
relay.block({});
relay.opening(added(3));
parent++;
const moment = new Rule('polkadot', { number: relay.number, day: '2025-09-01' });
moment.opening(told('Added', 3));
moment.snapshot(
  'child_bounty_ids',
  { ids: [{ parent, old: '3', new: 1 }] },
  new Date(Date.parse(moment.time) + 86_400_000 + 6000).toISOString(),
);
moment.opening(claimed(1, 2));
moment.rows('before the block of its moment', CHILDREN, { parent_bounty_id: parent }, [
  child(1, 'Claimed', true, 2),
]);

export const bountyRules = [relay, moment];
