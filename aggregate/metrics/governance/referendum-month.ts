import { sql } from '../../../infra/sql.ts';
import { count, day, name, text, widePlanck } from '../../columns.ts';
import { type Entities, metric } from '../../metric.ts';
import { votingMonths } from './folds/voting-months.ts';
import { changedReferenda, countSteps, readSteps, stepsOfReferenda } from './referendum-steps.ts';

/** The distinct accounts of a month are the union of these rows by account. */
export const referendumMonth = metric({
  record: 'ReferendumMonth',
  title: 'Referenda by month',
  domain: 'governance',
  doc: 'Votes on a referendum by month: a row for each account that took part, and one for each side.',
  columns: {
    relay_chain: name('relay chain'),
    referendum_index: count('index of the referendum'),
    month: day('last day of the month'),
    chain: name('chain of the vote, or chain where the delegation took effect'),
    vote_type: name('direct or delegated', { values: ['direct', 'delegated'] }),
    vote_direction: name('aye, nay or abstain; empty in rows of accounts'),
    account: text('key of an account that took part; empty in rows of sides'),
    capital_planck: widePlanck('tokens of the side before conviction, in planck'),
    votes_planck: widePlanck('tokens of the side after conviction, in planck'),
    number_of_votes: count('accounts with tokens on the side'),
  },
  key: ['relay_chain', 'referendum_index', 'month', 'chain', 'vote_type', 'vote_direction', 'account'],
  materialized: 'whole',
  entities: { column: 'referendum_index', changed: changedReferenda, sizes: countSteps },
  select: stepsOfReferenda,
  fold: (rows, { relay_chain }) => {
    const [, steps] = readSteps(relay_chain, rows);
    return votingMonths(steps).map((row) => ({ relay_chain, ...row }));
  },
  endpoints: [],
});

/** Months with changed referenda. */
export const CHANGED_MONTHS: Entities = {
  column: 'month',
  changed: (relayChain, after) => sql`SELECT DISTINCT month AS entity
    FROM ${referendumMonth.table} WHERE relay_chain = ${relayChain} AND version > ${after}`,
};
