import { parseConviction, parseVote } from './account-vote.ts';
import { parseAccount } from './accounts.ts';
import type { Call, Event } from './calls.ts';
import { isArray, isObject, type Json } from './json.ts';
import { parseAmount, parseIndex } from './numbers.ts';

type Field =
  | 'account'
  | 'account?'
  | 'h160'
  | 'amount'
  | 'index'
  | 'flag'
  | 'region'
  | 'regions'
  | 'tally'
  | 'vote'
  | 'any';

/** The field lists that runtimes have given to the events whose fields are read here. */
const SHAPES: Readonly<Record<string, readonly (readonly Field[])[]>> = {
  // The first runtimes of Kusama added the fee of the transfer.
  'balances.Transfer': [
    ['account', 'account', 'amount'],
    ['account', 'account', 'amount', 'amount'],
  ],
  'balances.Deposit': [['account', 'amount']],
  'balances.Withdraw': [['account', 'amount']],
  'system.NewAccount': [['account']],
  'system.KilledAccount': [['account']],
  'treasury.Deposit': [['amount']],
  // Acala and Karura add the surplus, which nobody reads.
  'transactionPayment.TransactionFeePaid': [
    ['account', 'amount', 'amount'],
    ['account', 'amount', 'amount', 'any'],
  ],
  'messageQueue.Processed': [['any', 'any', 'any', 'flag']],
  'ethereum.Executed': [
    ['h160', 'h160', 'any', 'any'],
    ['h160', 'h160', 'any', 'any', 'any'],
  ],
  'staking.Reward': [
    ['account', 'amount'],
    ['account', 'any', 'amount'],
  ],
  'staking.Rewarded': [
    ['account', 'amount'],
    ['account', 'any', 'amount'],
  ],
  'staking.Slash': [['account', 'amount']],
  'staking.Slashed': [['account', 'amount']],
  'staking.PayoutStarted': [
    ['index', 'any'],
    ['index', 'any', 'any', 'any'],
  ],
  'staking.ValidatorIncentivePaid': [['index', 'account', 'any', 'amount']],
  'nominationPools.PaidOut': [['account', 'any', 'amount']],
  'revive.Instantiated': [['h160', 'h160']],
  'revive.ContractEmitted': [['h160', 'any', 'any']],
  'revive.EthExtrinsicRevert': [['any']],
  'paraInclusion.CandidateIncluded': [['any', 'any', 'any', 'any']],
  'parasInclusion.CandidateIncluded': [['any', 'any', 'any', 'any']],
  'broker.SaleInitialized': [['index', 'index', 'amount', 'amount', 'index', 'index', 'index', 'index']],
  'broker.Purchased': [['account', 'region', 'amount', 'index']],
  'broker.Renewed': [['account', 'amount', 'index', 'index', 'index', 'index', 'any']],
  'broker.Transferred': [['region', 'index', 'account?', 'account?']],
  'broker.Partitioned': [['region', 'regions']],
  'broker.Interlaced': [['region', 'regions']],
  'broker.Assigned': [['region', 'index', 'index']],
  'broker.Pooled': [['region', 'index']],
  'broker.RegionDropped': [['region', 'index']],
  'broker.AssignmentRemoved': [['region']],
  'broker.RegionUnpooled': [['region', 'any']],
  'convictionVoting.Voted': [
    ['account', 'vote'],
    ['account', 'vote', 'index'],
  ],
  'referenda.Submitted': [['index', 'index', 'any']],
  'referenda.DecisionDepositPlaced': [['index', 'any', 'amount']],
  'referenda.DecisionStarted': [['index', 'index', 'any', 'tally']],
  'referenda.ConfirmStarted': [['index']],
  'referenda.ConfirmAborted': [['index']],
  'referenda.Approved': [['index']],
  'referenda.Confirmed': [['index', 'tally']],
  'referenda.Rejected': [['index', 'tally']],
  'referenda.TimedOut': [['index', 'tally']],
  'referenda.Cancelled': [['index', 'tally']],
  'referenda.Killed': [['index', 'tally']],
  'referenda.SubmissionDepositRefunded': [['index', 'any', 'any']],
  'referenda.MetadataSet': [['index', 'any']],
  'bounties.BountyProposed': [['index']],
  'bounties.BountyBecameActive': [['index']],
  'childBounties.Added': [['index', 'index']],
  'childBounties.Awarded': [['index', 'index', 'account']],
  'childBounties.Claimed': [['index', 'index', 'amount', 'account']],
  'childBounties.Canceled': [['index', 'index']],
};

const TALLY = ['ayes', 'nays', 'support'];

const IS_READABLE: Readonly<Record<Field, (value: Json | undefined) => boolean>> = {
  account: (value) => parseAccount(value) !== null,
  'account?': (value) => value === null || parseAccount(value) !== null,
  index: (value) => parseIndex(value) !== null,
  region: isRegion,
  regions: (value) => isArray(value) && value.length === 2 && value.every(isRegion),
  vote: (value) => parseVote(value) !== null,
  tally: (value) => isObject(value) && TALLY.every((name) => parseAmount(value[name]) !== null),
  h160: (value) => parseAccount(value)?.length === 42,
  amount: (value) => parseAmount(value) !== null,
  flag: (value) => typeof value === 'boolean',
  any: () => true,
};

function isRegion(value: Json | undefined): boolean {
  const { begin, core, mask } = isObject(value) ? value : {};
  const isMask = typeof mask === 'string' && /^0x[0-9a-f]{20}$/i.test(mask);
  return isMask && parseIndex(begin) !== null && parseIndex(core) !== null;
}

/** Why the fields of an event cannot be trusted; null when they can, or when nobody reads them. */
export function refusalReason(event: Event): string | null {
  const shapes = SHAPES[`${event.pallet}.${event.method}`];
  if (!shapes) return null;
  const fields = shapes.find((shape) => shape.length === event.data.length);
  if (!fields) return `${event.data.length} fields`;
  const unreadable = fields.findIndex((field, index) => !IS_READABLE[field](event.data[index]));
  return unreadable < 0 ? null : `field ${unreadable} is not a readable ${fields[unreadable]}`;
}

/** Arguments of calls that have to be amounts where they are given. */
const AMOUNTS: Readonly<Record<string, readonly string[]>> = {
  'convictionVoting.delegate': ['balance'],
  'bounties.proposeBounty': ['value'],
  'bounties.proposeCurator': ['fee'],
  'childBounties.addChildBounty': ['value'],
  'childBounties.proposeCurator': ['fee'],
  'revive.call': ['value', 'storage_deposit_limit'],
  'revive.instantiate': ['value', 'storage_deposit_limit'],
  'revive.instantiateWithCode': ['value', 'storage_deposit_limit'],
  'revive.ethCall': ['value'],
  'revive.ethInstantiateWithCode': ['value'],
};

/** Why nothing can be taken from a call that ran; null when something can, or nobody looks. */
export function callRefusalReason(call: Call): string | null {
  const name = `${call.pallet}.${call.method}`;
  if (name === 'convictionVoting.vote') return parseVote(call.args.vote) === null ? 'no vote' : null;
  if (name === 'convictionVoting.delegate' && parseConviction(call.args.conviction) === null)
    return 'no conviction';
  const bad = (AMOUNTS[name] ?? []).find((argument) => {
    const value = call.args[argument];
    return value !== undefined && value !== null && parseAmount(value) === null;
  });
  return bad === undefined ? null : `${bad} is not an amount`;
}

/** A field that the shape of its event has been checked to be an amount. */
export function amountAt(event: Event, index: number): bigint {
  return checked(parseAmount(event.data[index]));
}

/** A field that the shape of its event has been checked to be an account. */
export function accountAt(event: Event, index: number): string {
  return checked(parseAccount(event.data[index]));
}

function checked<T>(value: T | null): T {
  if (value === null) throw new Error('a fact was read before its shape was checked');
  return value;
}
