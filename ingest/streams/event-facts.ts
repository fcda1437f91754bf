/**
 * What the positions of an event's data mean, for the events that facts are read from. An event whose length is
 * not listed is refused: it stays an event, but no fact is taken from it.
 */
interface EventFact {
  readonly lengths: readonly number[];
  /** Zero-based positions. */
  readonly account?: number;
  readonly counterparty?: number;
  /** `last` where runtimes put more fields before it. */
  readonly amount?: number | 'last';
  /** A further amount, which must be readable too. */
  readonly secondAmount?: number;
}

export const EVENT_FACTS: Readonly<Record<string, EventFact>> = {
  // Kusama's first runtimes carried the fee as a fourth field.
  'balances.Transfer': { lengths: [3, 4], account: 0, counterparty: 1, amount: 2 },
  'balances.Deposit': { lengths: [2], account: 0, amount: 1 },
  'balances.Withdraw': { lengths: [2], account: 0, amount: 1 },
  'system.NewAccount': { lengths: [1], account: 0 },
  'system.KilledAccount': { lengths: [1], account: 0 },
  'treasury.Deposit': { lengths: [1], amount: 0 },
  'transactionPayment.TransactionFeePaid': { lengths: [3], account: 0, amount: 1 },
  'messageQueue.Processed': { lengths: [4] },
  'staking.Rewarded': { lengths: [2, 3], account: 0, amount: 'last' },
  'staking.Slashed': { lengths: [2], account: 0, amount: 1 },
  'staking.PayoutStarted': { lengths: [2, 4] },
  'nominationPools.PaidOut': { lengths: [3], account: 0, amount: 2 },
  'revive.Instantiated': { lengths: [2], account: 0, counterparty: 1 },
  'revive.ContractEmitted': { lengths: [3], account: 0 },
  'revive.EthExtrinsicRevert': { lengths: [1] },
  'ethereum.Executed': { lengths: [4, 5], account: 0, counterparty: 1 },
  'paraInclusion.CandidateIncluded': { lengths: [4] },
  'broker.SaleInitialized': { lengths: [8], amount: 2, secondAmount: 3 },
  'broker.Purchased': { lengths: [4], account: 0, amount: 2 },
  'broker.Renewed': { lengths: [7], account: 0, amount: 1 },
  'broker.Transferred': { lengths: [4] },
  'broker.Partitioned': { lengths: [2] },
  'broker.Interlaced': { lengths: [2] },
  'broker.Assigned': { lengths: [3] },
  'broker.Pooled': { lengths: [2] },
  'broker.RegionDropped': { lengths: [2] },
  'broker.AssignmentRemoved': { lengths: [1] },
  'broker.RegionUnpooled': { lengths: [2] },
  'convictionVoting.Voted': { lengths: [2, 3], account: 0 },
  'referenda.Submitted': { lengths: [3] },
  'referenda.DecisionDepositPlaced': { lengths: [3], amount: 2 },
  'referenda.DecisionStarted': { lengths: [4] },
  'referenda.ConfirmStarted': { lengths: [1] },
  'referenda.ConfirmAborted': { lengths: [1] },
  'referenda.Confirmed': { lengths: [2] },
  'referenda.Approved': { lengths: [1] },
  'referenda.Rejected': { lengths: [2] },
  'referenda.TimedOut': { lengths: [2] },
  'referenda.Cancelled': { lengths: [2] },
  'referenda.Killed': { lengths: [2] },
  'bounties.BountyProposed': { lengths: [1] },
  'bounties.BountyBecameActive': { lengths: [1] },
  'childBounties.Added': { lengths: [2] },
  'childBounties.Awarded': { lengths: [3], account: 2 },
  'childBounties.Claimed': { lengths: [4], account: 3, amount: 2 },
  'childBounties.Canceled': { lengths: [2] },
};

const facts = Object.values(EVENT_FACTS);
const list = (values: readonly unknown[]) => `[${values.join(', ')}]`;

/** Which of these events it is, counted from one; 0 for any other. One look-up by name, then all else by number. */
export function factSql(name: string): string {
  const names = Object.keys(EVENT_FACTS).map((event) => `'${event}'`);
  return `transform(${name}, ${list(names)}, ${list(facts.map((_, i) => i + 1))}, 0)`;
}

type Part = 'account' | 'counterparty' | 'amount' | 'secondAmount';

/** One-based position of a part in the data of a fact, -1 for the last one, 0 when it has none. */
function positionSql(fact: string, part: Part): string {
  const positions = facts.map(({ [part]: position = -1 }) => (position === 'last' ? -1 : position + 1));
  return `${list(positions)}[${fact}]`;
}

/** A part of an event's data as the source spells it; empty when the event has none. */
export const partSql = (fact: string, data: string, part: Part) => `${data}[${positionSql(fact, part)}]`;

/** Why no fact is taken from an event; empty when one is, or when none is looked for. */
export function refusedSql(fact: string, data: string, columns: Readonly<Record<Part, string>>): string {
  const lengths = list(facts.map((known) => list(known.lengths)));
  const has = (part: Part) => `${positionSql(fact, part)} != 0`;
  return `multiIf(
    ${fact} = 0, '',
    NOT has(${lengths}[${fact}], length(${data})), concat('unknown number of fields: ', toString(length(${data}))),
    ${has('account')} AND ${columns.account} = '', 'account: not an address',
    ${has('counterparty')} AND ${columns.counterparty} = '', 'counterparty: not an address',
    ${has('amount')} AND isNull(${columns.amount}), 'amount: not an unsigned integer',
    ${has('secondAmount')} AND isNull(${columns.secondAmount}), 'amount: not an unsigned integer',
    '')`;
}
