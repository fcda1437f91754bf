import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { view } from '../../../infra/clickhouse/table.ts';
import { calls, events, refusedFacts } from '../tables.ts';
import { fieldSql } from './event-facts.ts';
import { amountSql } from './parse-sql.ts';

/**
 * Amounts that stand deeper than the fields of an event: in tallies, in votes, in the arguments of calls. Where one
 * is no amount, or a vote is none, the fact is not taken, and this is where that is said.
 */

const NO_AMOUNT = 'amount: not an unsigned integer';
const NO_VOTE = 'vote: of no known kind, or with a part that cannot be read';
const NO_TERMS = 'delegation: balance or conviction cannot be read';
const isNone = (text: string) => `isNull(${amountSql(text)})`;

/** The values of these names in a JSON text, wherever they stand in it, without their quotes. */
const valuesIn = (json: string, ...names: readonly string[]) =>
  `arrayMap(found -> trim(BOTH '"' FROM found), extractAll(${json}, '"(?:${names.join('|')})" *: *("[^"]*"|[^,}]+)'))`;

const TALLY = ['ayes', 'nays', 'support'];
const isBadTally = (tally: string) => {
  const amounts = valuesIn(tally, ...TALLY);
  return `(length(${amounts}) != ${TALLY.length} OR arrayExists(text -> ${isNone('text')}, ${amounts}))`;
};

const CONVICTION = '(none|locked[1-6]x)';
/** One byte whose high bit says aye and whose rest is the conviction, as hex or as a number. */
const VOTE_BYTE = '"?(0x[08]?[0-6]|[0-6]|12[89]|13[0-4])"?';
const isConviction = (text: string) => `match(${text}, '^("${CONVICTION}"|[{]"${CONVICTION}":.*[}])$')`;

/** Whether a vote, as JSON in lowercase, is of no known kind, or lacks a part of it that can be read. */
function isBadVote(vote: string): string {
  const part = (...path: readonly string[]) =>
    `JSONExtractRaw(${vote}, ${path.map((key) => `'${key}'`).join(', ')})`;
  const isAmounts = (kind: string, ...names: readonly string[]) =>
    `arrayAll(text -> isNotNull(${amountSql('text')}), arrayMap(json -> trim(BOTH '"' FROM json), [${names.map((name) => part(kind, name))}]))`;
  const side = part('standard', 'vote');
  return `NOT multiIf(
    JSONHas(${vote}, 'standard'), ${isAmounts('standard', 'balance')} AND (match(${side}, '^${VOTE_BYTE}$')
      OR (${part('standard', 'vote', 'aye')} IN ('true', 'false') AND ${isConviction(part('standard', 'vote', 'conviction'))})),
    JSONHas(${vote}, 'split'), ${isAmounts('split', 'aye', 'nay')},
    JSONHas(${vote}, 'splitabstain'), ${isAmounts('splitabstain', 'aye', 'nay', 'abstain')},
    0)`;
}

const TALLYING = ['DecisionStarted', 'Confirmed', 'Rejected', 'TimedOut', 'Cancelled', 'Killed'];

export const refusedEventRows = view(
  'events_to_refused_facts',
  events,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('event ', toString(event_index), ' ', pallet, '.', event) AS fact,
    multiIf(refused != '', refused, event = 'Voted', '${raw(NO_VOTE)}', '${raw(NO_AMOUNT)}') AS reason, toJSONString(data) AS raw, rank
  FROM ${events}
  WHERE refused != ''
    OR (pallet = 'referenda' AND event IN ${TALLYING} AND ${raw(isBadTally('data[-1]'))})
    OR (pallet = 'convictionVoting' AND event = 'Voted' AND ${raw(isBadVote(`lower(${fieldSql('convictionVoting.Voted', 'vote', 'data')})`))})`,
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
    multiIf(call = 'vote', '${raw(NO_VOTE)}', call = 'delegate', '${raw(NO_TERMS)}', '${raw(NO_AMOUNT)}') AS reason, args AS raw, rank
  FROM ${calls}
  WHERE (pallet = 'convictionVoting' AND call = 'vote' AND ${raw(isBadVote("lower(JSONExtractRaw(args, 'vote'))"))})
    OR (pallet = 'convictionVoting' AND call = 'delegate' AND NOT ${raw(isConviction("lower(JSONExtractRaw(args, 'conviction'))"))})
    OR ${raw(isBadCall)}`,
);
