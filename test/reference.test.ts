import { Transaction } from 'micro-eth-signer';
import { describe, expect, it } from 'vitest';
import { HAND_COUNTS } from './reference/hand.ts';
import { readLines } from './reference/input.ts';
import { dailyFees } from './reference/metrics/daily-fees.ts';
import { dailySummary } from './reference/metrics/daily-summary.ts';
import { dailyTps } from './reference/metrics/daily-tps.ts';
import { dailyUptime } from './reference/metrics/daily-uptime.ts';
import { explorerNetworkStats } from './reference/metrics/explorer-network-stats.ts';
import { monthlyUniqueAccounts } from './reference/metrics/monthly-unique-accounts.ts';
import { recentExtrinsics } from './reference/metrics/recent-extrinsics.ts';
import { quotient } from './reference/numbers.ts';
import { recordedBlock } from './reference/recorded.ts';
import { readBlocks, readDocuments, type ShapedBlock, shapeBlock, shapeCall } from './reference/shaped.ts';

const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
const ALICE_GENERIC = '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY';
const BOB_GENERIC = '5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty';

describe('recorded blocks', () => {
  it.each(HAND_COUNTS)('$chain $number: $note', ({ folder, chain, number, ...count }) => {
    const input = readLines([{ line: recordedBlock(folder, chain, number), chain }]);
    expect(input.refusedLines).toEqual([]);
    expect(input.refusedFacts).toEqual([]);
    const summary = dailySummary(input).find((row) => row.chain === chain);
    const fees = dailyFees(input).find((row) => row.chain === chain);
    if (!count.isTimed) {
      expect([summary, fees]).toEqual([undefined, undefined]);
      expect(input.blocks).toMatchObject([{ time: null, eventCount: count.events }]);
      return;
    }
    expect(fees?.total_fees_planck).toBe(count.feesPlanck);
    expect(summary).toMatchObject({
      num_extrinsics: count.extrinsics,
      num_events: count.events,
      num_transactions_signed: count.signed,
      evm_num_transactions: count.evm,
      num_transfers: count.transfers,
      num_new_accounts: count.newAccounts,
      num_killed_accounts: count.killedAccounts,
      num_xcm_messages: count.xcmMessages,
      num_xcm_transferred: count.xcmTransferred,
      num_remarked: count.remarked,
      num_extrinsic_success: count.succeeded,
      num_extrinsic_failed: count.failed,
    });
  });
});

describe('which block wins a height', () => {
  const at = (fields: object) => ({ ...shapeBlock({ number: 7, time: '2026-01-01T00:00:00Z' }), ...fields });
  const envelope = (hash: string, fields: object = {}) => ({
    schema: 'block/1',
    chain: 'polkadot',
    payload: at({ hash }),
    ...fields,
  });

  it.each([
    ['the later of two', [at({ hash: '0xa' }), at({ hash: '0xb' })], ['0xb']],
    [
      'a final one before a later provisional one',
      [at({ hash: '0xa' }), at({ hash: '0xb', finalized: false })],
      ['0xa'],
    ],
    [
      'the higher version, beyond what a double tells apart',
      [
        envelope('0xa', { version: '9223372036854775810' }),
        envelope('0xb', { version: '9223372036854775809' }),
      ],
      ['0xa'],
    ],
    ['none after a tombstone', [at({ hash: '0xa' }), envelope('0xa', { is_deleted: 1 })], []],
  ])('%s', (_title, documents, hashes) => {
    expect(readDocuments(documents).blocks.map(({ hash }) => hash)).toEqual(hashes);
  });
});

describe('rules that recordings do not show', () => {
  it('reads completion events of nested wrappers from the last to the first', () => {
    const remark = shapeCall('system.remark', { remark: '0x' });
    const batch = (...calls: object[]) => shapeCall('utility.batch', { calls });
    const calls = [
      batch(remark, remark, remark),
      shapeCall('proxy.proxy', { real: BOB_GENERIC, call: batch(remark) }),
      remark,
    ];
    const input = readBlocks([
      {
        number: 1,
        time: '2026-01-01T00:00:00Z',
        extrinsics: [
          {
            call: 'utility.batchAll',
            args: { calls },
            signer: { id: ALICE },
            events: [
              ['utility.ItemCompleted'],
              ['utility.BatchInterrupted', '1', {}],
              ['utility.ItemCompleted'],
              ['proxy.ProxyExecuted', { err: {} }],
              ['utility.ItemCompleted'],
              ['utility.ItemCompleted'],
              ['utility.BatchCompleted'],
            ],
          },
        ],
      },
    ]);
    expect(dailySummary(input).at(-1)).toMatchObject({ chain: 'polkadot', num_remarked: 2, fees: null });
    expect(dailyFees(input).at(-1)).toMatchObject({ fee_unknown: 1, num_fee_paying: 0, avg_fee: null });
  });

  it.each(['legacy', 'eip2930', 'eip1559'] as const)('recovers the sender of a %s transaction', (type) => {
    const to = '0xdf90dea0e0bf5ca6d2a7f0cb86874ba6714f463e';
    const price = type === 'eip1559' ? { maxFeePerGas: 10n ** 10n } : { gasPrice: 10n ** 10n };
    const signed = Transaction.prepare({ type, to, value: 1n, nonce: 0n, ...price } as never).signBy(
      '11'.repeat(32),
    );
    const payload = signed.toHex();
    const input = readBlocks(
      [
        {
          number: 1,
          time: '2026-01-01T00:00:00Z',
          extrinsics: [{ call: 'revive.ethTransact', args: { payload } }],
        },
      ],
      'assethub',
    );
    expect(recentExtrinsics(input)[0]).toMatchObject({
      chain: 'asset-hub-polkadot',
      signer: signed.sender.toLowerCase(),
      domain: 'Compute',
    });
    expect(dailySummary(input)[0]).toMatchObject({
      unique_evm_addresses: 2,
      evm_active: 1,
      num_accounts_active_signed_combined: 1,
    });
  });

  it('refuses facts of an unknown shape and keeps their events', () => {
    const input = readBlocks([
      {
        number: 1,
        time: '2026-01-01T00:00:00Z',
        opening: [
          ['balances.Transfer', ALICE, BOB_GENERIC, '1,000'],
          ['balances.Transfer', ALICE, BOB_GENERIC],
          ['balances.Transfer', ALICE, BOB_GENERIC, '0x0a', '1'],
          ['balances.Transfer', ALICE, BOB_GENERIC, 0],
        ],
      },
    ]);
    expect(input.refusedFacts).toMatchObject([{ event_index: 0 }, { event_index: 1 }]);
    expect(dailySummary(input)[0]).toMatchObject({ num_events: 5, num_transfers: 2 });
  });

  it('adds up relays by key and only in dollars', () => {
    const pay = (fee: string, signer: string) => ({
      call: 'system.remark',
      signer,
      events: [['transactionPayment.TransactionFeePaid', signer, fee, '0'] as const],
    });
    const block = (number: number, time: string, ...extrinsics: ReturnType<typeof pay>[]) =>
      shapeBlock({ number, time, extrinsics });
    const price = (as_of: string, usd: number) => ({
      schema: 'snapshot/1',
      kind: 'price',
      relay_chain: 'polkadot',
      chain: 'polkadot',
      block_number: 1,
      as_of,
      payload: { symbol: 'DOT', usd },
    });
    const documents = [
      price('2026-01-02T01:00:00Z', 9),
      price('2026-01-02T23:00:00.000Z', 0.1),
      price('2026-01-03T00:00:00Z', 7),
    ];
    const input = readLines([
      ...documents.map((document) => ({ line: JSON.stringify(document) })),
      { line: JSON.stringify(block(11, '2026-01-01T10:00:00Z', pay('5', ALICE))), chain: 'polkadot' },
      {
        line: JSON.stringify(block(12, '2026-01-02T10:00:00Z', pay('30000000000', ALICE))),
        chain: 'polkadot',
      },
      {
        line: JSON.stringify(
          block(11, '2026-01-02T10:00:59Z', pay('1', ALICE_GENERIC), pay('0', BOB_GENERIC)),
        ),
        chain: 'statemint',
      },
      { line: JSON.stringify(block(11, '2026-01-02T10:00:30Z', pay('7', BOB_GENERIC))), chain: 'astar' },
    ]);
    expect(dailyFees(input).filter(({ chain }) => chain === 'ecosystem')).toMatchObject([
      {
        date: '2026-01-01',
        total_fees: null,
        total_fees_usd: null,
        total_fees_usd_30d: null,
        priced_days_30d: 0,
        num_fee_paying: 1,
      },
      {
        date: '2026-01-02',
        total_fees_usd: 0.30000000001,
        total_fees_usd_30d: 0.30000000001,
        priced_days_30d: 1,
        num_fee_paying: 3,
      },
    ]);
    expect(dailySummary(input).at(-2)).toMatchObject({
      chain: 'ecosystem',
      fees: null,
      fees_usd: 0.30000000001,
      num_accounts_active_signed: 2,
    });
    expect(dailyTps(input).at(-2)).toMatchObject({
      chain: 'ecosystem',
      max_transactions_per_second: 4 / 60,
      max_tps_at: '2026-01-02T10:00:00.000Z',
    });
  });
});

describe('time', () => {
  const born: ShapedBlock = {
    number: 1,
    time: '2025-12-30T23:59:00Z',
    opening: [['system.NewAccount', ALICE]],
  };
  const reborn: ShapedBlock = {
    number: 2,
    time: '2026-01-02T00:00:00Z',
    opening: [
      ['system.KilledAccount', ALICE_GENERIC],
      ['system.NewAccount', BOB_GENERIC],
    ],
  };
  const input = () => readBlocks([born, reborn]);

  it('tells proven standstill from a hole', () => {
    expect(
      dailyUptime(input()).map((row) => [row.date, row.uptime_1day, row.uptime_7days, row.max_gap_seconds]),
    ).toEqual([
      ['2025-12-30', null, null, null],
      ['2025-12-31', 0, null, null],
      ['2026-01-01', 0, null, null],
      ['2026-01-02', 0, 0, 172_860],
    ]);
  });

  it('folds accounts over months', () => {
    const rows = monthlyUniqueAccounts(input()).filter(({ chain }) => chain === 'ecosystem');
    expect(rows).toMatchObject([
      { month: '2025-12-31', number_of_unique_addresses: 1, number_of_new_addresses: 1 },
      { month: '2026-01-31', number_of_unique_addresses: 1, number_of_new_addresses: 1 },
    ]);
  });

  it('looks back 24 hours from the newest block', () => {
    expect(explorerNetworkStats(input())).toMatchObject([
      { extrinsics_24h: 1, success_rate: null, latest_block: 2, as_of: '2026-01-02T00:00:00.000Z' },
    ]);
  });
});

it('rounds fractions once', () => {
  expect(quotient(1n, 3n)).toBe(1 / 3);
  // Just above the middle of two doubles, which alone would be rounded to the even one below.
  const middle = 2n ** 53n + 1n;
  expect(quotient(middle, 1n)).toBe(2 ** 53);
  expect(quotient(middle * 10n ** 40n + 1n, 10n ** 40n)).toBe(2 ** 53 + 2);
});
