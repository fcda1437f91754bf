import { beforeAll, describe, expect, it } from 'vitest';
import { govVoterHistory } from '../../../../aggregate/metrics/governance/gov-voter-history.ts';
import type { Row } from '../../../support/served.ts';
import { ALICE, BOB, CHARLIE, columns, computeRows, DAVE, EVE } from './story.ts';
import {
  after,
  again,
  changed,
  lines,
  misread,
  moved,
  movedDelegation,
  removed,
  snapshotTime,
  target,
  unreadable,
  WHALE,
} from './voter-history.blocks.ts';

let rows: readonly Row[];
let refused: readonly string[];
beforeAll(async () => {
  const all = await computeRows(lines, [govVoterHistory]);
  rows = all.rows[0] as readonly Row[];
  refused = all.refused;
});
const on = (referendum: number) => rows.filter((row) => row.referendum_index === referendum);
const sides = (referendum: number) =>
  columns(
    on(referendum),
    'voter',
    'vote_type',
    'vote_direction',
    'conviction',
    'capital_planck',
    'votes_planck',
    'is_final',
  );

describe('votes', () => {
  it('a new vote replaces the last one, and a vote without a lock counts a tenth, rounded down', () => {
    expect(on(1)).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'polkadot',
        referendum_index: 1,
        track: 1,
        voter: ALICE,
        vote_type: 'Standard',
        vote_direction: 'nay',
        conviction: 0.1,
        conviction_name: 'None',
        capital: 1.09e-8,
        capital_planck: '109',
        votes: 1e-9,
        votes_planck: '10',
        delegated_votes: 0,
        delegated_votes_planck: '0',
        delegated_capital: 0,
        delegated_capital_planck: '0',
        delegated_to: null,
        is_final: true,
        voted_at: changed.time,
        block_number: changed.number,
        extrinsic_id: `${changed.number}-1`,
      },
    ]);
  });

  it('an event without a referendum has that of the k-th call of the account', () => {
    expect(sides(2)).toEqual([
      [BOB, 'Standard', 'aye', 1, '20', '20', true],
      [CHARLIE, 'Standard', 'aye', 1, '21', '21', true],
    ]);
    expect(sides(3)).toEqual([[BOB, 'Standard', 'nay', 1, '30', '30', true]]);
  });

  it('an event with a referendum needs no call, one without is dropped outside of an extrinsic', () => {
    expect(columns(on(4), 'voter', 'capital_planck', 'extrinsic_id')).toEqual([
      [ALICE, '40', null],
      [DAVE, '2', expect.stringMatching(/-1$/)],
    ]);
  });

  it('a vote that was removed before the end keeps its rows, and later votes and removals change nothing', () => {
    expect(columns(on(5), 'voter', 'capital_planck', 'is_final')).toEqual([
      [ALICE, '50', false],
      [BOB, '51', true],
      [CHARLIE, '52', true],
      [DAVE, '54', true],
    ]);
    expect(columns(on(5).slice(0, 1), 'voted_at', 'block_number', 'extrinsic_id')).toEqual([
      [removed.time, removed.number, `${removed.number}-1`],
    ]);
  });

  it('a split vote has a row for each side that is not zero, without a lock', () => {
    expect(sides(6)).toEqual([
      [ALICE, 'Split', 'aye', 0.1, '15', '1', true],
      [ALICE, 'Split', 'nay', 0.1, '29', '2', true],
      [BOB, 'SplitAbstain', 'abstain', 0.1, '32', '3', true],
      [BOB, 'SplitAbstain', 'nay', 0.1, '19', '1', true],
      [CHARLIE, 'Standard', 'aye', 1, '60', '60', true],
    ]);
  });

  it('a proxy votes for the account behind it, and removeOtherVote removes the vote of the target', () => {
    expect(columns(on(10), 'voter', 'capital_planck', 'is_final')).toEqual([
      [ALICE, '101', false],
      [BOB, '102', true],
      [CHARLIE, '100', true],
    ]);
  });

  it('malformed and failed votes do not count', () => {
    expect(on(11)).toEqual([]);
    const places = [misread, misread, misread, unreadable].map(({ number }) => `polkadot ${number}`);
    expect(refused).toEqual(places);
  });

  it('the track is that of the submission, else of the start of the decision, else unknown', () => {
    expect(columns([...on(12), ...on(13)], 'referendum_index', 'track')).toEqual([
      [12, null],
      [13, 13],
    ]);
  });
});

describe('delegations', () => {
  const NAMES = [
    'voter',
    'vote_type',
    'vote_direction',
    'capital_planck',
    'votes_planck',
    'delegated_capital_planck',
    'delegated_votes_planck',
    'delegated_to',
    'is_final',
    'voted_at',
    'block_number',
  ];

  it('add to a standard vote on their track as they are at the end, each rounded separately', () => {
    expect(columns(on(7), ...NAMES)).toEqual([
      [ALICE, 'Standard', 'nay', '5', '0', '99', '212', null, true, target.time, target.number],
      [BOB, 'Delegated', 'nay', '70', '210', '0', '0', ALICE, true, target.time, target.number],
      [CHARLIE, 'Delegated', 'nay', '29', '2', '0', '0', ALICE, true, again.time, again.number],
    ]);
  });

  it('add nothing to a split or removed vote', () => {
    expect(columns([...on(8), ...on(9)], 'voter', 'vote_type', 'delegated_votes_planck', 'is_final')).toEqual(
      [
        [ALICE, 'Split', '0', true],
        [ALICE, 'Standard', '0', false],
      ],
    );
  });

  it('a snapshot replaces them all: repeated ones keep their start, new ones start with it', () => {
    expect(columns(on(15), 'voter', 'conviction', 'capital_planck', 'voted_at', 'block_number')).toEqual([
      [ALICE, 1, '152', expect.any(String), expect.any(Number)],
      [BOB, 2, '150', expect.any(String), expect.any(Number)],
      [DAVE, 0.1, '153', snapshotTime, null],
      [EVE, 5, '155', after.time, after.number],
    ]);
    const [alice, bob, dave] = on(15) as [Row, Row, Row];
    expect(bob.block_number).toBe(alice.block_number);
    expect([dave.extrinsic_id, alice.delegated_votes_planck]).toEqual([null, String(300 + 15 + 775)]);
  });
});

describe('chains', () => {
  it('a referendum continues on the chain that governance moves to, and a vote is under the chain where it was last cast', () => {
    expect(
      columns(on(14), 'chain', 'voter', 'vote_type', 'vote_direction', 'capital_planck', 'block_number'),
    ).toEqual([
      ['asset-hub-polkadot', ALICE, 'Standard', 'nay', '142', moved.number],
      ['asset-hub-polkadot', CHARLIE, 'Delegated', 'aye', '143', movedDelegation.number],
      ['polkadot', BOB, 'Standard', 'aye', '141', expect.any(Number)],
    ]);
  });

  it('one index is one referendum on all chains of a relay, whatever their tokens', () => {
    expect(columns(on(16), 'chain', 'voter', 'track', 'capital', 'capital_planck')).toEqual([
      ['moonbeam', WHALE, null, 1, '1000000000000000000'],
      ['polkadot', ALICE, null, 0.000000016, '160'],
    ]);
  });
});
