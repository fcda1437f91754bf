import { beforeAll, describe, expect, it } from 'vitest';
import { govVoterHistory } from '../../../../aggregate/metrics/governance/gov-voter-history.ts';
import { type ShapedEvent, type ShapedExtrinsic, shapeCall } from '../../../reference/shaped.ts';
import type { Row } from '../../../support/served.ts';
import {
  ALICE,
  BOB,
  batch,
  CHARLIE,
  columns,
  computeRows,
  DAVE,
  EVE,
  nestedVote,
  standard,
  submitted,
  Writer,
} from './story.ts';

// Votes and delegations inside wrappers of newer runtimes, and of transactions whose account no block shows.

const hub = new Writer('asset-hub-polkadot', 10_600_000);
let minute = 0;
const next = () => `2026-01-11T03:${String(++minute).padStart(2, '0')}:00.000Z`;
const by = (signer: unknown, call: string, args: object, ...events: ShapedEvent[]): ShapedExtrinsic => ({
  call,
  args,
  signer,
  events,
});
const voted = (who: string, balance: string, ...index: string[]): ShapedEvent => [
  'convictionVoting.Voted',
  who,
  standard(true, 1, balance),
  ...index,
];
const delegation = (track: number, to: string) =>
  shapeCall('convictionVoting.delegate', {
    class: String(track),
    to: { id: to },
    conviction: 'Locked1x',
    balance: '50',
  });
const main: ShapedEvent = ['utility.IfElseMainSuccess'];
const fallback: ShapedEvent = ['utility.IfElseFallbackCalled', { token: 'Frozen' }];
const ok = (name: string): ShapedEvent => [name, { ok: null }];

/** A referendum on a track of its own, on which EVE has voted: whoever delegates to EVE there has a row. */
const open = (index: number) => hub.opening(next(), submitted(index, index), voted(EVE, '9', String(index)));
for (const index of [1, 2, 3, 4, 5, 6, 7, 8]) open(index);

const ifElse = (first: object, second: object) => ({ main: first, fallback: second });
hub.extrinsics(
  next(),
  by(
    BOB,
    'utility.ifElse',
    ifElse(nestedVote(1, standard(true, 1, '10')), nestedVote(1, {})),
    ...[voted(BOB, '10'), main],
  ),
  by(
    CHARLIE,
    'utility.ifElse',
    ifElse(nestedVote(8, {}), nestedVote(1, {})),
    ...[voted(CHARLIE, '11'), fallback],
  ),
  by(DAVE, 'utility.ifElse', ifElse(delegation(1, EVE), delegation(2, EVE)), main),
  by(ALICE, 'utility.ifElse', ifElse(delegation(1, EVE), delegation(2, EVE)), fallback),
);
const as = (who: string) => ({ system: { signed: who } });
hub.extrinsics(
  next(),
  by(BOB, 'utility.dispatchAsFallible', { as_origin: as(BOB), call: nestedVote(3, {}) }, voted(BOB, '30')),
  by(
    BOB,
    'utility.dispatchAsFallible',
    { as_origin: as(CHARLIE), call: delegation(3, EVE) },
    ok('utility.DispatchedAs'),
  ),
);
const remote = (call: object) => ({ real: { id: ALICE }, force_proxy_type: null, call });
hub.extrinsics(
  next(),
  by(
    BOB,
    'remoteProxyRelayChain.remoteProxyWithRegisteredProof',
    remote(delegation(4, EVE)),
    ok('proxy.ProxyExecuted'),
  ),
  by(BOB, 'remoteProxyRelayChain.remoteProxy', remote(delegation(5, EVE)), [
    'proxy.ProxyExecuted',
    { err: 'x' },
  ]),
);
hub.extrinsics(
  next(),
  by(BOB, 'recovery.controlInheritedAccount', { recovered: { id: DAVE }, call: delegation(5, EVE) }),
  by(BOB, 'recovery.controlInheritedAccount', { recovered: { id: DAVE }, call: delegation(6, EVE) }, [
    'recovery.RecoveredAccountControlled',
    DAVE,
    BOB,
    '0x',
    { err: 'x' },
  ]),
  by(BOB, 'transactionPayment.withFeePath', { fee_swap_path: [], call: delegation(6, EVE) }),
);

const dispatch = (call: object, extension: unknown = []) => ({ meta_tx: { call, extension } });
const signedBy = (account: string) => [{ signed: { signature: { ed25519: '0x' }, account } }];
const dispatched = ok('metaTx.Dispatched');
hub.extrinsics(
  next(),
  by(BOB, 'metaTx.dispatch', dispatch(delegation(7, EVE), signedBy(ALICE)), dispatched),
  by(BOB, 'metaTx.dispatch', dispatch(delegation(7, EVE)), dispatched),
  // The vote of BOB takes his event, those of unknown accounts the others in their order, and the last one none.
  batch(
    BOB,
    [
      shapeCall('metaTx.dispatch', dispatch(nestedVote(7, {}))),
      nestedVote(8, {}),
      shapeCall('metaTx.dispatch', dispatch(nestedVote(8, {}))),
      shapeCall('metaTx.dispatch', dispatch(nestedVote(6, {}))),
    ],
    [voted(CHARLIE, '70'), dispatched, voted(BOB, '80'), voted(DAVE, '81', '8'), dispatched, dispatched],
  ),
);
// A general transaction has no signer in the block.
const general = (call: string, args: object, ...events: ShapedEvent[]) => ({
  ...by(undefined, call, args, ...events),
  nonce: '4',
});
hub.extrinsics(
  next(),
  general('convictionVoting.vote', { poll_index: '4', vote: {} }, voted(CHARLIE, '40')),
  general('convictionVoting.vote', { poll_index: '5', vote: standard(true, 1, '1') }),
  general('convictionVoting.delegate', { class: '4', to: { id: EVE }, conviction: 'None', balance: '1' }),
  general('convictionVoting.undelegate', { class: '4' }),
  general('convictionVoting.removeOtherVote', { class: '3', index: '3', target: { id: BOB } }),
  general('convictionVoting.removeVote', { class: '4', index: '4' }),
);

let rows: readonly Row[];
beforeAll(async () => {
  rows = (await computeRows(hub.lines, [govVoterHistory])).rows[0] as readonly Row[];
});
/** All but the votes of EVE. */
const on = (referendum: number) =>
  columns(
    rows.filter((row) => row.referendum_index === referendum && row.voter !== EVE),
    'voter',
    'vote_type',
    'capital_planck',
    'is_final',
  );

describe('votes and delegations inside', () => {
  it('ifElse count where they ran, and what was rolled back does not', () => {
    expect(on(1)).toEqual([
      [BOB, 'Standard', '10', true],
      [CHARLIE, 'Standard', '11', true],
      [DAVE, 'Delegated', '50', true],
    ]);
    expect(on(2)).toEqual([[ALICE, 'Delegated', '50', true]]);
  });

  it('dispatchAsFallible count for the account of its origin', () => {
    expect(on(3)).toEqual([
      [BOB, 'Standard', '30', false],
      [CHARLIE, 'Delegated', '50', true],
    ]);
  });

  it('remote proxies, recovered accounts and paid fees count for the account behind them, unless they failed', () => {
    expect(on(4)).toContainEqual([ALICE, 'Delegated', '50', true]);
    expect(on(5)).toEqual([[DAVE, 'Delegated', '50', true]]);
    expect(on(6)).toEqual([[BOB, 'Delegated', '50', true]]);
  });

  it('meta transactions count for their signer', () => {
    expect(on(7)).toContainEqual([ALICE, 'Delegated', '50', true]);
  });
});

describe('of an unknown account', () => {
  it('votes are told by the events that no other call takes, in their order', () => {
    expect(on(7)).toEqual([
      [ALICE, 'Delegated', '50', true],
      [CHARLIE, 'Standard', '70', true],
    ]);
    expect(on(8)).toEqual([
      [BOB, 'Standard', '80', true],
      [DAVE, 'Standard', '81', true],
    ]);
  });

  it('only what needs no account counts', () => {
    expect(on(4)).toEqual([
      [ALICE, 'Delegated', '50', true],
      [CHARLIE, 'Standard', '40', true],
    ]);
    expect(on(5).filter(([, type]) => type === 'Standard')).toEqual([]);
  });
});
