import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordedLines } from '../../../support/recordings.ts';
import { LEFT, named, openServed, RIGHT, type Served, WHOLE } from './served.ts';

// 63 blocks of a real coretime runtime, with values that were read from their JSON by hand. The accounts:
const ALICE = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5';
const BOB = '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3';
const CHARLIE = '14Gjs1TD93gnwEBfDMHoCgsuf1s2TVKUP6Z1qKmAZnZ8cW5q';
const DAVE = '126TwBzBM4jUEK2gTphmW4oLoBWWnYvPp8hygmduTr4uds57';
const EVE = '16D2eVuK5SWfwvtFD3gVdBC2nc2BafK31BY6PrbZHBAGew7L';
const FERDIE = '12ibBivdjpeYZgQGdxD6JzdjPL9rGUX3fkCyyWpmbSoQJjFY';

let served: Served;
beforeAll(async () => {
  served = await openServed();
  await served.ingest(...recordedLines('runtime').filter(({ chain }) => chain === 'coretime-polkadot'));
});
afterAll(() => served.close());

describe('five sales of a real coretime chain', () => {
  it('have prices, capacity and burn', async () => {
    expect(
      await served.fields(
        '/api/coretime-sales',
        ...['sale_cycle', 'region_begin', 'region_end', 'sale_start', 'leadin_length', 'sale_start_unit'],
        ...['start_price_planck', 'end_price_planck', 'ideal_cores_sold', 'cores_offered', 'cores_sold'],
        ...['total_burn_planck', 'sale_init_block'],
      ),
    ).toEqual([
      [1, 325006, 325012, 16, 12, 'local_blocks', '20000000000000', '10000000000000', 2, 6, 6, '109166666660000', 11],
      [2, 325012, 325018, 34, 12, 'local_blocks', '73333333320000', '36666666660000', 5, 13, 3, '229166666593331', 29],
      [3, 325018, 325024, 48, 12, 'local_blocks', '134444444395554', '67222222197777', 6, 14, 0, '0', 43],
      [4, 325024, 325030, 55, 12, 'local_blocks', '0', '0', 6, 14, 0, '0', 50],
      [5, 325030, 325036, 66, 12, 'local_blocks', '0', '0', 6, 15, 0, '0', 61],
    ]); // biome-ignore format: a table
  });

  it('a sale has all fields of the record', async () => {
    expect((await served.rows('/api/coretime-sales?region_begin=325012'))[0]).toEqual({
      relay_chain: 'polkadot',
      chain: 'coretime-polkadot',
      region_begin: 325012,
      region_end: 325018,
      sale_cycle: 2,
      sale_start: 34,
      leadin_length: 12,
      sale_start_unit: 'local_blocks',
      start_price: 7333.333332,
      start_price_planck: '73333333320000',
      end_price: 3666.666666,
      end_price_planck: '36666666660000',
      ideal_cores_sold: 5,
      cores_offered: 13,
      first_core: null,
      cores_sold: 3,
      sellout_price: null,
      sellout_price_planck: null,
      total_burn: 22916.6666593331,
      total_burn_planck: '229166666593331',
      sale_init_block: 29,
      sale_init_at: '2026-11-21T05:28:33.133Z',
      region_begin_at: null,
      region_end_at: null,
    });
  });

  it('the first two have purchases and renewals', async () => {
    expect((await served.rows('/api/coretime-sale-metrics')).slice(0, 2)).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'coretime-polkadot',
        region_begin: 325006,
        sale_cycle: 1,
        bulk_purchases: 6,
        renewals: 0,
        bulk_spend: 10916.666666,
        bulk_spend_planck: '109166666660000',
        renewal_spend: 0,
        renewal_spend_planck: '0',
        total_burn: 10916.666666,
        total_burn_planck: '109166666660000',
        min_purchase_price: 1750,
        min_purchase_price_planck: '17500000000000',
        // 109,166,666,660,000 / 6 planck
        avg_purchase_price: Number('1819.4444443333333333333333'),
        max_purchase_price: 1916.666667,
        max_purchase_price_planck: '19166666670000',
        unique_buyers: 5,
        cores_offered: 6,
        sold_out: true,
      },
      {
        relay_chain: 'polkadot',
        chain: 'coretime-polkadot',
        region_begin: 325012,
        sale_cycle: 2,
        bulk_purchases: 3,
        renewals: 2,
        bulk_spend: 20166.6666593331,
        bulk_spend_planck: '201666666593331',
        renewal_spend: 2750,
        renewal_spend_planck: '27500000000000',
        total_burn: 22916.6666593331,
        total_burn_planck: '229166666593331',
        min_purchase_price: 6722.2222197777,
        min_purchase_price_planck: '67222222197777',
        avg_purchase_price: 6722.2222197777,
        max_purchase_price: 6722.2222197777,
        max_purchase_price_planck: '67222222197777',
        unique_buyers: 3,
        cores_offered: 13,
        sold_out: false,
      },
    ]);
  });

  it('payments are purchases and renewals together', async () => {
    const url = '/api/coretime-purchases';
    const columns = [
      'purchase_type',
      'who',
      'region_begin',
      'core',
      'mask',
      'price_planck',
      'extrinsic_id',
      'event_index',
    ];
    expect(await served.fields(url, ...columns)).toEqual([
      ['bulk', BOB, 325006, 6, WHOLE, '19166666670000', '17-2', 8],
      ['bulk', ALICE, 325006, 7, WHOLE, '18333333330000', '18-2', 8],
      ['bulk', BOB, 325006, 8, WHOLE, '18333333330000', '18-3', 15],
      ['bulk', FERDIE, 325006, 9, WHOLE, '18333333330000', '18-4', 24],
      ['bulk', CHARLIE, 325006, 10, WHOLE, '17500000000000', '19-2', 8],
      ['bulk', DAVE, 325006, 11, WHOLE, '17500000000000', '19-3', 16],
      ['renewal', ALICE, 325012, 5, null, '17500000000000', '30-2', 8],
      ['renewal', BOB, 325012, 6, null, '10000000000000', '30-3', 16],
      ['bulk', CHARLIE, 325012, 7, WHOLE, '67222222197777', '36-2', 6],
      ['bulk', DAVE, 325012, 8, WHOLE, '67222222197777', '36-3', 13],
      ['bulk', EVE, 325012, 9, WHOLE, '67222222197777', '36-4', 20],
    ]); // biome-ignore format: a table
  });

  it('a renewal has its cores and its workload', async () => {
    expect((await served.rows('/api/coretime-renewals'))[0]).toEqual({
      relay_chain: 'polkadot',
      chain: 'coretime-polkadot',
      who: ALICE,
      region_begin: 325012,
      old_core: 10,
      core: 5,
      workload: [{ mask: WHOLE, assignment: { task: 3003 } }],
      task: 3003,
      price: 1750,
      price_planck: '17500000000000',
      price_usd: null,
      duration: 6,
      auto_renewal: false,
      block_number: 30,
      event_index: 8,
      extrinsic_id: '30-2',
      timestamp: '2026-11-21T05:28:39.133Z',
    });
  });

  it('spending per account is ordered by amount, then by address', async () => {
    expect(
      await served.fields(
        '/api/coretime-account-spend',
        ...['who', 'total_spend_planck', 'bulk_count', 'renewal_count', 'renewal_spend'],
        ...['first_purchase_at', 'last_purchase_at'],
      ),
    ).toEqual([
      [DAVE, '84722222197777', 2, 0, 0, '2026-11-21T05:27:33.133Z', '2026-11-21T05:29:15.133Z'],
      [CHARLIE, '84722222197777', 2, 0, 0, '2026-11-21T05:27:33.133Z', '2026-11-21T05:29:15.133Z'],
      [EVE, '67222222197777', 1, 0, 0, '2026-11-21T05:29:15.133Z', '2026-11-21T05:29:15.133Z'],
      [BOB, '47500000000000', 2, 1, 1000, '2026-11-21T05:27:21.133Z', '2026-11-21T05:28:39.133Z'],
      [ALICE, '35833333330000', 1, 1, 1750, '2026-11-21T05:27:27.133Z', '2026-11-21T05:28:39.133Z'],
      [FERDIE, '18333333330000', 1, 0, 0, '2026-11-21T05:27:27.133Z', '2026-11-21T05:27:27.133Z'],
    ]);
  });

  it('the total burn is the sum of all payments', async () => {
    expect(await served.rows('/api/coretime-total-burn')).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'coretime-polkadot',
        total_burn: 33833.3333253331,
        total_burn_planck: '338333333253331',
        sales: 5,
        purchases: 9,
        renewals: 2,
        as_of: '2026-11-21T05:31:57.133Z',
      },
    ]);
  });
});

describe('the regions of a real coretime chain', () => {
  it('each has the state after its last event', async () => {
    const columns = [
      'region_begin',
      'r_core',
      'r_mask',
      'region_end',
      'owner',
      'assigned_task',
      'status',
      'mask_bits',
      'created_block',
    ];
    expect(await served.fields('/api/coretime-regions', ...columns)).toEqual([
      [325006, 6, WHOLE, 325012, BOB, null, 'dropped', 80, 17],
      [325006, 7, WHOLE, 325009, ALICE, 3000, 'assigned', 80, 18],
      [325006, 8, RIGHT, 325012, BOB, null, 'pooled', 40, 21],
      [325006, 8, LEFT, 325012, BOB, 3001, 'assigned', 40, 21],
      [325006, 8, WHOLE, 325012, BOB, null, 'interlaced', 80, 18],
      [325006, 9, WHOLE, 325012, FERDIE, 3002, 'assigned', 80, 18],
      [325006, 10, WHOLE, 325012, DAVE, 3003, 'assigned', 80, 19],
      [325006, 11, WHOLE, 325012, DAVE, null, 'pooled', 80, 19],
      [325009, 7, WHOLE, 325012, ALICE, null, 'owned', 80, 21],
      [325012, 7, WHOLE, 325018, CHARLIE, null, 'dropped', 80, 36],
      [325012, 8, '0x00000000000000000001', 325018, DAVE, null, 'dropped', 1, 37],
      [325012, 8, '0xfffffffffffffffffffe', 325018, DAVE, null, 'dropped', 79, 37],
      [325012, 8, WHOLE, 325018, DAVE, null, 'interlaced', 80, 36],
      [325012, 9, WHOLE, 325018, EVE, null, 'owned', 80, 36],
    ]); // biome-ignore format: a table
  });

  it('a partition has two halves, and the first keeps the id of the purchased region', async () => {
    const halves = await served.rows(
      '/api/coretime-regions?r_core=7&owner=5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY',
    );
    expect(halves).toEqual([
      {
        relay_chain: 'polkadot',
        chain: 'coretime-polkadot',
        ...named(325006, 7),
        region_end: 325009,
        duration: 3,
        owner: ALICE,
        assigned_task: 3000,
        status: 'assigned',
        paid: null,
        paid_planck: null,
        mask_bits: 80,
        parent_region: null,
        created_block: 18,
        updated_at: '2026-11-21T05:27:51.133Z',
      },
      {
        relay_chain: 'polkadot',
        chain: 'coretime-polkadot',
        ...named(325009, 7),
        region_end: 325012,
        duration: 3,
        owner: ALICE,
        assigned_task: null,
        status: 'owned',
        paid: null,
        paid_planck: null,
        mask_bits: 80,
        parent_region: named(325006, 7),
        created_block: 21,
        updated_at: '2026-11-21T05:27:45.133Z',
      },
    ]);
  });

  it('their events are listed newest first', async () => {
    const columns = [
      'event_type',
      'region_begin',
      'r_core',
      'r_mask',
      'duration',
      'old_owner',
      'owner',
      'task',
      'extrinsic_id',
    ];
    expect(await served.fields('/api/coretime-region-events', ...columns)).toEqual([
      ['Interlace', 325012, 8, WHOLE, null, null, null, null, '37-3'],
      ['Assign', 325006, 10, WHOLE, 6, null, null, 3003, '22-6'],
      ['Assign', 325006, 9, WHOLE, 6, null, null, 3002, '22-4'],
      ['Assign', 325006, 8, LEFT, 6, null, null, 3001, '22-3'],
      ['Assign', 325006, 7, WHOLE, 3, null, null, 3000, '22-2'],
      ['Transfer', 325006, 10, WHOLE, 6, CHARLIE, DAVE, null, '21-4'],
      ['Interlace', 325006, 8, WHOLE, null, null, null, null, '21-3'],
      ['Partition', 325006, 7, WHOLE, null, null, null, null, '21-2'],
    ]); // biome-ignore format: a table
  });

  it('the history of a region begins with the event that created it', async () => {
    const history = (of: string) =>
      served.fields(`/api/coretime-region-history?${of}`, 'event_type', 'new_regions', 'block_number');
    const interlaced = [named(325006, 8, LEFT), named(325006, 8, RIGHT)];
    expect(await history('region_begin=325006&r_core=8')).toEqual([
      ['Interlace', interlaced, 21],
      ['Assign', [], 22],
    ]);
    expect(await history(`region_begin=325006&r_core=8&r_mask=${RIGHT}`)).toEqual([
      ['Interlace', interlaced, 21],
    ]);
    expect(await history('region_begin=325009&r_core=7')).toEqual([
      ['Partition', [named(325006, 7), named(325009, 7)], 21],
    ]);
    expect(await history('region_begin=325009&r_core=8')).toEqual([]);
  });
});

describe('blocks that arrive late, and twice', () => {
  const paths = [
    'sales',
    'sale-metrics',
    'purchases',
    'renewals',
    'account-spend',
    'total-burn',
    'regions',
    'region-events',
  ];
  const everything = () => Promise.all(paths.map((path) => served.rows(`/api/coretime-${path}`)));

  it('do not change the final rows', async () => {
    const lines = recordedLines('runtime').filter(({ chain }) => chain === 'coretime-polkadot');
    const inOrder = await everything();
    await served.forget();
    await served.ingest(...lines.slice(25).reverse());
    expect(await everything()).not.toEqual(inOrder);
    await served.ingest(...lines.slice(0, 40));
    expect(await everything()).toEqual(inOrder);
  });
});
