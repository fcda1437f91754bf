import { count, day, name, planck, real, text } from '../../../infra/clickhouse/columns.ts';
import { metric } from '../../metric.ts';
import { referendaFacts } from './folds/facts.ts';
import { referendumResults } from './folds/referenda.ts';

const unknown = { nullable: true } as const;

export const govReferendumResult = metric({
  record: 'GovReferendumResult',
  doc: 'One row per referendum of the pallet `referenda`, with its state as known now. One index is one referendum on all chains of a relay: where governance moved to another chain it is one row, under the chain where its newest event happened.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain of the newest event that moved the referendum'),
    referendum_index: count('index of the referendum'),
    track: count('track, from its submission or else the start of its decision', unknown),
    origin: text(
      'origin of the proposal: of the submitting call, else that of its track, such as `SmallTipper`',
      unknown,
    ),
    ayes: real(
      'votes for it after conviction, in native tokens, of the newest tally that an event told',
      unknown,
    ),
    ayes_planck: planck('the same in planck', unknown),
    nays: real('votes against it after conviction, in native tokens, of the same tally', unknown),
    nays_planck: planck('the same in planck', unknown),
    support: real(
      'tokens of aye and abstaining votes before conviction, in native tokens, of the same tally',
      unknown,
    ),
    support_planck: planck('the same in planck', unknown),
    approval: real('ayes / (ayes + nays), 0 to 1; null without votes', unknown),
    turnout_pct: real(
      '100 × support / (issuance − inactive issuance), by the newest `issuance` snapshot before the tally; null without one',
      unknown,
    ),
    outcome: name('how it ended; the first end counts', {
      values: ['Ongoing', 'Approved', 'Rejected', 'TimedOut', 'Cancelled', 'Killed'],
    }),
    submitted_block: count('height of the submission', unknown),
    end_block: count('height of the end; null while it is open', unknown),
    start_date: day('UTC day of the submission', unknown),
    end_date: day('UTC day of the end; null while it is open', unknown),
    deciding_block: count('height at which the decision last started', unknown),
    confirm_block: count(
      'height at which the confirmation last started; null when that was aborted',
      unknown,
    ),
    decision_deposit: real('decision deposit in native tokens, also after its refund', unknown),
    decision_deposit_planck: planck('the same in planck', unknown),
    submitter: text('SS58 of the account that submitted it; null when no account did', unknown),
    proposal_hash: text('blake2-256 hash of the proposed call', unknown),
  },
  key: ['relay_chain', 'chain', 'referendum_index'],
  order: ['referendum_index', 'relay_chain', 'chain'],
  materialized: 'whole',
  period: null,
  invalidationScope: 'day',
  lookbackDays: 1,
  select: referendaFacts,
  fold: (facts, window) => referendumResults(window.relay_chain, facts),
  endpoints: [
    {
      path: '/api/daily-gov-referenda-results',
      summary: 'Referenda with tally and outcome',
      relays: ['polkadot'],
      dates: { column: 'start_date', floor: '2023-01-01', required: false },
    },
  ],
});
