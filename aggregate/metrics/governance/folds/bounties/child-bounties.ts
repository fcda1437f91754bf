import { parseAmount } from '../../../../../ingest/decode/amount.ts';
import { positionOf } from '../../../../../ingest/decode/event-fields.ts';
import { accountKeyOf, type Fact, type JsonFields, type Moment } from '../../../shared/facts.ts';
import { advance } from './curation.ts';

export const CHILD_STATUSES = [
  'Added',
  'CuratorProposed',
  'Active',
  'PendingPayout',
  'Claimed',
  'Canceled',
] as const;
export type ChildStatus = (typeof CHILD_STATUSES)[number];

export interface ChildBounty {
  readonly id: number;
  status: ChildStatus;
  /** The event or call that set the status. */
  by: Moment;
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

type ApplyChildEvent = (child: ChildBounty, fact: Fact, submission: JsonFields | undefined) => void;

/** How each event changes a child bounty. */
export const CHILD_EVENTS: Readonly<Record<string, ApplyChildEvent>> = {
  'childBounties.Added': (child, fact, submission) => {
    child.status = 'Added';
    child.added = fact;
    child.value = parseAmount(submission?.value);
    child.description = readDescription(submission?.description);
  },
  'childBounties.Awarded': (child, fact) => {
    child.status = 'PendingPayout';
    child.awarded = fact;
    child.beneficiary = accountKeyOf(fact.data[positionOf('childBounties.Awarded', 'beneficiary')]);
  },
  'childBounties.Claimed': (child, fact) => {
    child.status = 'Claimed';
    child.claimed = fact;
    child.payout = parseAmount(fact.data[positionOf('childBounties.Claimed', 'payout')]);
    child.beneficiary = accountKeyOf(fact.data[positionOf('childBounties.Claimed', 'beneficiary')]);
  },
  'childBounties.Canceled': (child, fact) => {
    child.status = 'Canceled';
    child.canceled = fact;
  },
};

/** `Claimed` and `Canceled` are final. */
export const isOver = ({ status }: ChildBounty) => status === 'Claimed' || status === 'Canceled';

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
      if (!isOver(child)) advance(child, 'CuratorProposed', call, before);
      break;
    }
    case 'childBounties.acceptCurator':
      if (isOver(child)) return;
      advance(child, 'Active', call, before);
      break;
    case 'childBounties.unassignCurator':
      if (isOver(child)) return;
      child.status = 'Added';
      child.by = call;
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
  by: last,
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
