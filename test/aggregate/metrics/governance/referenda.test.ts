import { beforeAll, expect, it } from 'vitest';
import { govReferendumResult } from '../../../../aggregate/metrics/governance/daily-gov-referenda-results.ts';
import { type ShapedEvent, shapeCall } from '../../../reference/shaped.ts';
import type { Row } from '../../../support/served.ts';
import {
  ALICE,
  BOB,
  batch,
  columns,
  computeRows,
  confirmed,
  snapshotLine,
  standard,
  submitted,
  tally,
  vote,
  Writer,
} from './story.ts';

const relay = new Writer('polkadot', 100);
const hub = new Writer('asset-hub-polkadot', 7000);
const fellowship = new Writer('collectives-polkadot');
const day = (n: number, time = '12:00:00') => `2024-03-${String(n).padStart(2, '0')}T${time}.000Z`;

const PREIMAGE = { lookup: { hash: `0x${'AB'.repeat(32)}`, len: '9' } };
const submit = (proposal_origin: unknown) =>
  shapeCall('referenda.submit', { proposal_origin, proposal: PREIMAGE, enactment_moment: { after: '1' } });
const started = (index: number, track: number, of: object): ShapedEvent => [
  'referenda.DecisionStarted',
  String(index),
  String(track),
  PREIMAGE,
  of,
];
const ended = (name: string, index: number, of: object): ShapedEvent => [
  `referenda.${name}`,
  String(index),
  of,
];

// All steps of a referendum, over two chains, with an aborted confirmation and a repeated approval.
const birth = relay.extrinsics(day(1), {
  call: 'referenda.submit',
  args: { proposal_origin: { origins: 'SmallTipper' }, proposal: PREIMAGE, enactment_moment: { after: '1' } },
  signer: ALICE,
  events: [['referenda.Submitted', '1', '30', PREIMAGE]],
});
relay.opening(day(2), ['referenda.DecisionDepositPlaced', '1', BOB, '1000000000000']);
const first = relay.opening(day(3), started(1, 30, tally('10', '5', '4')));
relay.opening(day(4), ['referenda.ConfirmStarted', '1']);
relay.opening(
  day(5),
  ['referenda.ConfirmAborted', '1'],
  ['referenda.DecisionDepositPlaced', '1', ALICE, '2000000000000'],
);
const second = hub.opening(day(6), started(1, 30, tally('11', '5', '4')));
const confirming = hub.opening(day(7), ['referenda.ConfirmStarted', '1']);
const end = hub.opening(day(8), ended('Confirmed', 1, tally('20000000001', '10000000000', '300')));
relay.opening(
  day(9),
  ['referenda.Approved', '1'],
  ['referenda.DecisionDepositRefunded', '1', BOB, '2000000000000'],
);
// Two submissions in one batch through a proxy, with origins that their track does not determine.
relay.extrinsics(day(10), {
  call: 'proxy.proxy',
  args: {
    real: { id: BOB },
    call: shapeCall('utility.batchAll', {
      calls: [submit({ system: { root: null } }), submit({ origins: { bigSpender: null } })],
    }),
  },
  signer: ALICE,
  events: [
    ['referenda.Submitted', '2', '33', { legacy: { hash_: `0x${'cd'.repeat(32)}` } }],
    ['referenda.Submitted', '3', '33', { inline: '0x0001' }],
    ['utility.BatchCompleted'],
    ['proxy.ProxyExecuted', { ok: null }],
  ],
});
// From the scheduler, without a call: the origin of the track in the newest snapshot, else in the built-in table.
relay.opening(day(11), submitted(4, 31), submitted(5, 32), submitted(6, 99));
// Every outcome, and events after it.
relay.opening(day(12), submitted(7, 0), submitted(8, 0), submitted(9, 0), submitted(10, 0), submitted(11, 0));
relay.opening(
  day(13),
  ended('Rejected', 7, tally('1', '3', '1')),
  ended('TimedOut', 8, tally('0', '0', '0')),
  ended('Cancelled', 9, tally('0', '1', '0')),
  ended('Killed', 10, tally('1', '0', '0')),
  ['referenda.Approved', '11'],
);
// Known only from the start of its decision, or only from its end.
relay.opening(day(14), started(12, 15, tally('1', '1', '1')));
relay.opening(day(14), confirmed(13));
// An event with a malformed field is refused.
const wrong = relay.opening(
  day(15),
  ['referenda.Submitted', '14', '0'],
  ['referenda.DecisionDepositPlaced', '4', BOB, '-5'],
  ['referenda.Rejected', '4', ...Array.from({ length: 40 }, () => '1')],
);
const untold = relay.opening(day(15), ended('Rejected', 5, { ayes: '1', nays: '1.5', support: '0' }));
// Referenda of the fellowship do not count, and votes alone do not create a referendum.
fellowship.opening(day(16), ['fellowshipReferenda.Submitted', '15', '1', PREIMAGE]);
relay.extrinsics(day(16), vote(ALICE, 16, standard(true, 1, '1')), batch(ALICE, [], []));

const lines = [
  snapshotLine('track_table', day(2), { tracks: [{ id: 31, name: 'old', origin: 'Old' }] }),
  snapshotLine(
    'track_table',
    day(20),
    { tracks: [{ id: 31, name: 'new', origin: 'New' }] },
    'asset-hub-polkadot',
  ),
  snapshotLine('issuance', day(5), { total: '2000', inactive: '500' }),
  snapshotLine('issuance', day(9), { total: '7', inactive: '0' }),
  ...hub.lines,
  ...fellowship.lines,
  ...relay.lines,
];

let rows: readonly Row[];
let refused: readonly string[];
beforeAll(async () => {
  const all = await computeRows(lines, [govReferendumResult]);
  rows = all.rows[0] as readonly Row[];
  refused = all.refused;
});
const of = (...indexes: number[]) =>
  rows.filter(({ referendum_index }) => indexes.includes(Number(referendum_index)));

it('a referendum that moved is one row with the fields of all its events, under the chain of its newest event', () => {
  expect(of(1)).toEqual([
    {
      relay_chain: 'polkadot',
      chain: 'asset-hub-polkadot',
      referendum_index: 1,
      track: 30,
      origin: 'SmallTipper',
      ayes: 2.0000000001,
      ayes_planck: '20000000001',
      nays: 1,
      nays_planck: '10000000000',
      support: 3e-8,
      support_planck: '300',
      approval: 20000000001 / 30000000001,
      turnout_pct: 20,
      outcome: 'Approved',
      submitted_block: birth.number,
      end_block: end.number,
      start_date: '2024-03-01',
      end_date: '2024-03-08',
      deciding_block: second.number,
      confirm_block: confirming.number,
      decision_deposit: 200,
      decision_deposit_planck: '2000000000000',
      submitter: ALICE,
      proposal_hash: `0x${'ab'.repeat(32)}`,
    },
  ]);
  expect(second.number).not.toBe(first.number);
});

it('origin and submitter are those of the executed call of the submission', () => {
  expect(columns(of(2, 3), 'origin', 'track', 'submitter', 'proposal_hash')).toEqual([
    ['Root', 33, BOB, `0x${'cd'.repeat(32)}`],
    // blake2b-256 of the bytes 00 01
    ['BigSpender', 33, BOB, '0x01cf79da4945c370c68b265ef70641aaa65eaa8f5953e3900d97724c2c5aa095'],
  ]);
});

it('without a call the origin is that of the newest track table, else of the built-in one, else null', () => {
  expect(columns(of(4, 5, 6), 'origin', 'submitter')).toEqual([
    ['New', null],
    ['SmallSpender', null],
    [null, null],
  ]);
});

it('the first outcome counts; without one it is ongoing', () => {
  const names = ['outcome', 'ayes_planck', 'approval', 'end_date'];
  expect(columns(of(4, 7, 8, 9, 10, 11), ...names)).toEqual([
    ['Ongoing', null, null, null],
    ['Rejected', '1', 0.25, '2024-03-13'],
    ['TimedOut', '0', null, '2024-03-13'],
    ['Cancelled', '0', 0, '2024-03-13'],
    ['Killed', '1', 1, '2024-03-13'],
    ['Approved', null, null, '2024-03-13'],
  ]);
});

it('a referendum without a known submission has a row', () => {
  expect(columns(of(12, 13), 'track', 'origin', 'submitted_block', 'start_date', 'outcome')).toEqual([
    [15, 'AuctionAdmin', null, null, 'Ongoing'],
    [null, null, null, null, 'Approved'],
  ]);
});

it('events with other fields or malformed amounts are refused, and votes and the fellowship create no referendum', () => {
  expect(refused).toEqual([wrong, wrong, wrong, untold].map(({ number }) => `polkadot ${number}`));
  expect(columns(of(4, 5), 'decision_deposit', 'outcome')).toEqual([
    [null, 'Ongoing'],
    [null, 'Ongoing'],
  ]);
  expect(of(14, 15, 16)).toEqual([]);
});
