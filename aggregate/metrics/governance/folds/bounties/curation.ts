import type { Fact, Moment } from '../../../shared/facts.ts';

const ORDER_OF_CURATION: readonly string[] = [
  'Added',
  'Funded',
  'CuratorProposed',
  'Active',
  'PendingPayout',
];

/** Keeps a later status that an event of the same extrinsic set: events are applied first, but follow their call. */
export function advance<Status extends string>(
  of: { status: Status | null; by: Moment },
  to: Status,
  call: Fact,
  before: ReadonlySet<number>,
): void {
  const isLater =
    of.status !== null &&
    before.has(of.by.order) &&
    ORDER_OF_CURATION.indexOf(of.status) > ORDER_OF_CURATION.indexOf(to);
  if (isLater) return;
  of.status = to;
  of.by = call;
}
