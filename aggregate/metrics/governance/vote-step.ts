import { count, day, flag, name, planck, text, timestamp } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { votingFacts } from './folds/facts.ts';
import { STEP_KINDS, STEP_SUBJECTS, voteStepRows } from './folds/vote-steps.ts';

/**
 * Votes and delegations as steps of the referenda and tracks that they change: what a referendum came to is folded
 * from its own steps, without reading those of others.
 */
export const voteStep = metric({
  record: 'VoteStep',
  title: 'Steps of votes',
  domain: 'governance',
  doc: 'Steps of referenda, of votes on them and of delegations, in chain order.',
  columns: {
    relay_chain: name('relay chain'),
    subject: name('what the step is about', { values: STEP_SUBJECTS }),
    entity: count('index of the referendum, or the track of a delegation; 0 of a snapshot'),
    at: timestamp('time of the block or snapshot'),
    after_blocks: count('1 of a snapshot, which follows the blocks of its time, else 0'),
    chain: name('chain'),
    number: count('height; 0 of a snapshot'),
    place: count(
      '0 in the initialization of the block, then the extrinsics from 1 on, then the finalization',
    ),
    position: count('position among the steps of that place'),
    date: day('UTC day'),
    kind: name('what happened', { values: STEP_KINDS }),
    track: count('track that the event names, else 0'),
    account: text('key of the account that voted or delegated'),
    target: text('key of the account that a delegation adds to'),
    conviction: count('0 is None, k is `Locked{k}x`'),
    balance: planck('tokens of a Standard vote or of a delegation, in planck'),
    is_aye: flag('side of a Standard vote'),
    aye: planck('tokens of a split vote for it, in planck'),
    nay: planck('tokens of a split vote against it, in planck'),
    abstain: planck('tokens of a split vote that abstain, in planck'),
  },
  key: ['relay_chain', 'subject', 'entity', 'at', 'after_blocks', 'chain', 'number', 'place', 'position'],
  materialized: 'daily',
  select: votingFacts,
  version: 2,
  fold: (facts, { relay_chain }) => voteStepRows(relay_chain, facts),
  endpoints: [],
});
