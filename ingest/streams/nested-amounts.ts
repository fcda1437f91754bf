import { raw, sql } from '../../infra/kernel/sql.ts';
import { view } from '../../infra/kernel/table.ts';
import { amountSql } from './parse-sql.ts';
import { calls, events, refusedFacts } from './raw.ts';

/**
 * Amounts that stand deeper than the fields of an event: in tallies, in votes, in the arguments of calls. Where one
 * is no amount the fact is not taken, and this is where that is said.
 */

const NO_AMOUNT = 'amount: not an unsigned integer';
const isNone = (text: string) => `isNull(${amountSql(text)})`;

/** The values of these names in a JSON text, wherever they stand in it, without their quotes. */
const valuesIn = (json: string, ...names: readonly string[]) =>
  `arrayMap(found -> trim(BOTH '"' FROM found), extractAll(${json}, '"(?:${names.join('|')})" *: *("[^"]*"|[^,}]+)'))`;

const TALLY = ['ayes', 'nays', 'support'];
const isBadTally = (tally: string) => {
  const amounts = valuesIn(tally, ...TALLY);
  return `(length(${amounts}) != ${TALLY.length} OR arrayExists(text -> ${isNone('text')}, ${amounts}))`;
};

/** The side of a vote may be written as a flag under the name that amounts have elsewhere. */
const isBadVote = (vote: string) =>
  `arrayExists(text -> text NOT IN ('true', 'false') AND ${isNone('text')}, ${valuesIn(vote, 'balance', 'aye', 'nay', 'abstain')})`;

const TALLYING = ['DecisionStarted', 'Confirmed', 'Rejected', 'TimedOut', 'Cancelled', 'Killed'];

export const refusedEventRows = view(
  'events_to_refused_facts',
  events,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('event ', toString(event_index), ' ', pallet, '.', event) AS fact,
    if(refused = '', '${raw(NO_AMOUNT)}', refused) AS reason, toJSONString(data) AS raw, rank
  FROM ${events}
  WHERE refused != ''
    OR (pallet = 'referenda' AND event IN ${TALLYING} AND ${raw(isBadTally('data[-1]'))})
    OR (pallet = 'convictionVoting' AND event = 'Voted' AND ${raw(isBadVote('data[2]'))})`,
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

const isBadArgument = (name: string) => {
  const value = `trim(BOTH '"' FROM JSONExtractRaw(args, '${name}'))`;
  return `(${value} NOT IN ('', 'null') AND ${isNone(value)})`;
};
const list = (names: readonly string[]) => `(${names.map((name) => `'${name}'`).join(', ')})`;
const isBadCall = ARGUMENTS.map(
  ([pallet, of, names]) =>
    `(pallet = '${pallet}' AND call IN ${list(of)} AND (${names.map(isBadArgument).join(' OR ')}))`,
).join(' OR ');

export const refusedArgumentRows = view(
  'calls_to_refused_facts',
  calls,
  refusedFacts,
  sql`SELECT relay_chain, chain, number,
    concat('extrinsic ', toString(extrinsic_index), ' ', if(path = '', '', concat(path, ' ')), pallet, '.', call) AS fact,
    '${raw(NO_AMOUNT)}' AS reason, args AS raw, rank
  FROM ${calls}
  WHERE (pallet = 'convictionVoting' AND call = 'vote' AND ${raw(isBadVote("JSONExtractRaw(args, 'vote')"))})
    OR ${raw(isBadCall)}`,
);
