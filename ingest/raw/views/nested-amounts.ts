import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { landingTable, view } from '../../../infra/clickhouse/table.ts';
import { RANK } from '../ordering.ts';
import { addressEncodingsDue, calls, chains, events, refusedFacts } from '../tables.ts';
import { fieldSql } from './event-facts.ts';
import { addressSql, amountSql, inSteps, namesOf, prefixSql } from './parse-sql.ts';

/**
 * Amounts that stand deeper than the fields of an event: in tallies, in votes, in the arguments of calls. Where one
 * is no amount, or a vote is none, the fact is not taken, and this is where that is said.
 */

const name = 'LowCardinality(String)';
const NO_AMOUNT = 'amount: not an unsigned integer';
const NO_VOTE = 'vote: of no known kind, or with a part that cannot be read';
const NO_TERMS = 'delegation: balance or conviction cannot be read';
const isNone = (text: string) => `isNull(${amountSql(text)})`;

/** The values of these names in a JSON text, wherever they stand in it, without their quotes. */
const valuesIn = (json: string, ...names: readonly string[]) =>
  `arrayMap(found -> trim(BOTH '"' FROM found), extractAll(${json}, '"(?:${names.join('|')})" *: *("[^"]*"|[^,}]+)'))`;

const TALLY = ['ayes', 'nays', 'support'];

const CONVICTION = '(none|locked[1-6]x)';
/** One byte whose high bit says aye and whose rest is the conviction, as hex or as a number. */
const VOTE_BYTE = '"?(0x[08]?[0-6]|[0-6]|12[89]|13[0-4])"?';
const isConviction = (text: string) => `match(${text}, '^("${CONVICTION}"|[{]"${CONVICTION}":.*[}])$')`;

/**
 * Whether a vote, as JSON in lowercase, is of no known kind, or lacks a part of it that can be read. `vote` is a column:
 * an expression would be planned as often as it stands here.
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

const TALLYING = ['DecisionStarted', 'Confirmed', 'Rejected', 'TimedOut', 'Cancelled', 'Killed'];
const VOTED = `pallet = 'convictionVoting' AND event = 'Voted'`;
const IS_PAID = `(pallet, event) IN (('staking', 'Rewarded'), ('nominationPools', 'PaidOut'))`;

export const eventsToCheck = landingTable({
  name: 'events_to_check',
  doc: 'The few events that rows of other tables may follow from.',
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

/**
 * What most batches do not hold is set apart: the engine plans no view for a batch without rows. The view has a name
 * that earlier versions know: one that is started again replaces it.
 */
const suspectEvents = view(
  'events_to_refused_facts',
  events,
  eventsToCheck,
  sql`SELECT ${namesOf(eventsToCheck.columns)} FROM ${events}
  WHERE refused != '' OR (${raw(VOTED)}) OR (pallet = 'referenda' AND event IN ${TALLYING})
    OR ${raw(IS_PAID)}`,
);

const refusedEventRows = view(
  'checked_to_refused_facts',
  eventsToCheck,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('event ', toString(event_index), ' ', pallet, '.', event) AS fact,
    multiIf(refused != '', refused, event = 'Voted', '${raw(NO_VOTE)}', '${raw(NO_AMOUNT)}') AS reason, toJSONString(data) AS raw, rank
  FROM ${inSteps(
    sql`${eventsToCheck}`,
    `if(${VOTED}, lower(${fieldSql('convictionVoting.Voted', 'vote', 'data')}), '') AS vote,
      if(pallet = 'referenda', ${valuesIn('data[-1]', ...TALLY)}, []) AS tally`,
  )}
  WHERE refused != ''
    OR (pallet = 'referenda' AND (length(tally) != ${TALLY.length} OR arrayExists(text -> ${raw(isNone('text'))}, tally)))
    OR (${raw(VOTED)} AND ${raw(isBadVote('vote'))})`,
);

/** Accounts that are paid do not sign. */
const paidAddressEncodingRows = view(
  'checked_to_address_encodings_due',
  eventsToCheck,
  addressEncodingsDue,
  sql`SELECT DISTINCT account AS key, prefix
  FROM ${inSteps(sql`${eventsToCheck}`, `${addressSql('data[1]')} AS address`)} AS paid
    INNER JOIN (SELECT chain, prefix FROM ${chains} FINAL) AS registry USING (chain)
  WHERE ${raw(IS_PAID)} AND length(account) = 32 AND ${raw(prefixSql('address'))} != prefix`,
);

/** Arguments that are amounts; one that is left out or null says nothing. */
const ARGUMENTS: readonly (readonly [pallet: string, calls: readonly string[], names: readonly string[]])[] =
  [
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

const list = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');
const amountNames = ARGUMENTS.map(
  ([pallet, of, names]) => `pallet = '${pallet}' AND call IN (${list(of)}), [${list(names)}]`,
).join(', ');
const checkedPallets = [...new Set(ARGUMENTS.map(([pallet]) => pallet))];

const refusedArgumentRows = view(
  'calls_to_refused_facts',
  calls,
  refusedFacts,
  sql`SELECT relay_chain, chain, number,
    concat('extrinsic ', toString(extrinsic_index), ' ', if(path = '', '', concat(path, ' ')), pallet, '.', call) AS fact,
    multiIf(call = 'vote', '${raw(NO_VOTE)}', call = 'delegate', '${raw(NO_TERMS)}', '${raw(NO_AMOUNT)}') AS reason, args AS raw, rank
  FROM ${inSteps(
    sql`(SELECT * FROM ${calls} WHERE pallet IN (${raw(list(checkedPallets))}))`,
    `if(pallet = 'convictionVoting' AND call = 'vote', lower(JSONExtractRaw(args, 'vote')), '') AS vote,
      arrayMap(name -> trim(BOTH '"' FROM JSONExtractRaw(args, name)), multiIf(${amountNames}, [])) AS amounts`,
  )}
  WHERE (pallet = 'convictionVoting' AND call = 'vote' AND ${raw(isBadVote('vote'))})
    OR (pallet = 'convictionVoting' AND call = 'delegate' AND NOT ${raw(isConviction("lower(JSONExtractRaw(args, 'conviction'))"))})
    OR arrayExists(text -> text NOT IN ('', 'null') AND ${raw(isNone('text'))}, amounts)`,
);

export const checkingViews = [suspectEvents, refusedEventRows, paidAddressEncodingRows, refusedArgumentRows];
