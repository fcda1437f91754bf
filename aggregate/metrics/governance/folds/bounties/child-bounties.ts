import { parseAmount } from '../../../../../ingest/decode/amount.ts';
import { positionOf } from '../../../../../ingest/decode/event-fields.ts';
import { accountKeyOf, type Fact, type JsonFields, type Moment } from '../../../shared/facts.ts';
import { advanceStatus } from './curation.ts';

export const CHILD_STATUSES = [
  'Added',
  'CuratorProposed',
  'Active',
  'PendingPayout',
  'Claimed',
  'Canceled',
] as const;
type ChildStatus = (typeof CHILD_STATUSES)[number];

export interface ChildBounty {
  /** Its newest id among the child bounties of its parent. */
  id: number;
  status: ChildStatus;
  /** The event or call that set the status. */
  statusSetBy: Moment;
  value: bigint | null;
  description: string | null;
  fee: bigint | null;
  added: Moment | null;
  awarded: Moment | null;
  claimed: Moment | null;
  canceled: Moment | null;
  beneficiary: string | null;
  payout: bigint | null;
  last: Moment;
}

interface ChildEvent {
  readonly status: ChildStatus;
  readonly apply: (child: ChildBounty, fact: Fact, submission: JsonFields | undefined) => void;
}

/** The status that each event sets, and its other changes. */
const CHILD_EVENTS: Readonly<Record<string, ChildEvent>> = {
  'childBounties.Added': {
    status: 'Added',
    apply: (child, fact, submission) => {
      child.added = fact;
      child.value = parseAmount(submission?.value);
      child.description = readDescription(submission?.description);
    },
  },
  'childBounties.Awarded': {
    status: 'PendingPayout',
    apply: (child, fact) => {
      child.awarded = fact;
      const to = accountKeyOf(fact.data[positionOf('childBounties.Awarded', 'beneficiary')]);
      if (child.claimed === null) child.beneficiary = to;
    },
  },
  'childBounties.Claimed': {
    status: 'Claimed',
    apply: (child, fact) => {
      if (child.claimed !== null) return;
      child.claimed = fact;
      child.payout = parseAmount(fact.data[positionOf('childBounties.Claimed', 'payout')]);
      child.beneficiary = accountKeyOf(fact.data[positionOf('childBounties.Claimed', 'beneficiary')]);
    },
  },
  'childBounties.Canceled': {
    status: 'Canceled',
    apply: (child, fact) => {
      child.canceled = fact;
    },
  },
};

export const isChildEvent = (name: string): boolean => Object.hasOwn(CHILD_EVENTS, name);

/** `Claimed` and `Canceled` are final; later events change other fields only. */
export function applyChildEvent(child: ChildBounty, fact: Fact, submission: JsonFields | undefined): void {
  const { status, apply } = CHILD_EVENTS[fact.name] as ChildEvent;
  if (!isOver(child)) {
    child.status = status;
    child.statusSetBy = fact;
  }
  apply(child, fact, submission);
  child.last = fact;
}

const isOver = ({ status }: ChildBounty) => status === 'Claimed' || status === 'Canceled';

export function applyChildCall(
  child: ChildBounty,
  call: Fact,
  args: JsonFields,
  before: ReadonlySet<number>,
): void {
  switch (call.name) {
    case 'childBounties.proposeCurator': {
      const fee = parseAmount(args.fee);
      if (fee === null) return;
      child.fee = fee;
      if (!isOver(child)) advanceStatus(child, 'CuratorProposed', call, before);
      break;
    }
    case 'childBounties.acceptCurator':
      if (!isOver(child)) advanceStatus(child, 'Active', call, before);
      break;
    case 'childBounties.unassignCurator':
      if (isOver(child)) break;
      child.status = 'Added';
      child.statusSetBy = call;
      break;
    default:
      return;
  }
  child.last = call;
}

/** Hex is decoded as UTF-8; other text is unchanged. */
function readDescription(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  return /^0x([0-9a-f]{2})*$/i.test(value) ? Buffer.from(value.slice(2), 'hex').toString('utf8') : value;
}

export const unknownChild = (id: number, last: Moment): ChildBounty => ({
  id,
  status: 'Added',
  statusSetBy: last,
  value: null,
  description: null,
  fee: null,
  added: null,
  awarded: null,
  claimed: null,
  canceled: null,
  beneficiary: null,
  payout: null,
  last,
});
