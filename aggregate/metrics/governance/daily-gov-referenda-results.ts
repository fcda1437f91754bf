import { count, day, name, planck, real, text } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { referendaFacts } from './folds/facts.ts';
import { referendumResults } from './folds/referenda.ts';

export const govReferendumResult = metric({
  record: 'GovReferendumResult',
  title: 'Referenda',
  domain: 'governance',
  doc: 'Current state of each referendum of the pallet `referenda`. A referendum that moved to another chain with governance is one row, under the chain of its newest event.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the newest event of the referendum', { title: 'Chain' }),
    referendum_index: count('index of the referendum', { title: 'Referendum', unit: 'identifier' }),
    track: count('track, from the submission, or else from the start of the decision', {
      title: 'Track',
      unit: 'identifier',
      nullable: true,
    }),
    origin: text(
      'origin of the proposal, such as `SmallTipper`: from the submitting call, or else from the track',
      { title: 'Origin', nullable: true },
    ),
    ayes: real(
      'aye votes after conviction, in native tokens, from the newest tally in an event; null without a tally',
      {
        title: 'Ayes',
        unit: 'native',
        nullable: true,
      },
    ),
    ayes_planck: planck('`ayes` in planck', { title: 'Ayes in planck', nullable: true }),
    nays: real('nay votes after conviction, in native tokens, from the same tally', {
      title: 'Nays',
      unit: 'native',
      nullable: true,
    }),
    nays_planck: planck('`nays` in planck', { title: 'Nays in planck', nullable: true }),
    support: real(
      'tokens of aye and abstain votes before conviction, in native tokens, from the same tally',
      { title: 'Support', unit: 'native', nullable: true },
    ),
    support_planck: planck('`support` in planck', { title: 'Support in planck', nullable: true }),
    approval: real('`ayes` / (`ayes` + `nays`), 0 to 1; null without votes', {
      title: 'Approval',
      unit: 'ratio',
      nullable: true,
    }),
    turnout_pct: real(
      '100 * `support` / (issuance - inactive issuance), from the newest `issuance` snapshot before the tally; null without one',
      { title: 'Turnout', unit: 'percent', nullable: true },
    ),
    outcome: name('first outcome; `Ongoing` while the referendum is open', {
      title: 'Outcome',
      values: ['Ongoing', 'Approved', 'Rejected', 'TimedOut', 'Cancelled', 'Killed'],
    }),
    submitted_block: count('height of the submission', {
      title: 'Block of the submission',
      unit: 'height',
      nullable: true,
    }),
    end_block: count('height of the end; null while the referendum is open', {
      title: 'Block of the end',
      unit: 'height',
      nullable: true,
    }),
    start_date: day('UTC day of the submission', { title: 'Submitted', nullable: true }),
    end_date: day('UTC day of the end; null while the referendum is open', {
      title: 'Ended',
      nullable: true,
    }),
    deciding_block: count('height at which the decision last started', {
      title: 'Block of the decision’s start',
      unit: 'height',
      nullable: true,
    }),
    confirm_block: count('height at which the confirmation last started; null if it was aborted', {
      title: 'Block of the confirmation’s start',
      unit: 'height',
      nullable: true,
    }),
    decision_deposit: real('decision deposit, in native tokens; it stays after a refund', {
      title: 'Decision deposit',
      unit: 'native',
      nullable: true,
    }),
    decision_deposit_planck: planck('`decision_deposit` in planck', {
      title: 'Decision deposit in planck',
      nullable: true,
    }),
    submitter: text('account that submitted it, as SS58; null when no account did, or when it is unknown', {
      title: 'Submitter',
      nullable: true,
    }),
    proposal_hash: text('blake2-256 hash of the proposed call', { title: 'Proposal hash', nullable: true }),
  },
  key: ['relay_chain', 'chain', 'referendum_index'],
  order: ['referendum_index', 'relay_chain', 'chain'],
  materialized: 'whole',
  select: referendaFacts,
  version: 3,
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
