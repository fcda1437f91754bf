import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ALICE,
  BOB,
  blockOf,
  blockWith,
  LEFT,
  named,
  openServed,
  purchased,
  RIGHT,
  region,
  type Served,
  saleInitialized,
  WHOLE,
} from './served.ts';

const CORETIME = 'coretime-polkadot';
const [FIRST, SECOND, THIRD] = [
  '2026-01-01T00:00:06.000Z',
  '2026-01-01T00:00:12.000Z',
  '2026-01-01T00:00:18.000Z',
];
const PRICE = '10000000000';

const regions = (of: string, ...names: string[]) => served.fields(`/api/coretime-regions?${of}`, ...names);
const state = (core: number) =>
  regions(
    `r_core=${core}`,
    'region_begin',
    'r_mask',
    'region_end',
    'owner',
    'status',
    'assigned_task',
    'paid',
  );

let served: Served;
beforeAll(async () => {
  served = await openServed();
  // Timeslice 110, where the first of these regions ends, begins with relay block 8,800.
  await served.ingest(
    blockOf('polkadot', { number: 8_799, time: FIRST }),
    blockWith(
      CORETIME,
      1,
      FIRST,
      [1, 2, 3, 4, 5, 6, 7, 8].map((core) => purchased(ALICE.anywhere, region(100, core), PRICE, 50)),
    ),
    blockWith(CORETIME, 2, SECOND, [
      ['broker.Assigned', region(100, 1), '50', '7'],
      ['broker.Partitioned', region(100, 1), [region(100, 1), region(120, 1)]],
      ['broker.Partitioned', region(120, 1), [region(120, 1), region(140, 1)]],
      ['broker.Transferred', region(100, 2), '50', ALICE.anywhere, BOB.anywhere],
      ['broker.Interlaced', region(100, 2), [region(100, 2, LEFT), region(100, 2, RIGHT)]],
      ['broker.Pooled', region(100, 3), '50'],
      ['broker.RegionUnpooled', region(100, 3), '110'],
      ['broker.Assigned', region(100, 4), '50', '9'],
      ['broker.AssignmentRemoved', region(100, 4)],
      ['broker.Transferred', region(100, 5), '50', ALICE.anywhere, null],
      ['broker.Assigned', region(100, 6), '50', '11'],
      ['broker.Pooled', region(100, 6), '50'],
      ['broker.RegionDropped', region(100, 7), '50'],
      ['broker.Assigned', region(100, 8), '50', '13'],
      purchased(BOB.anywhere, region(100, 8), '20000000000', 20),
    ]),
    blockWith(CORETIME, 3, THIRD, [
      ['broker.Transferred', region(100, 20), '10', ALICE.anywhere, { id: BOB.anywhere }],
      ['broker.Assigned', region(100, 21), '10', '33'],
      ['broker.Pooled', region(100, 22), '10'],
      ['broker.RegionDropped', region(100, 23), '10'],
      ['broker.Partitioned', region(100, 24), [region(100, 24), region(105, 24)]],
      ['broker.Interlaced', region(100, 24), [region(100, 24, LEFT), region(100, 24, RIGHT)]],
      ['broker.AssignmentRemoved', region(100, 24)],
      ['broker.RegionUnpooled', region(100, 24), '100'],
      purchased(ALICE.anywhere, region(100, 44), PRICE, 10),
      ['broker.Partitioned', region(100, 44), [region(100, 44), region(120, 44)]],
      [
        'broker.Renewed',
        ALICE.anywhere,
        PRICE,
        '25',
        '26',
        '150',
        '50',
        [{ mask: WHOLE, assignment: 'Pool' }],
      ],
      ['broker.Purchased', ALICE.anywhere, region(100, 30), PRICE],
      purchased(ALICE.anywhere, region(100, 31), '-5', 50),
      purchased(ALICE.anywhere, region(100, 32), '1.5', 50),
      purchased('nobody', region(100, 33), PRICE, 50),
      purchased(ALICE.anywhere, region(100, 34, '0xff'), PRICE, 50),
      ['broker.Assigned', region(100, 35), 'long', '1'],
    ]),
  );
});
afterAll(() => served.close());

describe('the life of a region', () => {
  it('a partition ends its first half where the second begins, and frees both of task and price', async () => {
    expect(await state(1)).toEqual([
      [100, WHOLE, 120, ALICE.polkadot, 'owned', null, null],
      [120, WHOLE, 140, ALICE.polkadot, 'owned', null, null],
      [140, WHOLE, 150, ALICE.polkadot, 'owned', null, null],
    ]);
    expect(await regions('r_core=1', 'parent_region', 'created_block', 'duration')).toEqual([
      [null, 1, 20],
      [named(100, 1), 2, 20],
      [named(120, 1), 2, 10],
    ]);
  });

  it('an interlacing keeps the region with its owner and end, and makes two that belong to the owner of that time', async () => {
    expect(await state(2)).toEqual([
      [100, RIGHT, 150, BOB.polkadot, 'owned', null, null],
      [100, LEFT, 150, BOB.polkadot, 'owned', null, null],
      [100, WHOLE, 150, BOB.polkadot, 'interlaced', null, 1],
    ]);
    expect(await regions('r_core=2', 'parent_region', 'created_block', 'mask_bits')).toEqual([
      [named(100, 2), 2, 40],
      [named(100, 2), 2, 40],
      [null, 1, 80],
    ]);
  });

  it('a region that leaves the pool or loses its assignment is owned, without a task', async () => {
    expect(await state(3)).toEqual([[100, WHOLE, 150, ALICE.polkadot, 'owned', null, 1]]);
    expect(await state(4)).toEqual([[100, WHOLE, 150, ALICE.polkadot, 'owned', null, 1]]);
  });

  it('a transfer changes only the owner, and may leave none', async () => {
    expect(await state(5)).toEqual([[100, WHOLE, 150, null, 'owned', null, 1]]);
  });

  it('a part that begins after the end of its region, because events are missing, has no duration', async () => {
    expect(await state(44)).toEqual([
      [100, WHOLE, 120, ALICE.polkadot, 'owned', null, null],
      [120, WHOLE, 120, ALICE.polkadot, 'owned', null, null],
    ]);
  });

  it('a pooled region keeps its task, and a dropped region is dropped', async () => {
    expect(await state(6)).toEqual([[100, WHOLE, 150, ALICE.polkadot, 'pooled', 11, 1]]);
    expect(await state(7)).toEqual([[100, WHOLE, 150, ALICE.polkadot, 'dropped', null, 1]]);
  });

  it('a second purchase replaces the region', async () => {
    expect(await state(8)).toEqual([[100, WHOLE, 120, BOB.polkadot, 'owned', null, 2]]);
    expect(await regions('r_core=8', 'created_block', 'updated_at')).toEqual([[2, SECOND]]);
  });

  it('an unknown region begins with an event that has its duration', async () => {
    expect(await state(20)).toEqual([[100, WHOLE, 110, BOB.polkadot, 'owned', null, null]]);
    expect(await state(21)).toEqual([[100, WHOLE, 110, null, 'assigned', 33, null]]);
    expect(await state(22)).toEqual([[100, WHOLE, 110, null, 'pooled', null, null]]);
    expect(await state(23)).toEqual([[100, WHOLE, 110, null, 'dropped', null, null]]);
    expect(await regions('r_core=20', 'created_block', 'paid_planck', 'parent_region')).toEqual([
      [null, null, null],
    ]);
  });

  it('an unknown region does not begin with another event or a renewal', async () => {
    for (const core of [24, 25, 26]) expect(await state(core)).toEqual([]);
  });
});

describe('region events', () => {
  it('have owners for transfers only, and durations where the event has one', async () => {
    const columns = ['event_type', 'duration', 'old_owner', 'owner', 'task'];
    expect(await served.fields('/api/coretime-region-events?r_core=5', ...columns)).toEqual([
      ['Transfer', 50, ALICE.polkadot, null, null],
    ]);
    expect(await served.fields('/api/coretime-region-events?r_core=20', ...columns)).toEqual([
      ['Transfer', 10, ALICE.polkadot, BOB.polkadot, null],
    ]);
    expect(await served.fields('/api/coretime-region-events?r_core=24', ...columns)).toEqual([
      ['Interlace', null, null, null, null],
      ['Partition', null, null, null, null],
    ]);
  });

  it('have the region that the event changed; a history also has the event that created the region', async () => {
    const log = await served.fields(
      '/api/coretime-region-events?region_begin=120',
      'region_begin',
      'new_regions',
    );
    expect(log).toEqual([[120, [named(120, 1), named(140, 1)]]]);
    const history = '/api/coretime-region-history?region_begin=120&r_core=1';
    expect(await served.fields(history, 'region_begin')).toEqual([[100], [120]]);
  });
});

describe('malformed facts', () => {
  it('create no region and no payment', async () => {
    for (const core of [30, 31, 32, 33, 34, 35]) expect(await state(core)).toEqual([]);
    const payments = await served.fields('/api/coretime-purchases', 'core');
    expect(payments.flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 8, 44, 26]);
  });

  it('are stored with the reason', async () => {
    expect((await served.refusals()).map(({ reason }) => reason).sort()).toEqual([
      'account: not an address',
      'amount: not an unsigned integer',
      'amount: not an unsigned integer',
      'index: not a whole number',
      'region: not begin, core and mask',
      'unknown number of fields: 3',
    ]);
  });
});

describe('the end of a region', () => {
  const expired = async () =>
    (await served.fields('/api/coretime-regions', 'status', 'region_end'))
      .filter(([status]) => status === 'expired')
      .map(([, end]) => end);
  const relayBlock = (number: number, time: string) => served.ingest(blockOf('polkadot', { number, time }));

  it('is the first relay block after its last timeslice, not a time of the clock', async () => {
    expect(await expired()).toEqual([]);
    await relayBlock(8_800, SECOND);
    expect(await expired()).toEqual([110, 110, 110]);
  });

  it('expires only owned, assigned and pooled regions', async () => {
    await relayBlock(12_000, THIRD);
    const statuses = (await served.fields('/api/coretime-regions', 'status')).flat();
    expect(new Set(statuses)).toEqual(new Set(['expired', 'interlaced', 'dropped']));
  });

  it('is not an event of the region', async () => {
    expect(await regions('r_core=6', 'status', 'updated_at')).toEqual([['expired', SECOND]]);
  });
});

describe('blocks whose times fall while their heights rise', () => {
  it('are told in the order of their heights', async () => {
    await served.ingest(
      blockWith(CORETIME, 10, THIRD, [
        purchased(ALICE.anywhere, region(900, 60), PRICE, 50),
        saleInitialized({ begin: 900, end: 950, offered: 3 }),
      ]),
      blockWith(CORETIME, 11, FIRST, [
        ['broker.Assigned', region(900, 60), '50', '7'],
        saleInitialized({ begin: 900, end: 950, offered: 4 }),
      ]),
    );
    expect(await state(60)).toEqual([[900, WHOLE, 950, ALICE.polkadot, 'assigned', 7, 1]]);
    expect(await regions('r_core=60', 'created_block', 'updated_at')).toEqual([[10, FIRST]]);
    expect(await served.fields('/api/coretime-sales', 'cores_offered', 'sale_init_block')).toEqual([[4, 11]]);
  });
});
