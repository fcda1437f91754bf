import { keyOf } from '../../../../../ingest/chains/address.ts';
import { parseAmount } from '../../../../../ingest/decode/amount.ts';
import {
  accountKeyOf,
  asFields,
  type Fact,
  type JsonFields,
  type Moment,
  parseIndex,
  parseNested,
  togetherByExtrinsic,
} from '../../../shared/facts.ts';
import { CHILD_EVENTS, type ChildBounty, isOver, takeChildCall, unknownChild } from './child-bounties.ts';
import { advance } from './curation.ts';

export type BountyStatus =
  | 'Proposed'
  | 'Approved'
  | 'Funded'
  | 'CuratorProposed'
  | 'Active'
  | 'PendingPayout'
  | 'Claimed'
  | 'Rejected'
  | 'Canceled';

export interface Bounty {
  readonly id: number;
  status: BountyStatus | null;
  /** What gave it its status. */
  by: Moment;
  curator: string | null;
  value: bigint | null;
  proposed: Moment | null;
  becameActive: Moment | null;
  /** `childBounties.Added` events. */
  added: number;
  readonly children: Map<number, ChildBounty>;
  last: Moment;
}

/** Every bounty that an event names, with its child bounties, as known now. */
export function foldBounties(facts: readonly Fact[]): Map<number, Bounty> {
  const bounties = new Map<number, Bounty>();
  for (const together of togetherByExtrinsic(facts)) {
    const ran = new Submissions(together);
    for (const fact of together) {
      if (fact.kind !== 'event') continue;
      const id = parseIndex(fact.data[0]);
      const submission = ran.of(fact, id);
      if (id === null || fact.refused) continue;
      const bounty = bounties.get(id) ?? unknownBounty(id, fact);
      if (fact.name.startsWith('bounties.')) takeBountyEvent(bounty, fact, submission);
      else takeChildEvent(bounty, fact, submission);
      bounties.set(id, bounty);
      bounty.last = fact;
    }
    const before = new Set(together.filter(({ kind }) => kind === 'event').map(({ order }) => order));
    for (const fact of together) {
      if (fact.kind === 'call') takeCall(bounties, fact, before);
    }
  }
  return bounties;
}

/** Calls of one extrinsic that say what the events leave out: the k-th of a kind is that of the k-th event. */
class Submissions {
  readonly #waiting: Map<string, JsonFields[]>;

  constructor(together: readonly Fact[]) {
    this.#waiting = new Map();
    for (const { kind, name, data } of together) {
      const args = kind === 'call' && SUBMITTING.has(name) ? asFields(parseNested(data[0])) : null;
      if (args === null) continue;
      const key = name === PROPOSING ? PROPOSING : `${name} ${parseIndex(args.parent_bounty_id)}`;
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), args]);
    }
  }

  of({ name }: Fact, id: number | null): JsonFields | undefined {
    if (name === 'bounties.BountyProposed') return this.#waiting.get(PROPOSING)?.shift();
    if (name === 'childBounties.Added') return this.#waiting.get(`${ADDING} ${id}`)?.shift();
    return undefined;
  }
}

const PROPOSING = 'bounties.proposeBounty';
const ADDING = 'childBounties.addChildBounty';
const SUBMITTING: ReadonlySet<string> = new Set([PROPOSING, ADDING]);

const STATUS_AFTER: Readonly<Record<string, BountyStatus>> = {
  'bounties.BountyProposed': 'Proposed',
  'bounties.BountyApproved': 'Approved',
  'bounties.BountyBecameActive': 'Funded',
  'bounties.CuratorProposed': 'CuratorProposed',
  'bounties.CuratorAccepted': 'Active',
  'bounties.CuratorUnassigned': 'Funded',
  'bounties.BountyAwarded': 'PendingPayout',
  'bounties.BountyClaimed': 'Claimed',
  'bounties.BountyRejected': 'Rejected',
  'bounties.BountyCanceled': 'Canceled',
};

function takeBountyEvent(bounty: Bounty, fact: Fact, submission: JsonFields | undefined): void {
  const status = STATUS_AFTER[fact.name];
  if (status) {
    bounty.status = status;
    bounty.by = fact;
  }
  switch (fact.name) {
    case 'bounties.BountyProposed':
      bounty.proposed ??= fact;
      bounty.value = parseAmount(submission?.value) ?? bounty.value;
      break;
    case 'bounties.BountyBecameActive':
      bounty.becameActive ??= fact;
      break;
    case 'bounties.CuratorProposed':
    case 'bounties.CuratorAccepted':
      bounty.curator = accountKeyOf(fact.data[1]) ?? bounty.curator;
      break;
    case 'bounties.CuratorUnassigned':
      bounty.curator = null;
  }
}

/** Other events of child bounties only tell that there is such a bounty. */
function takeChildEvent(bounty: Bounty, fact: Fact, submission: JsonFields | undefined): void {
  const id = parseIndex(fact.data[1]);
  const take = CHILD_EVENTS[fact.name];
  if (id === null || !take) return;
  if (fact.name === 'childBounties.Added') bounty.added++;
  const child = bounty.children.get(id) ?? unknownChild(id, fact);
  bounty.children.set(id, child);
  if (isOver(child)) return;
  take(child, fact, submission);
  child.by = fact;
  child.last = fact;
}

/** Curators come and go by calls. `before` are the events of the same extrinsic, which were taken first. */
function takeCall(bounties: Map<number, Bounty>, call: Fact, before: ReadonlySet<number>): void {
  const args = asFields(parseNested(call.data[0]));
  const parent = bounties.get(parseIndex(args.parent_bounty_id ?? args.bounty_id) ?? -1);
  if (!parent) return;
  if (call.name.startsWith('bounties.')) takeParentCall(parent, call, args, before);
  else {
    const child = parent.children.get(parseIndex(args.child_bounty_id) ?? -1);
    if (child) takeChildCall(child, call, args, before);
  }
}

function takeParentCall(bounty: Bounty, call: Fact, args: JsonFields, before: ReadonlySet<number>): void {
  if (bounty.status === 'Claimed' || bounty.status === 'Canceled' || bounty.status === 'Rejected') return;
  switch (call.name) {
    case 'bounties.proposeCurator':
      bounty.curator = keyOf(args.curator);
      advance(bounty, 'CuratorProposed', call, before);
      break;
    case 'bounties.acceptCurator':
      advance(bounty, 'Active', call, before);
      break;
    case 'bounties.unassignCurator':
      bounty.curator = null;
      bounty.status = 'Funded';
      bounty.by = call;
      break;
    default:
      return;
  }
  bounty.last = call;
}

const unknownBounty = (id: number, last: Moment): Bounty => ({
  id,
  status: null,
  by: last,
  curator: null,
  value: null,
  proposed: null,
  becameActive: null,
  added: 0,
  children: new Map(),
  last,
});
