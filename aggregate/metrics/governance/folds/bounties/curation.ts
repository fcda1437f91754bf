import type { Fact, Moment } from '../../../shared/facts.ts';

const ORDER_OF_CURATION: readonly string[] = [
  'Added',
  'Funded',
  'CuratorProposed',
  'Active',
  'PendingPayout',
];

/** Keeps a later status that an event of the same extrinsic set: events are applied first, but follow their call. */
export function advanceStatus<Status extends string>(
  bounty: { status: Status | null; statusSetBy: Moment },
  to: Status,
  call: Fact,
  before: ReadonlySet<number>,
): void {
  const isLater =
    bounty.status !== null &&
    before.has(bounty.statusSetBy.order) &&
    ORDER_OF_CURATION.indexOf(bounty.status) > ORDER_OF_CURATION.indexOf(to);
  if (isLater) return;
  bounty.status = to;
  bounty.statusSetBy = call;
}
