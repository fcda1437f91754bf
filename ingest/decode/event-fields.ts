// Positions and kinds of the fields of known events. The SQL of the store and the decoders in TypeScript use them.

/**
 * The kind of a field. The store decodes every kind except the last three: it only checks `optional_account` and
 * `workload`, which folds decode, and nothing reads `any`.
 */
export type FieldKind =
  | 'account'
  | 'amount'
  /** The last field; some runtimes have more fields before it. */
  | 'last_amount'
  | 'whole'
  | 'flag'
  | 'region'
  | 'region_pair'
  | 'optional_account'
  | 'workload'
  | 'any';

interface EventFields {
  /** In the order of their positions. */
  readonly fields: Readonly<Record<string, FieldKind>>;
  /** Numbers of fields that runtimes emitted; default: all fields. */
  readonly lengths?: readonly number[];
}

const REGION = { region: 'region' } as const;
const REGION_DURATION = { ...REGION, duration: 'whole' } as const;
const REGION_SPLIT = { ...REGION, parts: 'region_pair' } as const;
const INDEX = { index: 'whole' } as const;
const INDEX_TALLY = { ...INDEX, tally: 'any' } as const;
const CHILD = { ...INDEX, child_index: 'whole' } as const;

export const EVENT_FIELDS = {
  // The first runtimes of Kusama have the fee as a fourth field.
  'balances.Transfer': {
    fields: { from: 'account', to: 'account', amount: 'amount', fee: 'any' },
    lengths: [3, 4],
  },
  'balances.Deposit': { fields: { who: 'account', amount: 'amount' } },
  'balances.Withdraw': { fields: { who: 'account', amount: 'amount' } },
  'system.NewAccount': { fields: { account: 'account' } },
  'system.KilledAccount': { fields: { account: 'account' } },
  'treasury.Deposit': { fields: { value: 'amount' } },
  'transactionPayment.TransactionFeePaid': {
    // On Acala and Karura the fourth field is the refunded surplus.
    fields: { who: 'account', actual_fee: 'amount', tip: 'any', surplus: 'any' },
    lengths: [3, 4],
  },
  'messageQueue.Processed': {
    fields: { id: 'any', origin: 'any', weight_used: 'any', success: 'flag' },
  },
  'staking.Rewarded': { fields: { stash: 'account', amount: 'last_amount' }, lengths: [2, 3] },
  'staking.Slashed': { fields: { staker: 'account', amount: 'amount' } },
  'staking.PayoutStarted': {
    fields: { era_index: 'whole', validator_stash: 'any', page: 'any', next: 'any' },
    lengths: [2, 4],
  },
  'staking.ValidatorIncentivePaid': {
    fields: { era: 'whole', validator_stash: 'account', dest: 'any', amount: 'amount' },
  },
  'nominationPools.PaidOut': { fields: { member: 'account', pool_id: 'any', payout: 'amount' } },
  'revive.Instantiated': { fields: { deployer: 'account', contract: 'account' } },
  'revive.ContractEmitted': { fields: { contract: 'account', data: 'any', topics: 'any' } },
  'revive.EthExtrinsicRevert': { fields: { dispatch_error: 'any' } },
  'ethereum.Executed': {
    fields: {
      from: 'account',
      to: 'account',
      transaction_hash: 'any',
      exit_reason: 'any',
      extra_data: 'any',
    },
    lengths: [4, 5],
  },
  'paraInclusion.CandidateIncluded': {
    fields: { receipt: 'any', head_data: 'any', core_index: 'any', group_index: 'any' },
  },
  'broker.SaleInitialized': {
    fields: {
      sale_start: 'whole',
      leadin_length: 'whole',
      start_price: 'amount',
      end_price: 'amount',
      region_begin: 'whole',
      region_end: 'whole',
      ideal_cores_sold: 'whole',
      cores_offered: 'whole',
    },
  },
  'broker.Purchased': {
    fields: { who: 'account', region: 'region', price: 'amount', duration: 'whole' },
  },
  'broker.Renewed': {
    fields: {
      who: 'account',
      price: 'amount',
      old_core: 'whole',
      core: 'whole',
      begin: 'whole',
      duration: 'whole',
      workload: 'workload',
    },
  },
  'broker.Transferred': {
    fields: { ...REGION_DURATION, old_owner: 'optional_account', owner: 'optional_account' },
  },
  'broker.Partitioned': { fields: REGION_SPLIT },
  'broker.Interlaced': { fields: REGION_SPLIT },
  'broker.Assigned': { fields: { ...REGION_DURATION, task: 'whole' } },
  'broker.Pooled': { fields: REGION_DURATION },
  'broker.RegionDropped': { fields: REGION_DURATION },
  'broker.AssignmentRemoved': { fields: REGION },
  'broker.RegionUnpooled': { fields: { ...REGION, when: 'any' } },
  'convictionVoting.Voted': {
    fields: { who: 'account', vote: 'any', poll_index: 'whole' },
    lengths: [2, 3],
  },
  'referenda.Submitted': { fields: { ...INDEX, track: 'whole', proposal: 'any' } },
  'referenda.DecisionDepositPlaced': { fields: { ...INDEX, who: 'any', amount: 'amount' } },
  'referenda.DecisionStarted': { fields: { ...INDEX, track: 'whole', proposal: 'any', tally: 'any' } },
  'referenda.ConfirmStarted': { fields: INDEX },
  'referenda.ConfirmAborted': { fields: INDEX },
  'referenda.Confirmed': { fields: INDEX_TALLY },
  'referenda.Approved': { fields: INDEX },
  'referenda.Rejected': { fields: INDEX_TALLY },
  'referenda.TimedOut': { fields: INDEX_TALLY },
  'referenda.Cancelled': { fields: INDEX_TALLY },
  'referenda.Killed': { fields: INDEX_TALLY },
  'referenda.SubmissionDepositRefunded': { fields: { ...INDEX, who: 'any', amount: 'any' } },
  'referenda.MetadataSet': { fields: { ...INDEX, hash: 'any' } },
  'bounties.BountyProposed': { fields: INDEX },
  'bounties.BountyBecameActive': { fields: INDEX },
  'childBounties.Added': { fields: CHILD },
  'childBounties.Awarded': { fields: { ...CHILD, beneficiary: 'account' } },
  'childBounties.Claimed': { fields: { ...CHILD, payout: 'amount', beneficiary: 'account' } },
  'childBounties.Canceled': { fields: CHILD },
} as const satisfies Readonly<Record<string, EventFields>>;

export type KnownEvent = keyof typeof EVENT_FIELDS;
export type FieldOf<Event extends KnownEvent> = keyof (typeof EVENT_FIELDS)[Event]['fields'] & string;

const known: Readonly<Record<string, EventFields>> = EVENT_FIELDS;

/** Names and kinds of an event's fields, in the order of their positions; undefined for an unknown event. */
export const fieldsOfEvent = (
  event: string,
): readonly (readonly [name: string, kind: FieldKind])[] | undefined =>
  Object.hasOwn(known, event) ? Object.entries((known[event] as EventFields).fields) : undefined;

export const lengthsOf = (event: KnownEvent): readonly number[] => {
  const { fields, lengths = [Object.keys(fields).length] } = known[event] as EventFields;
  return lengths;
};

/** Position of a field, from zero. */
export const positionOf = <Event extends KnownEvent>(event: Event, field: FieldOf<Event>): number =>
  Object.keys((known[event] as EventFields).fields).indexOf(field);
