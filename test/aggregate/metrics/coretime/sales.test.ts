import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALICE,
  BOB,
  blockOf,
  blockWith,
  coretimeConfig,
  LEFT,
  openServed,
  purchased,
  RIGHT,
  region,
  type Served,
  saleInitialized,
  snapshot,
  WHOLE,
} from './served.ts';

const CORETIME = 'coretime-polkadot';
const DOT = '10000000000';
const at = (day: number, time = '12:00:00') => `2026-01-${String(day).padStart(2, '0')}T${time}.000Z`;

const renewed = (who: string, begin: number, workload: unknown, price = DOT) =>
  ['broker.Renewed', who, price, '3', '4', String(begin), '100', workload] as const;

let served: Served;
beforeAll(async () => {
  served = await openServed();
  await served.ingest(
    blockWith(CORETIME, 10, at(1), [
      saleInitialized({ start: 15_500, begin: 200, end: 300, offered: 3 }),
      purchased(ALICE.anywhere, region(200, 5), '30000000000', 100),
    ]),
    // A second initialization for the same timeslices, as after a restart of the sales.
    blockWith(CORETIME, 11, at(2), [
      saleInitialized({ start: 15_500, begin: 200, end: 300, offered: 4, startPrice: '70000000000' }),
      saleInitialized({ begin: 100, end: 200, offered: 2 }),
      saleInitialized({ begin: 400, end: 500, offered: 1, endPrice: 'cheap' }),
      saleInitialized({ begin: 500, end: 600, offered: 1, startPrice: '-1' }),
    ]),
    blockOf(CORETIME, {
      number: 12,
      time: at(3),
      opening: [
        renewed(BOB.anywhere, 200, [
          { mask: LEFT, assignment: { pool: null } },
          { mask: RIGHT, assignment: { task: '4000' } },
        ]),
        renewed(ALICE.anywhere, 999, [{ mask: WHOLE, assignment: 'Idle' }], '5'),
      ],
    }),
    blockWith(CORETIME, 13, at(3, '13:00:00'), [
      purchased(ALICE.anywhere, region(200, 6), '10000000001', 100),
      // Of a sale without an initialization.
      purchased(BOB.anywhere, region(888, 6), DOT, 100),
    ]),
    // A block without a time does not count, nor does a block that another one replaces.
    blockOf(CORETIME, {
      number: 14,
      extrinsics: [
        { call: 'broker.purchase', events: [purchased(ALICE.anywhere, region(200, 7), DOT, 100)] },
      ],
    }),
    blockWith(CORETIME, 15, at(4), [purchased(ALICE.anywhere, region(200, 8), DOT, 100)]),
    blockWith('coretime-kusama', 10, at(1), [
      saleInitialized({ begin: 900, end: 1000, offered: 1 }),
      purchased(ALICE.anywhere, region(900, 0), '1500000000000', 100),
    ]),
    blockWith('coretime-westend', 10, at(1), [saleInitialized({ begin: 900, end: 1000, offered: 1 })]),
    // A pallet of the same name on another chain does not sell cores of the relay chain.
    blockWith('moonbeam', 10, at(1), [saleInitialized({ begin: 700, end: 800, offered: 9 })]),
    blockOf('polkadot', { number: 16_000, time: at(6) }),
    snapshot('coretime_config', CORETIME, at(6), coretimeConfig({ region_begin: 200, cores_sold: 1 })),
    snapshot(
      'coretime_config',
      CORETIME,
      at(7),
      coretimeConfig({ region_begin: 200, first_core: 9, cores_sold: 7, sellout_price: '12345678901' }),
    ),
    snapshot('coretime_config', CORETIME, at(8), coretimeConfig({ region_begin: 77, cores_sold: 8 })),
    snapshot('price', 'polkadot', at(3, '01:00:00'), { symbol: 'DOT', usd: 9 }),
    snapshot('price', 'hydration', at(3, '23:00:00'), { symbol: 'DOT', usd: 6.1 }),
    snapshot('price', 'kusama', at(3, '23:59:00'), { symbol: 'KSM', usd: 50 }),
  );
  await served.ingest(blockWith(CORETIME, 15, at(5), [purchased(ALICE.anywhere, region(200, 9), '2', 100)]));
});
afterAll(() => served.close());

describe('sale cycles', () => {
  it('are numbered by their first timeslice within a relay chain, whatever the order of their initialization', async () => {
    const columns = [
      'relay_chain',
      'region_begin',
      'sale_cycle',
      'sale_init_block',
      'sale_init_at',
      'cores_offered',
    ];
    expect(await served.fields('/api/coretime-sales', ...columns)).toEqual([
      ['kusama', 900, 1, 10, at(1), 1],
      ['polkadot', 100, 1, 11, at(2), 2],
      ['polkadot', 200, 2, 11, at(2), 4],
    ]);
  });

  it('have the sold cores of the newest configuration of their own cycle', async () => {
    const columns = ['first_core', 'cores_sold', 'sellout_price', 'sellout_price_planck'];
    expect(await served.fields('/api/coretime-sales?relay_chain=polkadot', ...columns)).toEqual([
      [null, 0, null, null],
      [9, 7, 1.2345678901, '12345678901'],
    ]);
  });

  it('burn the prices of their own purchases and renewals', async () => {
    // 3 DOT, 1.0000000001 DOT and 2 planck bought, 1 DOT renewed.
    const [, , second] = await served.rows('/api/coretime-sales');
    expect([second?.total_burn, second?.total_burn_planck]).toEqual([5.0000000003, '50000000003']);
  });

  it('begin and end with relay blocks, whose times are known when the blocks are stored', async () => {
    const columns = ['sale_start_unit', 'region_begin_at', 'region_end_at'];
    expect(await served.fields('/api/coretime-sales?relay_chain=polkadot', ...columns)).toEqual([
      ['local_blocks', null, at(6)],
      ['relay_blocks', at(6), null],
    ]);
  });

  it('have separate metrics of purchases and renewals', async () => {
    expect((await served.rows('/api/coretime-sale-metrics?relay_chain=polkadot'))[1]).toEqual({
      relay_chain: 'polkadot',
      chain: CORETIME,
      region_begin: 200,
      sale_cycle: 2,
      bulk_purchases: 3,
      renewals: 1,
      bulk_spend: 4.0000000003,
      bulk_spend_planck: '40000000003',
      renewal_spend: 1,
      renewal_spend_planck: DOT,
      total_burn: 5.0000000003,
      total_burn_planck: '50000000003',
      min_purchase_price: 0.0000000002,
      min_purchase_price_planck: '2',
      avg_purchase_price: Number('1.3333333334333333333333'),
      max_purchase_price: 3,
      max_purchase_price_planck: '30000000000',
      unique_buyers: 1,
      cores_offered: 4,
      sold_out: true,
    });
  });

  it('with a malformed price are not sales', async () => {
    const refused = (await served.refusals()).filter(({ fact }) => fact.includes('SaleInitialized'));
    expect(refused.map(({ reason }) => reason)).toEqual(Array(2).fill('amount: not an unsigned integer'));
  });
});

describe('payments', () => {
  it('have addresses and decimals of their own chain', async () => {
    const columns = ['chain', 'who', 'price', 'price_planck'];
    expect(await served.fields('/api/coretime-purchases?relay_chain=kusama', ...columns)).toEqual([
      ['coretime-kusama', ALICE.kusama, 1.5, '1500000000000'],
    ]);
  });

  it('have the USD value at the last price of their day, over all chains that recorded it', async () => {
    const columns = ['block_number', 'purchase_type', 'who', 'price_planck', 'price_usd'];
    expect(await served.fields('/api/coretime-purchases?relay_chain=polkadot', ...columns)).toEqual([
      [10, 'bulk', ALICE.polkadot, '30000000000', null],
      [12, 'renewal', BOB.polkadot, DOT, 6.1],
      [12, 'renewal', ALICE.polkadot, '5', 3.05e-9],
      [13, 'bulk', ALICE.polkadot, '10000000001', 6.10000000061],
      [13, 'bulk', BOB.polkadot, DOT, 6.1],
      [15, 'bulk', ALICE.polkadot, '2', null],
    ]);
  });

  it('count as spending, whatever sale they belong to', async () => {
    const columns = ['relay_chain', 'who', 'total_spend_planck', 'bulk_spend_planck', 'renewal_spend_planck'];
    expect(await served.fields('/api/coretime-account-spend', ...columns)).toEqual([
      ['kusama', ALICE.kusama, '1500000000000', '1500000000000', '0'],
      ['polkadot', ALICE.polkadot, '40000000008', '40000000003', '5'],
      ['polkadot', BOB.polkadot, '20000000000', DOT, DOT],
    ]);
    expect(
      await served.fields(
        '/api/coretime-account-spend?relay_chain=polkadot',
        'first_purchase_at',
        'last_purchase_at',
      ),
    ).toEqual([
      [at(1), at(5)],
      [at(3), at(3, '13:00:00')],
    ]);
  });

  it('count as burned; a sale counts as often as it was initialized', async () => {
    const columns = ['relay_chain', 'total_burn_planck', 'sales', 'purchases', 'renewals', 'as_of'];
    expect(await served.fields('/api/coretime-total-burn', ...columns)).toEqual([
      ['kusama', '1500000000000', 1, 1, 0, at(1)],
      ['polkadot', '60000000008', 3, 4, 2, at(5)],
    ]);
  });
});

describe('renewals outside of extrinsics', () => {
  it('have no extrinsic id', async () => {
    const columns = [
      'who',
      'auto_renewal',
      'extrinsic_id',
      'event_index',
      'region_begin',
      'old_core',
      'core',
    ];
    expect(await served.fields('/api/coretime-renewals', ...columns)).toEqual([
      [BOB.polkadot, true, null, 0, 200, 3, 4],
      [ALICE.polkadot, true, null, 1, 999, 3, 4],
    ]);
  });

  it('have the first task of the workload, if any', async () => {
    expect(await served.fields('/api/coretime-renewals', 'task', 'workload')).toEqual([
      [
        4000,
        [
          { mask: LEFT, assignment: 'Pool' },
          { mask: RIGHT, assignment: { task: 4000 } },
        ],
      ],
      [null, [{ mask: WHOLE, assignment: 'Idle' }]],
    ]);
  });
});
