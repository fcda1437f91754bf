import { beforeAll, describe, expect, it } from 'vitest';
import { govReferendumResult } from '../../../../aggregate/metrics/governance/daily-gov-referenda-results.ts';
import { govChildBounty } from '../../../../aggregate/metrics/governance/gov-child-bounties.ts';
import { govParentBountySummary } from '../../../../aggregate/metrics/governance/gov-parent-bounty-summary.ts';
import { govVoterHistory } from '../../../../aggregate/metrics/governance/gov-voter-history.ts';
import { monthlyGovParticipation } from '../../../../aggregate/metrics/governance/monthly-gov-participation.ts';
import { monthlyGovTokens } from '../../../../aggregate/metrics/governance/monthly-gov-tokens.ts';
import { recordedLines } from '../../../support/recordings.ts';
import type { Row } from '../../../support/served.ts';
import { columns, computeRows } from './story.ts';

// Blocks of a real runtime without `Voted` events, with values that were read by hand.
const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
const BOB = '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3';
const CHARLIE = '14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q';
const DAVE = '126TwBzBM4jUEK2gTphmW4oLoBWWnYvPp8hygmduTr4uds57';
const EVE = '16D2eVuK5SWfwvtFD3gVdBC2nc2BafK31BY6PrbZHBAGew7L';
const FERDIE = '1egYCubF1U5CGWiXjQnsXduiJYP49KTs8eX1jn1JrTqCYyQ';

let referenda: readonly Row[];
let votes: readonly Row[];
let participation: readonly Row[];
let tokens: readonly Row[];
let bounties: readonly Row[];
let children: readonly Row[];
beforeAll(async () => {
  const metrics = [
    govReferendumResult,
    govVoterHistory,
    monthlyGovParticipation,
    monthlyGovTokens,
    govParentBountySummary,
    govChildBounty,
  ];
  const { rows, refused } = await computeRows(recordedLines('runtime'), metrics);
  expect(refused).toEqual([]);
  [referenda, votes, participation, tokens, bounties, children] = rows as [
    Row[],
    Row[],
    Row[],
    Row[],
    Row[],
    Row[],
  ];
});

const sumOf = (referendum: number, direction: string) =>
  votes
    .filter((row) => row.referendum_index === referendum && row.vote_direction === direction && row.is_final)
    .reduce((sum, row) => sum + BigInt(String(row.votes_planck)), 0n);

describe('referenda', () => {
  it('one was confirmed, one cancelled', () => {
    const names = [
      'referendum_index',
      'track',
      'origin',
      'outcome',
      'submitter',
      'submitted_block',
      'deciding_block',
      'confirm_block',
      'end_block',
      'decision_deposit_planck',
      'start_date',
      'end_date',
    ];
    expect(columns(referenda, ...names)).toEqual([
      [
        0,
        0,
        'Root',
        'Approved',
        ALICE,
        1036791,
        1036794,
        1036795,
        1036796,
        '1000000000000000',
        '2026-11-21',
        '2026-11-21',
      ],
      [1, 0, 'Root', 'Cancelled', BOB, 1036791, null, null, 1036797, null, '2026-11-21', '2026-11-21'],
    ]);
    expect(columns(referenda, 'proposal_hash')[0]).toEqual([
      '0x00a68a5b29c1d874e4ff018ea186e59617c56aad135cc0a6baf646db7ca9b1a2',
    ]);
  });

  it.each([0, 1])('the final votes on referendum %d add up to the tally of the runtime', (index) => {
    const final = referenda.find((row) => row.referendum_index === index) as Row;
    expect([sumOf(index, 'aye'), sumOf(index, 'nay')].map(String)).toEqual([
      final.ayes_planck,
      final.nays_planck,
    ]);
  });

  it('the tallies are those of the blocks', () => {
    expect(columns(referenda, 'ayes_planck', 'nays_planck', 'support_planck')).toEqual([
      ['300000210000000000', '5000000000', '50000320000000000'],
      ['0', '600000000000', '0'],
    ]);
  });
});

it('votes are those at the end of their referendum', () => {
  const names = [
    'referendum_index',
    'voter',
    'vote_type',
    'vote_direction',
    'conviction_name',
    'capital_planck',
    'is_final',
    'extrinsic_id',
  ];
  expect(columns(votes, ...names)).toEqual([
    [0, DAVE, 'Standard', 'aye', 'Locked1x', '200000000000', true, '1036793-2'],
    [0, CHARLIE, 'Standard', 'aye', 'Locked6x', '20000000000000000', true, '1036792-3'],
    [0, ALICE, 'Standard', 'aye', 'Locked6x', '30000000000000000', true, '1036793-5'],
    [0, EVE, 'Split', 'aye', 'None', '1000000000000', false, '1036793-3'],
    [0, EVE, 'Split', 'nay', 'None', '500000000000', false, '1036793-3'],
    [0, FERDIE, 'SplitAbstain', 'abstain', 'None', '20000000000', true, '1036792-6'],
    [0, FERDIE, 'SplitAbstain', 'aye', 'None', '100000000000', true, '1036792-6'],
    [0, FERDIE, 'SplitAbstain', 'nay', 'None', '50000000000', true, '1036792-6'],
    [1, ALICE, 'Standard', 'nay', 'Locked2x', '300000000000', true, '1036793-5'],
  ]);
});

it('a delegation took effect in the month and was removed before the referendum ended', () => {
  expect(
    columns(participation, 'month', 'chain', 'vote_type', 'number_of_voters', 'number_of_referenda'),
  ).toEqual([
    ['2026-11-30', 'polkadot', 'delegated', 1, 1],
    ['2026-11-30', 'polkadot', 'direct', 5, 2],
  ]);
  expect(
    columns(tokens, 'vote_type', 'vote_direction', 'capital_planck', 'votes_planck', 'number_of_votes'),
  ).toEqual([
    ['direct', 'abstain', '20000000000', '2000000000', 1],
    ['direct', 'aye', '50000300000000000', '300000210000000000', 4],
    ['direct', 'nay', '350000000000', '605000000000', 2],
  ]);
});

it('one bounty was paid through a child bounty, the other child and the other bounty were not', () => {
  expect(
    columns(
      children,
      'parent_bounty_id',
      'child_bounty_id',
      'status',
      'value_planck',
      'curator_fee_planck',
      'claimed_amount_planck',
      'beneficiary',
      'description',
    ),
  ).toEqual([
    [0, 0, 'Claimed', '8000000000000', '500000000000', '7500000000000', EVE, 'French'],
    [0, 1, 'Canceled', '6000000000000', '400000000000', null, null, 'Finnish'],
  ]);
  expect(
    columns(
      bounties,
      'parent_bounty_id',
      'bounty_status',
      'bounty_value_planck',
      'child_bounty_count',
      'child_bounties_claimed',
      'total_claimed',
      'top_beneficiary',
      'parent_bounty_start_date',
    ),
  ).toEqual([
    [0, 'Claimed', '100000000000000', 2, 1, 750, EVE, '2026-11-21'],
    [1, 'Rejected', '5000000000000', 0, 0, 0, null, '2026-11-21'],
  ]);
});
