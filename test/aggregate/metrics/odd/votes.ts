import type { InputLine } from '../../../reference/input.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
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
  tally,
  undelegate,
  vote,
  Writer,
} from '../governance/story.ts';

// Edge cases of governance: malformed votes, deeply nested calls, the end of a month, the move to another chain.

const OK = { ok: null };
const ERR = { err: { badOrigin: null } };
const voted = (who: string, of: object, ...index: unknown[]): ShapedEvent => [
  'convictionVoting.Voted',
  who,
  of,
  ...index,
];
const side = (vote: unknown, balance: unknown = '5') => ({ standard: { vote, balance } });

/** Malformed votes: bytes without a conviction, unknown sides, amounts and variants. */
const NO_VOTES: readonly object[] = [
  side('0x87'),
  side('0x07'),
  side('0xff'),
  side('0x1ff'),
  side('aye'),
  side(7),
  side(null),
  side({ aye: 'yes', conviction: 'None' }),
  side({ aye: true, conviction: 'Locked7x' }),
  side({ aye: true }),
  side('0x80', '-1'),
  side('0x80', '1.5'),
  { standard: { vote: '0x80' } },
  { split: { aye: '1' } },
  { split: { aye: '1', nay: '1,000' } },
  { splitAbstain: { aye: '1', nay: '1' } },
  { other: { vote: '0x80', balance: '5' } },
  {},
];
/** Well-formed votes in all encodings. */
const VOTES: readonly object[] = [
  side('0x80', 0),
  side(131, '0x05'),
  side('6', '7'),
  side({ aye: true, conviction: 'None' }, '9'),
  side({ aye: false, conviction: { locked6x: null } }, '11'),
  { Standard: { vote: '0x00', balance: '19' } },
  { split: { aye: '60', nay: '40' } },
  { split: { aye: 0, nay: '0' } },
  { SplitAbstain: { aye: '0', nay: 9, abstain: '0x1f' } },
];

const relay = new Writer('polkadot');
relay.extrinsics('2025-01-30T10:00:00.000Z', {
  call: 'utility.batch',
  args: {
    calls: [0, 1].map(() =>
      shapeCall('referenda.submit', { proposal_origin: { origins: 'SmallTipper' }, proposal: {} }),
    ),
  },
  signer: { id: ALICE },
  // The first of two events has an unknown shape; the second call still belongs to the second event.
  events: [['referenda.Submitted', '90', '30'], submitted(1, 30), ['utility.BatchCompleted']],
});
relay.opening('2025-01-30T10:00:06.000Z', submitted(2, 0), submitted(3, 33), [
  'referenda.Submitted',
  'x',
  '0',
  {},
]);
for (const [i, of] of [...NO_VOTES, ...VOTES].entries()) {
  const minute = `2025-01-30T11:${String(i).padStart(2, '0')}`;
  relay.extrinsics(`${minute}:00.000Z`, vote(ALICE, 1, of), vote(BOB, 2, of, [voted(BOB, of)]));
  relay.extrinsics(`${minute}:06.000Z`, vote(CHARLIE, 3, of, [voted(CHARLIE, of, '3')]));
  relay.opening(`${minute}:12.000Z`, voted(DAVE, of, '3'));
}

/** Events with an unknown number of fields, beside executed calls. */
const good = standard(true, 1, '1000');
relay.extrinsics(
  '2025-01-30T12:00:00.000Z',
  vote(EVE, 1, good, [['convictionVoting.Voted', EVE]]),
  vote(EVE, 2, good, [voted(EVE, good, '2', 'more')]),
  vote(EVE, 3, good, [voted(EVE, good, 'three')]),
  batch(
    FRED,
    [nestedVote(1, good), nestedVote(2, good)],
    [voted(FRED, good, '1', 'more'), voted(FRED, good)],
  ),
  vote(FRED, 3, good, [voted(ALICE, good), voted(FRED, good)]),
);
relay.opening(
  '2025-01-30T12:00:06.000Z',
  ['referenda.ConfirmStarted'],
  ['referenda.ConfirmStarted', 'one'],
  ['referenda.Rejected', '3', { ayes: '1', nays: '1' }],
);
relay.extrinsics(
  '2025-01-30T12:01:00.000Z',
  delegate(EVE, 30, ALICE, 'Locked7x', '70'),
  delegate(EVE, 30, ALICE, null, '70'),
  delegate(EVE, 30, ALICE, { locked2x: null }, '7.5'),
  delegate(DAVE, 30, FRED, { Locked2x: null }, '75'),
  delegate(EVE, 0, FRED, 'none', 101),
);

/** All wrappers, nested; only executed calls vote, for the account on whose behalf they ran. */
const inner = (index: number, conviction = 1) => nestedVote(index, standard(false, conviction, '31'));
const nested: readonly ShapedExtrinsic[] = [
  {
    call: 'proxy.proxy',
    args: {
      real: { id: BOB },
      call: shapeCall('utility.batch', {
        calls: [
          inner(1),
          shapeCall('multisig.asMultiThreshold1', { other_signatories: [CHARLIE], call: inner(1, 2) }),
          shapeCall('utility.asDerivative', { index: '1', call: inner(1, 3) }),
          inner(2, 4),
        ],
      }),
    },
    signer: ALICE,
    events: [['utility.BatchInterrupted', '3', {}], ['proxy.ProxyExecuted', OK]],
  },
  {
    call: 'utility.forceBatch',
    args: {
      calls: [
        shapeCall('proxy.proxyAnnounced', { real: CHARLIE, call: inner(1, 5) }),
        shapeCall('proxy.proxy', { real: DAVE, call: inner(1, 6) }),
        shapeCall('scheduler.scheduleNamed', { call: inner(1, 6) }),
        shapeCall('multisig.asMulti', { call: shapeCall('utility.batchAll', { calls: [inner(2, 5)] }) }),
        shapeCall('utility.dispatchAs', { as_origin: { system: 'Root' }, call: inner(2, 6) }),
        shapeCall('sudo.sudo', { call: shapeCall('utility.withWeight', { call: inner(2, 0) }) }),
      ],
    },
    signer: { id: ALICE },
    events: [
      ['proxy.ProxyExecuted', 'Ok'],
      ['utility.ItemCompleted'],
      ['proxy.ProxyExecuted', ERR],
      ['utility.ItemCompleted'],
      ['utility.ItemCompleted'],
      ['utility.ItemCompleted'],
      ['utility.BatchCompleted'],
      ['multisig.MultisigExecuted', ALICE, { height: '1', index: '1' }, EVE, '0x', OK],
      ['utility.ItemCompleted'],
      ['utility.DispatchedAs', OK],
      ['utility.ItemCompleted'],
      ['sudo.Sudid', OK],
      ['utility.ItemCompleted'],
      ['utility.BatchCompleted'],
    ],
  },
  { call: 'utility.batch', args: { calls: [inner(1)] }, signer: FRED, outcome: false, events: [['utility.BatchCompleted']] },
  { call: 'scheduler.schedule', args: { call: inner(3) }, signer: FRED },
]; // biome-ignore format: one extrinsic, one block of lines
relay.extrinsics('2025-01-30T13:00:00.000Z', ...nested);

/** The last millisecond of a month and the first of the next, for each kind of step. */
relay.extrinsics(
  '2025-01-31T23:59:59.999Z',
  vote(ALICE, 1, standard(true, 3, '1001')),
  delegate(CHARLIE, 33, ALICE, 'Locked1x', '9'),
  removeVote(FRED, 1),
  vote(FRED, 2, { split: { aye: '3', nay: '0' } }),
);
relay.extrinsics(
  '2025-02-01T00:00:00.000Z',
  removeVote(ALICE, 1),
  vote(ALICE, 3, standard(true, 2, '55')),
  vote(EVE, 1, standard(false, 2, '55')),
  undelegate(CHARLIE, 33),
  vote(ALICE, 1, standard(true, 3, '1002')),
);
/** A snapshot of the time of a block follows the block; the delegations that it repeats keep their start. */
const stated = (...terms: object[]) => ({ delegations: terms });
const terms = (delegator: string, target: string, track: number, conviction: number, balance: string) => ({
  delegator,
  target,
  track,
  conviction,
  balance,
});
const STATE: InputLine = snapshotLine(
  'delegations',
  '2025-02-01T00:00:00.000Z',
  stated(terms(DAVE, FRED, 30, 2, '75'), terms(CHARLIE, ALICE, 30, 0, '19'), terms(BOB, ALICE, 33, 6, '1')),
);

/** Governance moves: a referendum is confirmed on one chain and approved on the other. */
relay.opening('2025-02-02T00:00:00.000Z', confirmed(1), ['referenda.Confirmed', '7', tally('0', '0', '0')]);
relay.extrinsics('2025-02-02T00:00:06.000Z', vote(DAVE, 1, good), removeVote(ALICE, 1));
const hub = new Writer('statemint');
hub.opening(
  '2025-02-02T00:00:12.000Z',
  ['referenda.Approved', '1'],
  ['referenda.Killed', '2', tally('8', '2', '9')],
);
hub.extrinsics(
  '2025-02-02T00:00:18.000Z',
  vote(BOB, 3, good, [voted(BOB, good, '3')]),
  removeVote(CHARLIE, 3),
);
hub.opening(
  '2025-02-03T00:00:00.000Z',
  ['referenda.DecisionDepositPlaced', '3', ALICE, '0x10'],
  [
    'referenda.DecisionStarted',
    '5',
    '12',
    { legacy: { hash: `0x${'AB'.repeat(32)}` } },
    tally('0', '0', '0'),
  ],
);

/** Kusama has other decimals and another address prefix. */
const kusama = new Writer('kusama');
kusama.opening('2025-01-31T00:00:00.000Z', submitted(1, 1));
kusama.extrinsics(
  '2025-01-31T00:00:06.000Z',
  vote(ALICE, 1, standard(true, 0, '1000000000019')),
  delegate(BOB, 1, ALICE, 'Locked6x', '3'),
);
kusama.opening('2025-02-01T00:00:00.000Z', confirmed(1));
const kusamaHub = new Writer('statemine');
kusamaHub.extrinsics('2025-02-01T00:00:00.000Z', vote(EVE, 1, good), vote(EVE, 2, good));

export const votes: readonly InputLine[] = [
  ...relay.lines,
  STATE,
  ...hub.lines,
  ...kusama.lines,
  ...kusamaHub.lines,
];
