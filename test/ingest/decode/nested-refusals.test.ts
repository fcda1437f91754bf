import { expect, test } from 'vitest';
import { sql } from '../../../infra/sql.ts';
import { readBrokerEvent } from '../../../ingest/decode/broker.ts';
import { events, refusedFacts } from '../../../ingest/raw/tables.ts';
import { openIngesting, rowsOf } from '../ingesting.ts';
import { ALICE, madeBlock, madeEvent, madeExtrinsic } from '../made.ts';

const MASK = `0x${'ff'.repeat(10)}`;
const REGION = { begin: '100', core: '3', mask: MASK };
const ASSIGNMENTS = [
  { task: '2000' },
  { Task: 2000 },
  { task: '0x7d0' },
  { pool: null },
  { Pool: [] },
  'Pool',
  'idle',
  { idle: null },
  { task: '-1' },
  { task: null },
  { task: {} },
  { task: '9007199254740993' },
  { task: '2000', pool: null },
  'task',
  'Other',
  { other: null },
  {},
  [],
  ['pool'],
  [{ task: 1 }],
  null,
  7,
];
const WORKLOADS = [
  ...ASSIGNMENTS.map((assignment) => [{ mask: MASK, assignment }]),
  ...[MASK.toUpperCase(), '0xff', 'x', null, 7, {}].map((mask) => [{ mask, assignment: 'pool' }]),
  [{ mask: MASK, assignment: 'pool' }, { mask: MASK }],
  [{ mask: MASK, assignment: 'pool', more: 1 }],
  [],
  [null],
  [[]],
  ['x'],
  {},
  'x',
  '',
  null,
  7,
];
const OWNERS = [
  null,
  ALICE,
  { id: ALICE },
  `0x${'12'.repeat(32)}`,
  `0x${'ab'.repeat(20)}`,
  '',
  'x',
  '0x',
  `0x${'zz'.repeat(32)}`,
  {},
  [],
  7,
  { index: '7' },
];

test('an event of the broker is refused where it cannot be read, and nowhere else', async () => {
  const ingesting = await openIngesting();
  const made = [
    ...WORKLOADS.map((workload) => madeEvent('broker.Renewed', ALICE, '5', '1', '2', '100', '50', workload)),
    ...OWNERS.flatMap((owner) => [
      madeEvent('broker.Transferred', REGION, '50', owner, ALICE),
      madeEvent('broker.Transferred', REGION, '50', ALICE, owner),
    ]),
  ];
  await ingesting.take('coretime-polkadot.ndjson', [
    madeBlock(1, [madeExtrinsic('system.remark', { events: made })]),
  ]);
  const stored = await rowsOf<{ event: string; data: string[]; refused: string }>(
    ingesting,
    sql`SELECT event, data, refusal.reason AS refused FROM ${events}
      LEFT JOIN (SELECT toUInt32(splitByChar(' ', fact)[2]) AS event_index, reason FROM ${refusedFacts}) AS refusal USING (event_index)
      WHERE pallet = 'broker' ORDER BY event_index`,
  );
  expect(stored.length).toBe(made.length);
  for (const { event, data, refused } of stored) {
    expect(refused === '', `${event} ${JSON.stringify(data)}: ${refused}`).toBe(
      readBrokerEvent(event, data) !== null,
    );
  }
  expect([...new Set(stored.map(({ refused }) => refused))].sort()).toEqual([
    '',
    'owner: neither an address nor none',
    'workload: not masks with assignments',
  ]);
  await ingesting.close();
});

const VOTE = { Standard: { vote: '0x81', balance: '5' } };
const TERMS = { class: '3', to: { id: ALICE }, conviction: 'Locked1x', balance: '5' };
const NO_NUMBER = 'not a whole number';
/** Calls on votes and bounties, each with the reason that is told of it. */
const CALLS: readonly (readonly [call: string, args: object, reason: string])[] = [
  ['convictionVoting.vote', { poll_index: '7', vote: VOTE }, ''],
  ['convictionVoting.vote', { poll_index: 7, vote: VOTE }, ''],
  ['convictionVoting.vote', { poll_index: '-7', vote: VOTE }, `poll_index: ${NO_NUMBER}`],
  ['convictionVoting.vote', { vote: VOTE }, `poll_index: ${NO_NUMBER}`],
  [
    'convictionVoting.vote',
    { poll_index: '7', vote: 'x' },
    'vote: of no known kind, or with a part that cannot be read',
  ],
  ['convictionVoting.removeVote', { class: '3', index: '7' }, ''],
  ['convictionVoting.removeVote', { class: null, index: {} }, `index: ${NO_NUMBER}`],
  ['convictionVoting.removeOtherVote', { target: ALICE, class: '3', index: '7' }, ''],
  [
    'convictionVoting.removeOtherVote',
    { target: { index: '7' }, class: '3', index: '7' },
    'target: not an address',
  ],
  ['convictionVoting.delegate', TERMS, ''],
  ['convictionVoting.delegate', { ...TERMS, class: '3.5' }, `class: ${NO_NUMBER}`],
  ['convictionVoting.delegate', { ...TERMS, to: '0x12' }, 'to: not an address'],
  [
    'convictionVoting.delegate',
    { ...TERMS, balance: '-1' },
    'delegation: balance or conviction cannot be read',
  ],
  [
    'convictionVoting.delegate',
    { ...TERMS, conviction: 'x' },
    'delegation: balance or conviction cannot be read',
  ],
  ['convictionVoting.undelegate', { class: '3' }, ''],
  ['convictionVoting.undelegate', { class: [] }, `class: ${NO_NUMBER}`],
  ['bounties.proposeCurator', { bounty_id: '1', curator: { Id: ALICE }, fee: '5' }, ''],
  ['bounties.proposeCurator', { bounty_id: '1', curator: 'x', fee: '5' }, 'curator: not an address'],
  [
    'bounties.proposeCurator',
    { bounty_id: '1', curator: ALICE, fee: 'x' },
    'amount: not an unsigned integer',
  ],
  ['bounties.proposeCurator', { curator: ALICE, fee: '5' }, `bounty_id: ${NO_NUMBER}`],
  ['childBounties.acceptCurator', { parent_bounty_id: '1', child_bounty_id: '2' }, ''],
  ['childBounties.acceptCurator', { parent_bounty_id: '1' }, `child_bounty_id: ${NO_NUMBER}`],
  ['childBounties.addChildBounty', { value: '5', description: '0x' }, `parent_bounty_id: ${NO_NUMBER}`],
];

test('a call on votes or bounties is refused with the argument that cannot be read', async () => {
  const ingesting = await openIngesting();
  const success = [madeEvent('system.ExtrinsicSuccess', { class: 'Normal' })];
  const made = CALLS.map(([call, args]) =>
    madeExtrinsic(call, {
      args,
      signature: { signer: { id: ALICE } },
      events: success,
    }),
  );
  await ingesting.take('polkadot.ndjson', [madeBlock(1, made)]);
  const told = await rowsOf<{ fact: string; reason: string }>(
    ingesting,
    sql`SELECT fact, reason FROM ${refusedFacts} ORDER BY toUInt32(splitByChar(' ', fact)[2])`,
  );
  // The first extrinsic of a block tells its time.
  const expected = CALLS.flatMap(([call, , reason], i) =>
    reason === '' ? [] : [{ fact: `extrinsic ${i + 1} ${call}`, reason }],
  );
  expect(told).toEqual(expected);
  await ingesting.close();
});
