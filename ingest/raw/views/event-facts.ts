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
  /** Whole numbers, where the event has as many fields. */
  readonly indexes?: readonly number[];
  readonly flag?: 3;
  /** Regions of coretime: one, and the two that it became. */
  readonly region?: 0 | 1;
  readonly parts?: 1;
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
  'messageQueue.Processed': { lengths: [4], flag: 3 },
  'staking.Rewarded': { lengths: [2, 3], account: 0, amount: 'last' },
  'staking.Slashed': { lengths: [2], account: 0, amount: 1 },
  'staking.PayoutStarted': { lengths: [2, 4], indexes: [0] },
  'nominationPools.PaidOut': { lengths: [3], account: 0, amount: 2 },
  'revive.Instantiated': { lengths: [2], account: 0, counterparty: 1 },
  'revive.ContractEmitted': { lengths: [3], account: 0 },
  'revive.EthExtrinsicRevert': { lengths: [1] },
  'ethereum.Executed': { lengths: [4, 5], account: 0, counterparty: 1 },
  'paraInclusion.CandidateIncluded': { lengths: [4] },
  'broker.SaleInitialized': { lengths: [8], amount: 2, secondAmount: 3, indexes: [0, 1, 4, 5, 6, 7] },
  'broker.Purchased': { lengths: [4], account: 0, amount: 2, region: 1, indexes: [3] },
  'broker.Renewed': { lengths: [7], account: 0, amount: 1, indexes: [2, 3, 4, 5] },
  'broker.Transferred': { lengths: [4], region: 0, indexes: [1] },
  'broker.Partitioned': { lengths: [2], region: 0, parts: 1 },
  'broker.Interlaced': { lengths: [2], region: 0, parts: 1 },
  'broker.Assigned': { lengths: [3], region: 0, indexes: [1, 2] },
  'broker.Pooled': { lengths: [2], region: 0, indexes: [1] },
  'broker.RegionDropped': { lengths: [2], region: 0, indexes: [1] },
  'broker.AssignmentRemoved': { lengths: [1], region: 0 },
  'broker.RegionUnpooled': { lengths: [2], region: 0 },
  'convictionVoting.Voted': { lengths: [2, 3], account: 0, indexes: [2] },
  'referenda.Submitted': { lengths: [3], indexes: [0, 1] },
  'referenda.DecisionDepositPlaced': { lengths: [3], amount: 2, indexes: [0] },
  'referenda.DecisionStarted': { lengths: [4], indexes: [0, 1] },
  'referenda.ConfirmStarted': { lengths: [1], indexes: [0] },
  'referenda.ConfirmAborted': { lengths: [1], indexes: [0] },
  'referenda.Confirmed': { lengths: [2], indexes: [0] },
  'referenda.Approved': { lengths: [1], indexes: [0] },
  'referenda.Rejected': { lengths: [2], indexes: [0] },
  'referenda.TimedOut': { lengths: [2], indexes: [0] },
  'referenda.Cancelled': { lengths: [2], indexes: [0] },
  'referenda.Killed': { lengths: [2], indexes: [0] },
  'bounties.BountyProposed': { lengths: [1], indexes: [0] },
  'bounties.BountyBecameActive': { lengths: [1], indexes: [0] },
  'childBounties.Added': { lengths: [2], indexes: [0, 1] },
  'childBounties.Awarded': { lengths: [3], account: 2, indexes: [0, 1] },
  'childBounties.Claimed': { lengths: [4], account: 3, amount: 2, indexes: [0, 1] },
  'childBounties.Canceled': { lengths: [2], indexes: [0, 1] },
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
  const indexes = list(facts.map(({ indexes = [] }) => list(indexes.map((position) => position + 1))));
  const has = (part: Part) => `${positionSql(fact, part)} != 0`;
  const region = `${data}[if(${isWith(fact, 'region', 1)}, 2, 1)]`;
  const isNoRegion = `arrayExists(text -> NOT ${isRegion('text')}, if(${isWith(fact, 'parts')}, arrayConcat([${region}], JSONExtractArrayRaw(${data}[2])), [${region}]))`;
  return `multiIf(
    ${fact} = 0, '',
    NOT has(${lengths}[${fact}], length(${data})), concat('unknown number of fields: ', toString(length(${data}))),
    ${has('account')} AND ${columns.account} = '', 'account: not an address',
    ${has('counterparty')} AND ${columns.counterparty} = '', 'counterparty: not an address',
    ${has('amount')} AND isNull(${columns.amount}), 'amount: not an unsigned integer',
    ${has('secondAmount')} AND isNull(${columns.secondAmount}), 'amount: not an unsigned integer',
    arrayExists(p -> p <= length(${data}) AND NOT ${isIndex(`${data}[p]`)}, ${indexes}[${fact}]), 'index: not a whole number',
    ${isWith(fact, 'flag')} AND ${data}[4] NOT IN ('true', 'false'), 'flag: neither true nor false',
    ${isWith(fact, 'region')} AND ${isNoRegion}, 'region: not begin, core and mask',
    ${isWith(fact, 'parts')} AND JSONLength(${data}[2]) != 2, 'parts: not two',
    '')`;
}

/** Whether a fact has a part, at a certain position of its data if one is given. */
function isWith(fact: string, part: 'flag' | 'region' | 'parts', at?: number): string {
  const numbers = facts.flatMap(({ [part]: position }, i) =>
    position !== undefined && position === (at ?? position) ? [i + 1] : [],
  );
  return `${fact} IN (${numbers.join(', ')})`;
}

const isIndex = (text: string) => `match(${text}, '^([0-9]{1,16}|0x[0-9a-fA-F]{1,13})$')`;

function isRegion(text: string): string {
  const isIndexed = (name: string) => isIndex(`replaceAll(JSONExtractRaw(${text}, '${name}'), '"', '')`);
  return `(${isIndexed('begin')} AND ${isIndexed('core')} AND match(JSONExtractString(${text}, 'mask'), '^0x[0-9a-fA-F]{20}$'))`;
}
