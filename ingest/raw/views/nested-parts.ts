import { raw, sql } from '../../../infra/sql.ts';
import { landingTable, view } from '../../../infra/table.ts';
import { CURATOR_CALLS } from '../../decode/fact-calls.ts';
import { RANK } from '../ordering.ts';
import { addressSql, amountSql, inSteps, keySql, namesOf, prefixSql } from '../parse-sql.ts';
import { addressEncodingsDue, calls, chains, events, refusedFacts } from '../tables.ts';
import { fieldSql, isIndex, isMask, paidField } from './event-facts.ts';

/**
 * Checks values inside the fields of events, and values that only folds read: tallies, votes, workloads, owners of regions,
 * arguments of calls. If a value cannot be read, metrics lack the fact, and these views record the refusal.
 */

const name = 'LowCardinality(String)';
const NO_AMOUNT = 'amount: not an unsigned integer';
const NO_VOTE = 'vote: of no known kind, or with a part that cannot be read';
const NO_TERMS = 'delegation: balance or conviction cannot be read';
const isNone = (text: string) => `isNull(${amountSql(text)})`;

/** The values of these keys at any depth of a JSON text, without quotes. */
const valuesIn = (json: string, ...names: readonly string[]) =>
  `arrayMap(found -> trim(BOTH '"' FROM found), extractAll(${json}, '"(?:${names.join('|')})" *: *("[^"]*"|[^,}]+)'))`;

const TALLY = ['ayes', 'nays', 'support'];

const CONVICTION = '(none|locked[1-6]x)';
/** A vote as one byte, in hex or as a number: the high bit means aye, the other bits are the conviction. */
const VOTE_BYTE = '"?(0x[08]?[0-6]|[0-6]|12[89]|13[0-4])"?';
const isConviction = (text: string) => `match(${text}, '^("${CONVICTION}"|[{]"${CONVICTION}":.*[}])$')`;

/**
 * Whether a vote, as lowercase JSON, has an unknown kind or an unreadable part. `vote` must be a column: an expression would
 * be planned at each use.
 */
function isBadVote(vote: string): string {
  const part = (...path: readonly string[]) =>
    `JSONExtractRaw(${vote}, ${path.map((key) => `'${key}'`).join(', ')})`;
  const amounts = (kind: string, ...names: readonly string[]) =>
    `JSONHas(${vote}, '${kind}'), [${names.map((name) => part(kind, name)).join(', ')}]`;
  const all = `multiIf(${amounts('standard', 'balance')}, ${amounts('split', 'aye', 'nay')}, ${amounts('splitabstain', 'aye', 'nay', 'abstain')}, [''])`;
  const isSide = `match(${part('standard', 'vote')}, '^${VOTE_BYTE}$')
    OR (${part('standard', 'vote', 'aye')} IN ('true', 'false') AND ${isConviction(part('standard', 'vote', 'conviction'))})`;
  return `(arrayExists(text -> ${isNone('text')}, arrayMap(json -> trim(BOTH '"' FROM json), ${all}))
    OR (JSONHas(${vote}, 'standard') AND NOT (${isSide})))`;
}

/** A list of `{"mask":"0x...","assignment":...}`, as `decode/broker.ts` reads it. */
const isWorkload = (text: string) =>
  `(JSONType(${text}) = 'Array' AND arrayAll(item -> ${isMask("JSONExtractString(item, 'mask')")} AND ${isAssignment("JSONExtractRaw(item, 'assignment')")}, JSONExtractArrayRaw(${text})))`;

/** Accepts `{"task":"2000"}`, `{"pool":null}` or `"Pool"`. The variant may be in upper or lower case. */
function isAssignment(text: string): string {
  const entry = `JSONExtractKeysAndValuesRaw(${text})[1]`;
  const isTask = `lower(${entry}.1) = 'task' AND ${isIndex(`replaceAll(${entry}.2, '"', '')`)}`;
  return `(lower(${text}) IN ('"pool"', '"idle"') OR (JSONLength(${text}) = 1 AND (lower(${entry}.1) IN ('pool', 'idle') OR (${isTask}))))`;
}

/** Former owner and owner, each as an address or empty. */
const OWNERS = (['old_owner', 'owner'] as const).map((owner) =>
  fieldSql('broker.Transferred', owner, 'data'),
);

const TALLYING = ['DecisionStarted', 'Confirmed', 'Rejected', 'TimedOut', 'Cancelled', 'Killed'];
const VOTED = `pallet = 'convictionVoting' AND event = 'Voted'`;
const RENEWED = `pallet = 'broker' AND event = 'Renewed'`;
const TRANSFERRED = `pallet = 'broker' AND event = 'Transferred'`;
const NO_WORKLOAD = 'workload: not masks with assignments';
const NO_OWNER = 'owner: neither an address nor none';
const IS_PAID = `(pallet, event) IN (('staking', 'Rewarded'), ('staking', 'ValidatorIncentivePaid'), ('nominationPools', 'PaidOut'))`;

export const eventsToCheck = landingTable({
  name: 'events_to_check',
  doc: 'Rare events whose nested values are checked, or that pay an account.',
  columns: {
    relay_chain: name,
    chain: name,
    number: 'UInt64',
    event_index: 'UInt32',
    pallet: name,
    event: name,
    data: 'Array(String)',
    account: 'String',
    refused: name,
    rank: RANK,
  },
});

/** Separate views for rare events: the engine plans no view for a batch without rows. */
const suspectEvents = view(
  'events_to_checked',
  events,
  eventsToCheck,
  sql`SELECT ${namesOf(eventsToCheck.columns)} FROM ${events}
  WHERE refused != '' OR (${raw(VOTED)}) OR (${raw(RENEWED)}) OR (${raw(TRANSFERRED)}) OR (pallet = 'referenda' AND event IN ${TALLYING})
    OR ${raw(IS_PAID)}`,
);

const refusedEventRows = view(
  'checked_to_refused_facts',
  eventsToCheck,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('event ', toString(event_index), ' ', pallet, '.', event) AS fact,
    multiIf(refused != '', refused, event = 'Voted', '${raw(NO_VOTE)}', event = 'Renewed', '${raw(NO_WORKLOAD)}', event = 'Transferred', '${raw(NO_OWNER)}', '${raw(NO_AMOUNT)}') AS reason, toJSONString(data) AS raw, rank
  FROM ${inSteps(
    sql`${eventsToCheck}`,
    `if(${VOTED}, lower(${fieldSql('convictionVoting.Voted', 'vote', 'data')}), '') AS vote,
      if(pallet = 'referenda', ${valuesIn('data[-1]', ...TALLY)}, []) AS tally,
      arrayFilter(text -> text != '', if(${TRANSFERRED}, [${OWNERS.join(', ')}], [])) AS owners`,
  )}
  WHERE refused != ''
    OR (pallet = 'referenda' AND (length(tally) != ${TALLY.length} OR arrayExists(text -> ${raw(isNone('text'))}, tally)))
    OR (${raw(VOTED)} AND ${raw(isBadVote('vote'))})
    OR (${raw(RENEWED)} AND NOT ${raw(isWorkload(fieldSql('broker.Renewed', 'workload', 'data')))})
    OR arrayExists(text -> ${raw(keySql(addressSql('text')))} = '', owners)`,
);

/** Addresses of accounts that are paid. They may never sign, so the view of signers does not see them. */
const paidAddressEncodingRows = view(
  'checked_to_address_encodings_due',
  eventsToCheck,
  addressEncodingsDue,
  sql`SELECT DISTINCT account AS key, prefix
  FROM ${inSteps(sql`${eventsToCheck}`, `${addressSql(paidField(1))} AS address`)} AS paid
    INNER JOIN (SELECT chain, prefix FROM ${chains} FINAL) AS registry USING (chain)
  WHERE ${raw(IS_PAID)} AND length(account) = 32 AND ${raw(prefixSql('address'))} != prefix`,
);

type Arguments = readonly (readonly [pallet: string, calls: readonly string[], names: readonly string[]])[];

/** Arguments that are amounts. A missing amount and null are valid. */
const AMOUNTS: Arguments = [
  ['convictionVoting', ['delegate'], ['balance']],
  ['bounties', ['proposeBounty'], ['value']],
  ['bounties', ['proposeCurator'], ['fee']],
  ['childBounties', ['addChildBounty'], ['value']],
  ['childBounties', ['proposeCurator'], ['fee']],
  [
    'revive',
    ['call', 'instantiate', 'instantiateWithCode', 'ethCall', 'ethInstantiateWithCode'],
    ['value', 'storage_deposit_limit'],
  ],
];

/** Arguments that are indexes of a referendum, track or bounty. */
const INDEXES: Arguments = [
  ['convictionVoting', ['vote'], ['poll_index']],
  ['convictionVoting', ['removeVote', 'removeOtherVote'], ['index']],
  ['convictionVoting', ['delegate', 'undelegate'], ['class']],
  ['bounties', CURATOR_CALLS, ['bounty_id']],
  ['childBounties', ['addChildBounty'], ['parent_bounty_id']],
  ['childBounties', CURATOR_CALLS, ['parent_bounty_id', 'child_bounty_id']],
];
const ACCOUNTS: Arguments = [
  ['convictionVoting', ['delegate'], ['to']],
  ['convictionVoting', ['removeOtherVote'], ['target']],
  ['bounties', ['proposeCurator'], ['curator']],
];

const list = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');
/** The names of these arguments that a call has. */
const namesIn = (given: Arguments) =>
  `multiIf(${given.map(([pallet, of, names]) => `pallet = '${pallet}' AND call IN (${list(of)}), [${list(names)}]`).join(', ')}, [])`;
const checkedPallets = [...new Set([...AMOUNTS, ...INDEXES, ...ACCOUNTS].map(([pallet]) => pallet))];
const argument = `trim(BOTH '"' FROM JSONExtractRaw(args, name))`;
const VOTING = `pallet = 'convictionVoting'`;

const refusedArgumentRows = view(
  'calls_to_refused_facts',
  calls,
  refusedFacts,
  sql`SELECT relay_chain, chain, number,
    concat('extrinsic ', toString(extrinsic_index), ' ', if(path = '', '', concat(path, ' ')), pallet, '.', call) AS fact,
    reason, args AS raw, rank
  FROM ${inSteps(
    sql`(SELECT * FROM ${calls} WHERE pallet IN (${raw(list(checkedPallets))}))`,
    `if(${VOTING} AND call = 'vote', lower(JSONExtractRaw(args, 'vote')), '') AS vote, ${namesIn(ACCOUNTS)} AS account_names,
      arrayFirst(name -> NOT ${isIndex(argument)}, ${namesIn(INDEXES)}) AS bad_index,
      arrayMap(name -> ${argument}, ${namesIn(AMOUNTS)}) AS amounts`,
    `arrayMap(given -> ${addressSql('given')}, arrayMap(name -> ${argument}, account_names)) AS addresses`,
    `arrayFirst((name, address) -> ${keySql('address')} = '', account_names, addresses) AS bad_account`,
    `multiIf(${VOTING} AND call = 'vote' AND ${isBadVote('vote')}, '${NO_VOTE}',
      ${VOTING} AND call = 'delegate' AND NOT ${isConviction("lower(JSONExtractRaw(args, 'conviction'))")}, '${NO_TERMS}',
      bad_index != '', concat(bad_index, ': not a whole number'), bad_account != '', concat(bad_account, ': not an address'),
      arrayExists(text -> text NOT IN ('', 'null') AND ${isNone('text')}, amounts), if(${VOTING}, '${NO_TERMS}', '${NO_AMOUNT}'), '') AS reason`,
  )}
  WHERE reason != ''`,
);

export const checkingViews = [suspectEvents, refusedEventRows, paidAddressEncodingRows, refusedArgumentRows];
