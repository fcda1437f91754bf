import { encodeAddress } from '../../../../ingest/chains/address.ts';
import { shapeCall } from '../../../reference/shaped.ts';
import {
  ALICE,
  BOB,
  batch,
  CHARLIE,
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
  undelegate,
  vote,
  Writer,
} from './story.ts';

// One day of votes and delegations, as input lines.

const DAY = '2024-03-01';
const relay = new Writer('polkadot');
const hub = new Writer('asset-hub-polkadot');
const moonbeam = new Writer('moonbeam');
let minute = 0;
/** The next minute of the day, over all chains. */
const next = () =>
  `${DAY}T${String(Math.floor(++minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00.000Z`;
const open = (index: number, track: number) => relay.opening(next(), submitted(index, track));

// A vote without an event, and a second vote that replaces it.
open(1, 1);
relay.extrinsics(next(), vote(ALICE, 1, standard(true, 2, '100')));
export const changed = relay.extrinsics(next(), vote(ALICE, 1, standard(false, 0, '109')));
// Events without a referendum are matched with their calls; a failed item of a batch has no event.
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
  // Of two calls one has an event: the other one did not vote.
  batch(
    CHARLIE,
    [nestedVote(2, standard(true, 1, '21')), nestedVote(3, standard(true, 1, '31'))],
    [['convictionVoting.Voted', CHARLIE, standard(true, 1, '21')]],
  ),
);
// Outside of extrinsics only an event with its referendum is complete.
open(4, 1);
relay.opening(
  next(),
  ['convictionVoting.Voted', ALICE, standard(true, 6, '40'), '4'],
  ['convictionVoting.Voted', BOB, standard(true, 6, '41')],
);
// An event of the newest form takes precedence over its call.
relay.extrinsics(
  next(),
  vote(DAVE, 5, standard(true, 1, '1'), [['convictionVoting.Voted', DAVE, standard(true, 1, '2'), '4']]),
);
// Removed before the end and after it, and votes after the end.
open(5, 1);
relay.extrinsics(
  next(),
  vote(ALICE, 5, standard(true, 1, '50')),
  vote(BOB, 5, standard(true, 1, '51')),
  vote(CHARLIE, 5, standard(true, 1, '52')),
  vote(DAVE, 5, standard(true, 1, '53')),
);
export const removed = relay.extrinsics(next(), removeVote(ALICE, 5), removeVote(DAVE, 5));
relay.extrinsics(next(), vote(DAVE, 5, standard(true, 1, '54')));
relay.extrinsics(next(), {
  ...batch(BOB, [shapeCall('convictionVoting.removeVote', { class: '1', index: '5' })], [confirmed(5)]),
});
relay.extrinsics(next(), removeVote(CHARLIE, 5), vote(EVE, 5, standard(true, 1, '55')));
// Sides of split votes; a side with 0 tokens has no row.
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
export const target = relay.extrinsics(next(), undelegate(DAVE, 7), vote(ALICE, 7, standard(false, 0, '5')));
export const again = relay.extrinsics(next(), delegate(CHARLIE, 7, ALICE, 'None', '29'));
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
// Delegations do not add to a split or removed vote.
open(8, 8);
open(9, 8);
relay.extrinsics(
  next(),
  vote(ALICE, 8, { split: { aye: '10', nay: '0' } }),
  vote(ALICE, 9, standard(true, 1, '90')),
);
relay.extrinsics(next(), removeVote(ALICE, 9));
// A proxy votes for the account behind it, and another account may remove a vote.
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
// Malformed votes: an amount, a conviction, an unknown shape.
open(11, 1);
export const misread = relay.extrinsics(
  next(),
  vote(ALICE, 11, standard(true, 1, '-1')),
  vote(BOB, 11, { standard: { vote: '0x87', balance: '1' } }),
  vote(CHARLIE, 11, standard(true, 1, '1.5')),
  { ...vote(EVE, 11, standard(true, 1, '110')), success: false },
);
export const unreadable = relay.extrinsics(
  next(),
  vote(DAVE, 11, standard(true, 1, '111'), [
    ['convictionVoting.Voted', DAVE, standard(true, 1, '111'), '11', '0'],
  ]),
);
// A referendum with votes only.
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
export const moved = hub.extrinsics(next(), vote(ALICE, 14, standard(false, 1, '142')));
export const movedDelegation = hub.extrinsics(next(), delegate(CHARLIE, 14, BOB, 'Locked6x', '143'));
hub.opening(next(), confirmed(14));
// One index is one referendum on all chains of a relay, whatever their tokens.
export const WHALE = `0x${'12'.repeat(20)}`;
moonbeam.extrinsics(next(), vote(WHALE, 16, standard(true, 1, '1000000000000000000')));
relay.extrinsics(next(), vote(ALICE, 16, standard(true, 1, '160')));
// A snapshot has all delegations.
open(15, 15);
relay.extrinsics(
  next(),
  delegate(BOB, 15, ALICE, 'Locked2x', '150'),
  delegate(CHARLIE, 15, ALICE, 'Locked2x', '151'),
);
relay.extrinsics(next(), vote(ALICE, 15, standard(true, 1, '152')));
export const snapshotTime = next();
const entry = (delegator: string, balance: string, conviction = 2) => ({
  delegator,
  target: ALICE,
  track: 15,
  conviction,
  balance,
});
const snapshot = snapshotLine('delegations', snapshotTime, {
  delegations: [
    entry(BOB, '150'),
    entry(DAVE, '153', 0),
    entry(encodeAddress(`0x${'e'.repeat(64)}`, 42), '154', 6),
  ],
});
relay.extrinsics(snapshotTime, delegate(FRED, 15, ALICE, 'Locked1x', '999'));
export const after = relay.extrinsics(next(), delegate(EVE, 15, ALICE, 'Locked5x', '155'));

export const lines = [snapshot, ...moonbeam.lines, ...hub.lines, ...relay.lines];
