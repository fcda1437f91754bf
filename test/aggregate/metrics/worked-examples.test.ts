import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ShapedBlock, ShapedEvent } from '../../reference/shaped.ts';
import {
  blockOf,
  coretimeConfig,
  openServed,
  type Served,
  saleInitialized,
  snapshot,
} from './coretime/served.ts';
import { standard, submitted, tally, vote } from './governance/story.ts';
import { ALICE, BOB, CHARLIE_GENERIC } from './shapes/shape.ts';

// Numbers that were computed by hand from the specification.

const DOT = 10n ** 10n;
const planck = (tokens: bigint) => (tokens * DOT).toString();

let served: Served;
let height = 100;

/** Ten relay blocks of a day with this number of included candidates in all. */
function relayDay(date: string, candidates: number): readonly ShapedBlock[] {
  return Array.from({ length: 10 }, (_, index) => {
    const count = Math.floor(candidates / 10) + (index < candidates % 10 ? 1 : 0);
    const opening = Array.from({ length: count }, (_, core): ShapedEvent => {
      const receipt = { descriptor: { paraId: String(2000 + core) } };
      return ['paraInclusion.CandidateIncluded', receipt, '0x', String(core), '0'];
    });
    return { number: height++, time: `${date}T12:00:${String(index * 6).padStart(2, '0')}.000Z`, opening };
  });
}

const CORETIME = 'coretime-polkadot';
const relay = (block: ShapedBlock) => blockOf('polkadot', block);
const referendum: readonly ShapedBlock[] = [
  {
    number: 10,
    time: '2025-11-10T10:00:00.000Z',
    opening: [submitted(0, 0)],
    extrinsics: [
      vote(ALICE, 0, standard(true, 3, planck(1000n))),
      vote(BOB, 0, standard(true, 0, planck(1000n))),
      vote(CHARLIE_GENERIC, 0, { splitAbstain: { aye: planck(60n), nay: planck(40n), abstain: '0' } }),
    ],
  },
  {
    number: 11,
    time: '2025-11-11T10:00:00.000Z',
    opening: [
      ['referenda.Confirmed', '0', tally(planck(3000n + 100n + 6n), planck(4n), planck(1000n + 1000n + 60n))],
    ],
  },
];

/** Blocks without an event for fees: deposits show who received them. */
const shared: ShapedBlock = {
  number: 1,
  time: '2025-11-01T10:00:00.000Z',
  authorId: BOB,
  extrinsics: [
    {
      call: 'balances.transfer',
      signer: ALICE,
      events: [
        ['treasury.Deposit', '108000000'],
        ['balances.Deposit', BOB, '27000000'],
      ],
    },
  ],
};

beforeAll(async () => {
  served = await openServed();
  const days: readonly (readonly [string, number])[] = [
    ['2026-01-01', 257],
    ['2026-08-16', 527],
    ['2026-08-17', 697],
    ['2026-08-18', 515],
  ];
  const sale = (number: number, time: string, offered: number) =>
    blockOf(CORETIME, {
      number,
      time,
      opening: [saleInitialized({ begin: number, end: number + 1, offered })],
    });
  await served.ingest(
    ...referendum.map(relay),
    ...days.flatMap(([date, candidates]) => relayDay(date, candidates)).map(relay),
    sale(1, '2025-12-31T00:00:00.000Z', 72),
    sale(2, '2026-08-01T00:00:00.000Z', 81),
    snapshot('coretime_config', CORETIME, '2025-12-31T00:00:00.000Z', coretimeConfig({}, 5)),
    relay(shared),
  );
});
afterAll(() => served.close());

it('cores in use: 25.7 of 72 + 5, and 52.7, 69.7 and 51.5 of 81 + 5', async () => {
  const rows = await served.fields(
    '/api/coretime-utilization?start_date=2026-01-01',
    ...['date', 'cores_offered', 'system_cores', 'cores_available', 'avg_cores_used'],
  );
  expect(rows).toEqual([
    ['2026-01-01', 72, 5, 77, 25.7],
    ['2026-08-16', 81, 5, 86, 52.7],
    ['2026-08-17', 81, 5, 86, 69.7],
    ['2026-08-18', 81, 5, 86, 51.5],
  ]);
  const shares = await served.fields('/api/coretime-utilization?start_date=2026-08-16', 'utilization');
  expect(shares.map(([share]) => Number(share).toFixed(3))).toEqual(['0.613', '0.810', '0.599']);
});

describe('votes on a referendum', () => {
  it('1,000 locked three times are 3,000, without a lock 100; a split of 60 and 40 is 6 and 4', async () => {
    const rows = await served.fields(
      '/api/gov-voter-history?referendum_index=0',
      ...['vote_type', 'vote_direction', 'conviction', 'capital', 'votes'],
    );
    expect(rows.toSorted()).toEqual([
      ['SplitAbstain', 'aye', 0.1, 60, 6],
      ['SplitAbstain', 'nay', 0.1, 40, 4],
      ['Standard', 'aye', 0.1, 1000, 100],
      ['Standard', 'aye', 3, 1000, 3000],
    ]);
  });

  it('add up to the tally: 3,106 ayes, 4 nays, a support of 2,060', async () => {
    expect(
      await served.fields('/api/daily-gov-referenda-results', 'outcome', 'ayes', 'nays', 'support'),
    ).toEqual([['Approved', 3106, 4, 2060]]);
  });
});

it('a fee of 108,000,000 for the treasury and 27,000,000 for the author is 135,000,000', async () => {
  const fields = ['date', 'total_fees_planck', 'total_fees', 'num_fee_paying', 'fee_unknown'];
  expect(await served.fields('/api/daily-fees?chain=polkadot&end_date=2025-11-01', ...fields)).toEqual([
    ['2025-11-01', '135000000', 0.0135, 1, 0],
  ]);
});
