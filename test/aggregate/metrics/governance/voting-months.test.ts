import { beforeAll, describe, expect, it } from 'vitest';
import { monthlyGovParticipation } from '../../../../aggregate/metrics/governance/monthly-gov-participation.ts';
import { monthlyGovTokens } from '../../../../aggregate/metrics/governance/monthly-gov-tokens.ts';
import type { Row } from '../../../support/served.ts';
import {
  ALICE,
  BOB,
  CHARLIE,
  columns,
  computeRows,
  confirmed,
  DAVE,
  delegate,
  EVE,
  FRED,
  removeVote,
  snapshotLine,
  standard,
  submitted,
  undelegate,
  vote,
  Writer,
} from './story.ts';

const relay = new Writer('polkadot');
const hub = new Writer('asset-hub-polkadot');
const aye = (balance: string, conviction = 1) => standard(true, conviction, balance);
const nay = (balance: string, conviction = 1) => standard(false, conviction, balance);

// January: changed, removed and split votes.
relay.opening('2024-01-01T00:00:00.000Z', submitted(1, 1), submitted(2, 1), submitted(3, 2), submitted(4, 1));
relay.extrinsics(
  '2024-01-02T00:00:00.000Z',
  vote(ALICE, 1, nay('10')),
  vote(BOB, 1, aye('20')),
  vote(CHARLIE, 2, aye('30')),
);
relay.extrinsics(
  '2024-01-03T00:00:00.000Z',
  vote(ALICE, 1, aye('11', 2)),
  removeVote(CHARLIE, 2),
  removeVote(BOB, 1),
);
relay.extrinsics(
  '2024-01-04T00:00:00.000Z',
  vote(BOB, 1, { splitAbstain: { aye: '0', nay: '25', abstain: '39' } }),
);
relay.extrinsics('2024-01-31T23:59:59.999Z', vote(DAVE, 2, nay('40', 6)));
// February: Bob removes his vote, too late for January. There are no votes on the relay chain.
relay.extrinsics('2024-02-01T00:00:00.000Z', removeVote(BOB, 1), vote(EVE, 99, aye('1')));
// Delegations: Fred begins under Dave's vote on 2, Bob under Alice's on 1 and before hers on 2, and Bob leaves again.
hub.extrinsics(
  '2024-02-02T00:00:00.000Z',
  delegate(FRED, 1, DAVE, 'Locked2x', '50'),
  delegate(BOB, 1, ALICE, 'None', '60'),
  delegate(EVE, 2, ALICE, 'Locked1x', '70'),
);
hub.extrinsics(
  '2024-02-03T00:00:00.000Z',
  vote(ALICE, 2, aye('80')),
  vote(ALICE, 4, { split: { aye: '1', nay: '1' } }),
);
hub.extrinsics('2024-02-04T00:00:00.000Z', undelegate(BOB, 1));
// March: the delegation counts at the end of its referendum, though it is removed in the same month.
relay.extrinsics('2024-03-01T00:00:00.000Z', vote(DAVE, 2, aye('41')), vote(CHARLIE, 1, nay('90')));
relay.opening('2024-03-02T00:00:00.000Z', confirmed(2), confirmed(1));
relay.extrinsics(
  '2024-03-03T00:00:00.000Z',
  undelegate(FRED, 1),
  removeVote(CHARLIE, 1),
  vote(BOB, 1, aye('100')),
);
// April: a snapshot adds a delegation, and repeats one that has already taken effect.
relay.opening('2024-04-01T00:00:00.000Z', submitted(5, 5));
relay.extrinsics('2024-04-02T00:00:00.000Z', delegate(BOB, 5, ALICE, 'Locked1x', '110'));
relay.extrinsics('2024-04-03T00:00:00.000Z', vote(ALICE, 5, nay('120')));
const entry = (delegator: string, balance: string) => ({
  delegator,
  target: ALICE,
  track: 5,
  conviction: 1,
  balance,
});
const delegations = [entry(BOB, '110'), entry(CHARLIE, '130')];
const snapshots = [
  snapshotLine('delegations', '2024-04-04T00:00:00.000Z', { delegations }, 'asset-hub-polkadot'),
  snapshotLine('delegations', '2024-05-04T00:00:00.000Z', { delegations: delegations.slice(0, 1) }),
];
relay.opening('2024-06-01T00:00:00.000Z', ['referenda.ConfirmStarted', '5']);

let participation: readonly Row[];
let tokens: readonly Row[];
beforeAll(async () => {
  const all = await computeRows(
    [...snapshots, ...hub.lines, ...relay.lines],
    [monthlyGovParticipation, monthlyGovTokens],
  );
  [participation, tokens] = all.rows as [readonly Row[], readonly Row[]];
});
const RELAY = 'polkadot';
const HUB = 'asset-hub-polkadot';
const taking = (month: string) =>
  columns(
    participation.filter((row) => row.month === month),
    'chain',
    'vote_type',
    'number_of_voters',
    'number_of_referenda',
  );
const behind = (month: string) =>
  columns(
    tokens.filter((row) => row.month === month),
    'chain',
    'vote_type',
    'vote_direction',
    'capital_planck',
    'votes_planck',
    'number_of_votes',
  );

describe('direct votes', () => {
  it('an account that cast, changed or removed a vote participated', () => {
    expect(taking('2024-01-31')).toEqual([
      [RELAY, 'delegated', 0, 0],
      [RELAY, 'direct', 4, 2],
    ]);
  });

  it('the last vote of the month counts on each of its sides, unless it was removed in the month', () => {
    expect(behind('2024-01-31')).toEqual([
      [RELAY, 'direct', 'abstain', '39', '3', 1],
      [RELAY, 'direct', 'aye', '11', '22', 1],
      [RELAY, 'direct', 'nay', String(25 + 40), String(2 + 240), 2],
    ]);
  });

  it('removals and votes after the end of the referendum change nothing', () => {
    expect(behind('2024-03-31').filter(([, type]) => type === 'direct')).toEqual([
      [RELAY, 'direct', 'aye', '41', '41', 1],
      [RELAY, 'direct', 'nay', '90', '90', 1],
    ]);
  });
});

describe('delegations', () => {
  it('take effect when their target has a standard vote, or casts one', () => {
    expect(taking('2024-02-29')).toEqual([
      [HUB, 'delegated', 2, 2],
      [HUB, 'direct', 1, 2],
      [RELAY, 'delegated', 0, 0],
      [RELAY, 'direct', 1, 1],
    ]);
  });

  it('count on the side of their target as they are at the end of the month', () => {
    expect(behind('2024-02-29').filter(([, type]) => type === 'delegated')).toEqual([
      [HUB, 'delegated', 'nay', '50', '100', 1],
    ]);
  });

  it('count as they are when the referendum ends', () => {
    expect(taking('2024-03-31')).toContainEqual([RELAY, 'delegated', 1, 1]);
    expect(behind('2024-03-31')).toContainEqual([RELAY, 'delegated', 'aye', '50', '100', 1]);
  });

  it('begin with a snapshot that adds them, in its chain, and not with one that repeats them', () => {
    expect(taking('2024-04-30')).toEqual([
      [HUB, 'delegated', 1, 1],
      [HUB, 'direct', 0, 0],
      [RELAY, 'delegated', 1, 1],
      [RELAY, 'direct', 1, 1],
    ]);
    expect(behind('2024-04-30')).toEqual([
      [HUB, 'delegated', 'nay', '130', '130', 1],
      [RELAY, 'delegated', 'nay', '110', '110', 1],
      [RELAY, 'direct', 'nay', '120', '120', 1],
    ]);
    expect(taking('2024-05-31')).toEqual([]);
  });
});

it('amounts are also in native tokens', () => {
  expect(tokens[0]).toEqual({
    relay_chain: 'polkadot',
    chain: RELAY,
    month: '2024-01-31',
    vote_type: 'direct',
    vote_direction: 'abstain',
    capital: 3.9e-9,
    capital_planck: '39',
    votes: 3e-10,
    votes_planck: '3',
    number_of_votes: 1,
  });
});
