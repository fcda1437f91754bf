import { type AccountKey, parseAccount } from './accounts.ts';
import { isNamed, type PlacedEvent } from './calls.ts';
import type { ExecutedCall } from './executed.ts';
import type { Extrinsic } from './facts.ts';
import type { ChildId, Government, Happening, Moment } from './governance.ts';
import { parseAmount, parseIndex } from './numbers.ts';
import { callRefusalReason } from './shapes.ts';

export type ChildStatus = 'Added' | 'CuratorProposed' | 'Active' | 'PendingPayout' | 'Claimed' | 'Canceled';

/** One of the children that a pair of numbers names over time. */
export type ChildBounty = {
  readonly parent: number;
  child: number;
  status: ChildStatus;
  value: bigint | null;
  description: string | null;
  curatorFee: bigint | null;
  added: Moment | null;
  awarded: Moment | null;
  claimed: Moment | null;
  isCanceled: boolean;
  payout: bigint | null;
  beneficiary: AccountKey | null;
  last: Moment;
};

export type Bounty = {
  readonly id: number;
  value: bigint | null;
  proposed: Moment | null;
  active: Moment | null;
  /** In the order of their first events. */
  readonly children: ChildBounty[];
  /** Which child a number names now. */
  named: Map<number, ChildBounty>;
  last: Moment;
};

/** Every bounty of a government with its child bounties, as all that happened leaves them. */
export function bountiesOf(government: Government): readonly Bounty[] {
  const bounties = new Map<number, Bounty>();
  for (const one of government.story) {
    if (one.kind === 'event') tellEvent(bounties, one);
    if (one.kind === 'call') tellCall(bounties, one);
    if (one.kind === 'renumbering') renumber(bounties, one.ids);
  }
  return [...bounties.values()];
}

function tellEvent(bounties: Map<number, Bounty>, one: Happening & { kind: 'event' }): void {
  const { event, at } = one;
  const id = parseIndex(event.data[0]);
  if (id === null) return;
  if (event.pallet === 'bounties') {
    const bounty = bountyOf(bounties, id, at);
    if (event.method === 'BountyBecameActive') bounty.active ??= at;
    if (event.method === 'BountyProposed') {
      bounty.proposed ??= at;
      const call = matchingCall(one, 'bounties.BountyProposed', 'proposeBounty', () => true);
      bounty.value = parseAmount(call?.args.value) ?? bounty.value;
    }
  }
  if (event.pallet !== 'childBounties') return;
  const bounty = bountyOf(bounties, id, at);
  const childId = parseIndex(event.data[1]);
  if (childId !== null && ['Added', 'Awarded', 'Claimed', 'Canceled'].includes(event.method)) {
    // What is added is another child than the one that had its number before.
    const known = event.method === 'Added' ? undefined : bounty.named.get(childId);
    tellChild(known ?? openChild(bounty, childId, at), one);
  }
}

function openChild(bounty: Bounty, childId: number, at: Moment): ChildBounty {
  const child = unknownChild(bounty.id, childId, at);
  bounty.children.push(child);
  bounty.named.set(childId, child);
  return child;
}

/** All children get their new numbers at once; old ones go on naming them until others take those. */
function renumber(bounties: ReadonlyMap<number, Bounty>, ids: readonly ChildId[]): void {
  for (const [parent, ofParent] of Map.groupBy(ids, (id) => id.parent)) {
    const bounty = bounties.get(parent);
    if (!bounty) continue;
    const named = new Map(bounty.named);
    for (const id of ofParent) {
      const child = bounty.named.get(id.old);
      if (child) {
        child.child = id.new;
        named.set(id.new, child);
      } else named.delete(id.new);
    }
    bounty.named = named;
  }
}

function tellChild(child: ChildBounty, one: Happening & { kind: 'event' }): void {
  const { event, at } = one;
  const { data } = event;
  child.last = at;
  switch (event.method) {
    case 'Added': {
      child.added = at;
      const call = matchingCall(one, 'childBounties.Added', 'addChildBounty', (added) =>
        isSameParent(added, child.parent),
      );
      child.value = parseAmount(call?.args.value);
      child.description = textOf(call?.args.description);
      break;
    }
    case 'Awarded':
      child.awarded = at;
      if (!child.claimed) child.beneficiary = parseAccount(data[2]);
      changeStatus(child, 'PendingPayout');
      break;
    case 'Claimed':
      if (child.claimed) break;
      child.claimed = at;
      child.payout = parseAmount(data[2]);
      child.beneficiary = parseAccount(data[3]);
      changeStatus(child, 'Claimed');
      break;
    case 'Canceled':
      child.isCanceled = true;
      changeStatus(child, 'Canceled');
      break;
  }
}

const NEXT: Readonly<Record<string, ChildStatus>> = {
  proposeCurator: 'CuratorProposed',
  acceptCurator: 'Active',
  unassignCurator: 'Added',
};

function tellCall(bounties: Map<number, Bounty>, { call, at }: Happening & { kind: 'call' }): void {
  if (!isNamed(call, 'childBounties', ...Object.keys(NEXT)) || callRefusalReason(call) !== null) return;
  const bounty = bounties.get(parseIndex(call.args.parent_bounty_id) ?? -1);
  const child = bounty?.named.get(parseIndex(call.args.child_bounty_id) ?? -1);
  if (!bounty || !child) return;
  if (call.method === 'proposeCurator') child.curatorFee = parseAmount(call.args.fee) ?? child.curatorFee;
  child.last = at;
  bounty.last = at;
  const status = NEXT[call.method];
  if (status && !isAwardedAfter(child, call, at)) changeStatus(child, status);
}

/** Events of an extrinsic are told before its calls, but an award in it came after the curator's appointment. */
const isAwardedAfter = (child: ChildBounty, { method }: ExecutedCall, at: Moment) =>
  child.status === 'PendingPayout' &&
  method !== 'unassignCurator' &&
  child.awarded?.chain === at.chain &&
  child.awarded.extrinsicId === at.extrinsicId;

/** What is claimed or cancelled keeps its status. */
function changeStatus(child: ChildBounty, status: ChildStatus): void {
  if (child.status !== 'Claimed' && child.status !== 'Canceled') child.status = status;
}

/** The executed call that an event of an extrinsic tells of, where both come in the same order. */
function matchingCall(
  { event, extrinsic }: { event: PlacedEvent; extrinsic: Extrinsic | null },
  eventName: string,
  callName: string,
  isOfSameKind: (call: ExecutedCall) => boolean,
): ExecutedCall | undefined {
  if (extrinsic === null) return undefined;
  const isSibling = (one: PlacedEvent) =>
    `${one.pallet}.${one.method}` === eventName &&
    (eventName !== 'childBounties.Added' || parseIndex(one.data[0]) === parseIndex(event.data[0]));
  const rank = extrinsic.everyEvent.filter(isSibling).findIndex(({ index }) => index === event.index);
  const calls = extrinsic.executed.filter(
    (call) => isNamed(call, event.pallet, callName) && isOfSameKind(call),
  );
  return calls[rank];
}

const isSameParent = (call: ExecutedCall, parent: number) =>
  parseIndex(call.args.parent_bounty_id) === parent;

function textOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  return /^0x([0-9a-f]{2})*$/i.test(value) ? Buffer.from(value.slice(2), 'hex').toString('utf8') : value;
}

function bountyOf(bounties: Map<number, Bounty>, id: number, at: Moment): Bounty {
  const bounty = bounties.get(id) ?? {
    id,
    value: null,
    proposed: null,
    active: null,
    children: [],
    named: new Map(),
    last: at,
  };
  bounty.last = at;
  bounties.set(id, bounty);
  return bounty;
}

function unknownChild(parent: number, child: number, at: Moment): ChildBounty {
  return {
    parent,
    child,
    status: 'Added',
    value: null,
    description: null,
    curatorFee: null,
    added: null,
    awarded: null,
    claimed: null,
    isCanceled: false,
    payout: null,
    beneficiary: null,
    last: at,
  };
}
