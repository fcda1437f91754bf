import { keyOf } from '../../../../../ingest/chains/address.ts';
import { parseAmount } from '../../../../../ingest/decode/amount.ts';
import {
  accountKeyOf,
  asFields,
  type Fact,
  groupByExtrinsic,
  type JsonFields,
  type Moment,
  parseIndex,
  parseNested,
} from '../../../shared/facts.ts';
import {
  applyChildCall,
  applyChildEvent,
  type ChildBounty,
  isChildEvent,
  unknownChild,
} from './child-bounties.ts';
import { advanceStatus } from './curation.ts';

export const BOUNTY_STATUSES = [
  'Proposed',
  'Approved',
  'Funded',
  'CuratorProposed',
  'Active',
  'PendingPayout',
  'Claimed',
  'Rejected',
  'Canceled',
] as const;
type BountyStatus = (typeof BOUNTY_STATUSES)[number];

export interface Bounty {
  readonly id: number;
  status: BountyStatus | null;
  /** The event or call that set the status. */
  statusSetBy: Moment;
  curator: string | null;
  value: bigint | null;
  proposed: Moment | null;
  activeSince: Moment | null;
  /** `childBounties.Added` events. */
  added: number;
  /** In the order of their first events. */
  readonly children: ChildBounty[];
  /** The child bounty that an id currently names. Ids are reused, and a renumbered child has two ids. */
  readonly childById: Map<number, ChildBounty>;
  last: Moment;
}

/** Every bounty in an event, with its child bounties, in its last state. */
export function foldBounties(facts: readonly Fact[]): Map<number, Bounty> {
  const bounties = new Map<number, Bounty>();
  for (const group of groupByExtrinsic(facts)) {
    const submissions = new Submissions(group);
    for (const fact of group) {
      if (fact.kind !== 'event') continue;
      const id = parseIndex(fact.data[0]);
      const submission = submissions.take(fact, id);
      if (id === null || fact.refused) continue;
      const bounty = bounties.get(id) ?? unknownBounty(id, fact);
      if (fact.name.startsWith('bounties.')) applyBountyEvent(bounty, fact, submission);
      else applyToChild(bounty, fact, submission);
      bounties.set(id, bounty);
      bounty.last = fact;
    }
    for (const fact of group) {
      if (fact.kind === 'snapshot') renumber(bounties, fact);
    }
    const before = new Set(group.filter(({ kind }) => kind === 'event').map(({ order }) => order));
    for (const fact of group) {
      if (fact.kind === 'call') applyCall(bounties, fact, before);
    }
  }
  return bounties;
}

/** Calls of an extrinsic with fields that events lack. The k-th call belongs to the k-th event of its kind. */
class Submissions {
  readonly #unmatched: Map<string, JsonFields[]>;

  constructor(group: readonly Fact[]) {
    this.#unmatched = new Map();
    for (const { kind, name, data } of group) {
      const args = kind === 'call' && SUBMITTING.has(name) ? asFields(parseNested(data[0])) : null;
      if (args === null) continue;
      const key = name === PROPOSING ? PROPOSING : `${name} ${parseIndex(args.parent_bounty_id)}`;
      this.#unmatched.set(key, [...(this.#unmatched.get(key) ?? []), args]);
    }
  }

  take({ name }: Fact, id: number | null): JsonFields | undefined {
    if (name === 'bounties.BountyProposed') return this.#unmatched.get(PROPOSING)?.shift();
    if (name === 'childBounties.Added') return this.#unmatched.get(`${ADDING} ${id}`)?.shift();
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

function applyBountyEvent(bounty: Bounty, fact: Fact, submission: JsonFields | undefined): void {
  const status = STATUS_AFTER[fact.name];
  if (status) {
    bounty.status = status;
    bounty.statusSetBy = fact;
  }
  switch (fact.name) {
    case 'bounties.BountyProposed':
      bounty.proposed ??= fact;
      bounty.value = parseAmount(submission?.value) ?? bounty.value;
      break;
    case 'bounties.BountyBecameActive':
      bounty.activeSince ??= fact;
      break;
    case 'bounties.CuratorProposed':
    case 'bounties.CuratorAccepted':
      bounty.curator = accountKeyOf(fact.data[1]) ?? bounty.curator;
      break;
    case 'bounties.CuratorUnassigned':
      bounty.curator = null;
  }
}

function applyToChild(bounty: Bounty, fact: Fact, submission: JsonFields | undefined): void {
  const id = parseIndex(fact.data[1]);
  if (id === null || !isChildEvent(fact.name)) return;
  const isAddition = fact.name === 'childBounties.Added';
  if (isAddition) bounty.added++;
  const child = (isAddition ? undefined : bounty.childById.get(id)) ?? openChild(bounty, id, fact);
  applyChildEvent(child, fact, submission);
}

/** From now on the id names this child, even if it named another one before. */
function openChild({ children, childById }: Bounty, id: number, fact: Fact): ChildBounty {
  const child = unknownChild(id, fact);
  children.push(child);
  childById.set(id, child);
  return child;
}

/** Renumbers child bounties, all at once. An old id still names its child until another child takes the id. */
function renumber(bounties: ReadonlyMap<number, Bounty>, snapshot: Fact): void {
  const { ids } = asFields(parseNested(snapshot.data[0]));
  const renamed = (Array.isArray(ids) ? ids : []).map(asFields).flatMap((entry) => {
    const bounty = bounties.get(parseIndex(entry.parent) ?? -1);
    const id = parseIndex(entry.new);
    if (!bounty || id === null) return [];
    return [{ bounty, id, child: bounty.childById.get(parseIndex(entry.old) ?? -1) }];
  });
  for (const { bounty, id, child } of renamed) {
    if (child) {
      child.id = id;
      bounty.childById.set(id, child);
    } else bounty.childById.delete(id);
  }
}

/** Calls change curators. `before` has the events of the same extrinsic, which were applied first. */
function applyCall(bounties: Map<number, Bounty>, call: Fact, before: ReadonlySet<number>): void {
  const args = asFields(parseNested(call.data[0]));
  const parent = bounties.get(parseIndex(args.parent_bounty_id ?? args.bounty_id) ?? -1);
  if (!parent) return;
  if (call.name.startsWith('bounties.')) applyParentCall(parent, call, args, before);
  else {
    const child = parent.childById.get(parseIndex(args.child_bounty_id) ?? -1);
    if (!child) return;
    applyChildCall(child, call, args, before);
    if (child.last === call) parent.last = call;
  }
}

function applyParentCall(bounty: Bounty, call: Fact, args: JsonFields, before: ReadonlySet<number>): void {
  if (bounty.status === 'Claimed' || bounty.status === 'Canceled' || bounty.status === 'Rejected') return;
  switch (call.name) {
    case 'bounties.proposeCurator':
      bounty.curator = keyOf(args.curator);
      advanceStatus(bounty, 'CuratorProposed', call, before);
      break;
    case 'bounties.acceptCurator':
      advanceStatus(bounty, 'Active', call, before);
      break;
    case 'bounties.unassignCurator':
      bounty.curator = null;
      bounty.status = 'Funded';
      bounty.statusSetBy = call;
      break;
    default:
      return;
  }
  bounty.last = call;
}

const unknownBounty = (id: number, last: Moment): Bounty => ({
  id,
  status: null,
  statusSetBy: last,
  curator: null,
  value: null,
  proposed: null,
  activeSince: null,
  added: 0,
  children: [],
  childById: new Map(),
  last,
});
