import { beforeAll, describe, expect, it } from 'vitest';
import { govVoterHistory } from '../../../../aggregate/metrics/governance/gov-voter-history.ts';
import { encodeAddress } from '../../../../ingest/chains/address.ts';
import { shapeCall } from '../../../reference/shaped.ts';
import type { Row } from '../../../support/served.ts';
import {
  ALICE,
  BOB,
  batch,
  CHARLIE,
  columns,
  confirmed,
  DAVE,
  delegate,
  EVE,
  FRED,
  nestedVote,
  removeVote,
  snapshotLine,
  standard,
  submitted,
  told,
  undelegate,
  vote,
  Writer,
} from './story.ts';

const DAY = '2024-03-01';
const relay = new Writer('polkadot');
const hub = new Writer('asset-hub-polkadot');
const moonbeam = new Writer('moonbeam');
let minute = 0;
/** The next minute of the day, over all chains. */
const next = () =>
  `${DAY}T${String(Math.floor(++minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00.000Z`;
const open = (index: number, track: number) => relay.opening(next(), submitted(index, track));

// A vote without an event, and another one in its place.
open(1, 1);
relay.extrinsics(next(), vote(ALICE, 1, standard(true, 2, '100')));
const changed = relay.extrinsics(next(), vote(ALICE, 1, standard(false, 0, '109')));
// Events without a referendum are told apart by their calls; an item of a batch that was refused has none.
open(2, 1);
open(3, 1);
relay.extrinsics(
  next(),
  batch(
    BOB,
    [nestedVote(2, standard(true, 1, '20')), nestedVote(3, standard(false, 1, '30'))],
    [
      ['convictionVoting.Voted', BOB, standard(true, 1, '20')],
      ['convictionVoting.Voted', BOB, standard(false, 1, '30')],
    ],
  ),
  // Of two calls one is told by an event: the other one did not vote.
  batch(
    CHARLIE,
    [nestedVote(2, standard(true, 1, '21')), nestedVote(3, standard(true, 1, '31'))],
    [['convictionVoting.Voted', CHARLIE, standard(true, 1, '21')]],
  ),
);
// Outside of extrinsics only an event with its referendum says enough.
open(4, 1);
relay.opening(
  next(),
  ['convictionVoting.Voted', ALICE, standard(true, 6, '40'), '4'],
  ['convictionVoting.Voted', BOB, standard(true, 6, '41')],
);
// An event of the newest form decides itself, whatever its call says.
relay.extrinsics(
  next(),
  vote(DAVE, 5, standard(true, 1, '1'), [['convictionVoting.Voted', DAVE, standard(true, 1, '2'), '4']]),
);
// Taken back before the end, after it, and votes that come too late.
open(5, 1);
relay.extrinsics(
  next(),
  vote(ALICE, 5, standard(true, 1, '50')),
  vote(BOB, 5, standard(true, 1, '51')),
  vote(CHARLIE, 5, standard(true, 1, '52')),
  vote(DAVE, 5, standard(true, 1, '53')),
);
const removed = relay.extrinsics(next(), removeVote(ALICE, 5), removeVote(DAVE, 5));
relay.extrinsics(next(), vote(DAVE, 5, standard(true, 1, '54')));
relay.extrinsics(next(), {
  ...batch(BOB, [shapeCall('convictionVoting.removeVote', { class: '1', index: '5' })], [confirmed(5)]),
});
relay.extrinsics(next(), removeVote(CHARLIE, 5), vote(EVE, 5, standard(true, 1, '55')));
// Sides of split votes; what is nothing has no row.
open(6, 1);
relay.extrinsics(
  next(),
  vote(ALICE, 6, { split: { aye: '15', nay: '29' } }),
  vote(BOB, 6, { splitAbstain: { aye: '0', nay: '19', abstain: '0x20' } }),
  vote(CHARLIE, 6, { Standard: { vote: { aye: true, conviction: 'Locked1x' }, balance: 60 } }),
);
// Delegations on the track of the referendum, as they are when it ends.
open(7, 7);
relay.extrinsics(
  next(),
  delegate(BOB, 7, ALICE, 'Locked3x', '70'),
  delegate(CHARLIE, 7, ALICE, { none: null }, '19'),
  delegate(DAVE, 7, ALICE, 'Locked1x', '71'),
  delegate(EVE, 8, ALICE, 'Locked1x', '72'),
);
const target = relay.extrinsics(next(), undelegate(DAVE, 7), vote(ALICE, 7, standard(false, 0, '5')));
const again = relay.extrinsics(next(), delegate(CHARLIE, 7, ALICE, 'None', '29'));
relay.extrinsics(next(), {
  ...batch(
    FRED,
    [
      shapeCall('convictionVoting.delegate', {
        class: '7',
        to: { id: ALICE },
        conviction: 'None',
        balance: '1000',
      }),
    ],
    [confirmed(7)],
  ),
});
relay.extrinsics(next(), undelegate(BOB, 7));
// A split vote and one that was taken back carry nobody.
open(8, 8);
open(9, 8);
relay.extrinsics(
  next(),
  vote(ALICE, 8, { split: { aye: '10', nay: '0' } }),
  vote(ALICE, 9, standard(true, 1, '90')),
);
relay.extrinsics(next(), removeVote(ALICE, 9));
// Who acts for another votes for them, and others may clear a vote away.
open(10, 1);
relay.extrinsics(next(), {
  call: 'proxy.proxy',
  args: { real: { id: CHARLIE }, call: nestedVote(10, standard(true, 1, '100')) },
  signer: DAVE,
  events: [
    ['convictionVoting.Voted', CHARLIE, standard(true, 1, '100')],
    ['proxy.ProxyExecuted', { ok: [] }],
  ],
});
relay.extrinsics(next(), vote(ALICE, 10, standard(true, 1, '101')), vote(BOB, 10, standard(true, 1, '102')));
relay.extrinsics(next(), {
  call: 'convictionVoting.removeOtherVote',
  args: { target: { id: ALICE }, class: '1', index: '10' },
  signer: EVE,
});
// What cannot be read is no vote: an amount, a conviction, a form that no runtime has.
open(11, 1);
const misread = relay.extrinsics(
  next(),
  vote(ALICE, 11, standard(true, 1, '-1')),
  vote(BOB, 11, { standard: { vote: '0x87', balance: '1' } }),
  vote(CHARLIE, 11, standard(true, 1, '1.5')),
  { ...vote(EVE, 11, standard(true, 1, '110')), success: false },
);
const unreadable = relay.extrinsics(
  next(),
  vote(DAVE, 11, standard(true, 1, '111'), [
    ['convictionVoting.Voted', DAVE, standard(true, 1, '111'), '11', '0'],
  ]),
);
// Known by its votes only.
relay.extrinsics(next(), vote(ALICE, 12, standard(true, 1, '120')));
// A track from the start of the decision.
relay.opening(next(), [
  'referenda.DecisionStarted',
  '13',
  '13',
  { inline: '0x' },
  { ayes: '0', nays: '0', support: '0' },
]);
relay.extrinsics(next(), vote(ALICE, 13, standard(true, 1, '130')));
// Governance moved to another chain.
open(14, 14);
relay.extrinsics(next(), vote(ALICE, 14, standard(true, 1, '140')), vote(BOB, 14, standard(true, 1, '141')));
const moved = hub.extrinsics(next(), vote(ALICE, 14, standard(false, 1, '142')));
const movedDelegation = hub.extrinsics(next(), delegate(CHARLIE, 14, BOB, 'Locked6x', '143'));
hub.opening(next(), confirmed(14));
// One index is one referendum on all chains of a relay, whatever their tokens.
const WHALE = `0x${'12'.repeat(20)}`;
moonbeam.extrinsics(next(), vote(WHALE, 16, standard(true, 1, '1000000000000000000')));
relay.extrinsics(next(), vote(ALICE, 16, standard(true, 1, '160')));
// A snapshot says all delegations there are.
open(15, 15);
relay.extrinsics(
  next(),
  delegate(BOB, 15, ALICE, 'Locked2x', '150'),
  delegate(CHARLIE, 15, ALICE, 'Locked2x', '151'),
);
relay.extrinsics(next(), vote(ALICE, 15, standard(true, 1, '152')));
const stated = next();
const entry = (delegator: string, balance: string, conviction = 2) => ({
  delegator,
  target: ALICE,
  track: 15,
  conviction,
  balance,
});
const snapshot = snapshotLine('delegations', stated, {
  delegations: [
    entry(BOB, '150'),
    entry(DAVE, '153', 0),
    entry(encodeAddress(`0x${'e'.repeat(64)}`, 42), '154', 6),
  ],
});
relay.extrinsics(stated, delegate(FRED, 15, ALICE, 'Locked1x', '999'));
const after = relay.extrinsics(next(), delegate(EVE, 15, ALICE, 'Locked5x', '155'));

let rows: readonly Row[];
let refused: readonly string[];
beforeAll(async () => {
  const all = await told([snapshot, ...moonbeam.lines, ...hub.lines, ...relay.lines], [govVoterHistory]);
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
  it('a new vote replaces the former one, and a vote without a lock counts a tenth, rounded down', () => {
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

  it('an event without a referendum takes it from the call of the same account and rank', () => {
    expect(sides(2)).toEqual([
      [BOB, 'Standard', 'aye', 1, '20', '20', true],
      [CHARLIE, 'Standard', 'aye', 1, '21', '21', true],
    ]);
    expect(sides(3)).toEqual([[BOB, 'Standard', 'nay', 1, '30', '30', true]]);
  });

  it('an event with a referendum stands on its own, one without is dropped outside of an extrinsic', () => {
    expect(columns(on(4), 'voter', 'capital_planck', 'extrinsic_id')).toEqual([
      [ALICE, '40', null],
      [DAVE, '2', expect.stringMatching(/-1$/)],
    ]);
  });

  it('a vote taken back before the end keeps its rows, and what comes after the end changes nothing', () => {
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

  it('a proxy votes for the account behind it, and who clears a vote away takes back that of another', () => {
    expect(columns(on(10), 'voter', 'capital_planck', 'is_final')).toEqual([
      [ALICE, '101', false],
      [BOB, '102', true],
      [CHARLIE, '100', true],
    ]);
  });

  it('what cannot be read is no vote, nor is what failed', () => {
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

  it('add to a standing vote on their track as they are at the end, each rounded alone', () => {
    expect(columns(on(7), ...NAMES)).toEqual([
      [ALICE, 'Standard', 'nay', '5', '0', '99', '212', null, true, target.time, target.number],
      [BOB, 'Delegated', 'nay', '70', '210', '0', '0', ALICE, true, target.time, target.number],
      [CHARLIE, 'Delegated', 'nay', '29', '2', '0', '0', ALICE, true, again.time, again.number],
    ]);
  });

  it('add nothing to a split vote or to one that was taken back', () => {
    expect(columns([...on(8), ...on(9)], 'voter', 'vote_type', 'delegated_votes_planck', 'is_final')).toEqual(
      [
        [ALICE, 'Split', '0', true],
        [ALICE, 'Standard', '0', false],
      ],
    );
  });

  it('a snapshot replaces them all: what it repeats keeps its origin, what it adds begins with it', () => {
    expect(columns(on(15), 'voter', 'conviction', 'capital_planck', 'voted_at', 'block_number')).toEqual([
      [ALICE, 1, '152', expect.any(String), expect.any(Number)],
      [BOB, 2, '150', expect.any(String), expect.any(Number)],
      [DAVE, 0.1, '153', stated, null],
      [EVE, 5, '155', after.time, after.number],
    ]);
    const [alice, bob, dave] = on(15) as [Row, Row, Row];
    expect(bob.block_number).toBe(alice.block_number);
    expect([dave.extrinsic_id, alice.delegated_votes_planck]).toEqual([null, String(300 + 15 + 775)]);
  });
});

describe('chains', () => {
  it('a referendum goes on over the chains of its governance, and a vote is under the chain of its last cast', () => {
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
