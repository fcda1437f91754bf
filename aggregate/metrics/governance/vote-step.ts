import { count, day, flag, name, planck, text, timestamp } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { votingFacts } from './folds/facts.ts';
import { STEP_KINDS, STEP_SUBJECTS, voteStepRows } from './folds/vote-steps.ts';

/**
 * Votes and delegations, stored under the referendum or track that they change, so that a referendum is folded from its
 * own steps alone. No endpoint serves it.
 */
export const voteStep = metric({
  record: 'VoteStep',
  title: 'Steps of votes',
  domain: 'governance',
  doc: 'Steps of referenda, of votes on them and of delegations, in chain order.',
  columns: {
    relay_chain: name('relay chain'),
    subject: name('kind of entity that the step changes', { values: STEP_SUBJECTS }),
    entity: count('index of the referendum, or the track of a delegation; 0 for a snapshot'),
    at: timestamp('time of the block or snapshot'),
    after_blocks: count('1 for a snapshot, which follows the blocks of its time; else 0'),
    chain: name('chain'),
    number: count('height; 0 for a snapshot'),
    place: count('0 for the initialization of the block, extrinsics from 1, then the finalization'),
    position: count('position among the steps of that place'),
    date: day('UTC day'),
    kind: name('kind of the step', { values: STEP_KINDS }),
    track: count('track in the event, else 0'),
    account: text('key of the account that voted or delegated'),
    target: text('key of the account that a delegation adds to'),
    conviction: count('0 is None, k is `Locked{k}x`'),
    balance: planck('tokens of a Standard vote or of a delegation, in planck'),
    is_aye: flag('side of a Standard vote'),
    aye: planck('tokens on the aye side of a split vote, in planck'),
    nay: planck('tokens on the nay side of a split vote, in planck'),
    abstain: planck('abstaining tokens of a split vote, in planck'),
  },
  key: ['relay_chain', 'subject', 'entity', 'at', 'after_blocks', 'chain', 'number', 'place', 'position'],
  materialized: 'daily',
  select: votingFacts,
  version: 2,
  fold: (facts, { relay_chain }) => voteStepRows(relay_chain, facts),
  endpoints: [],
});
