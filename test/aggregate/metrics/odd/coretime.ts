import type { InputLine } from '../../../reference/input.ts';
import type { ShapedEvent } from '../../../reference/shaped.ts';
import { ALICE, BOB, snapshotLine, Writer } from '../governance/story.ts';
import { priceOf } from '../shapes/shape.ts';

// Edge cases of coretime: sales without cores, unknown regions, malformed fields.

const WHOLE = '0xffffffffffffffffffff';
const HALF = '0xffffffffff0000000000';
const OTHER = '0x0000000000ffffffffff';
const region = (begin: unknown, core: unknown, mask: unknown = WHOLE) => ({ begin, core, mask });
const sale = (begin: number, offered: number, ...more: unknown[]): ShapedEvent => [
  'broker.SaleInitialized',
  ...[begin * 80, 10, 200, 100, begin, begin + 10, 1, offered].map(String),
  ...more,
];
const bought = (of: object, price: unknown = '150', duration: unknown = '10'): ShapedEvent => [
  'broker.Purchased',
  ALICE,
  of,
  price,
  duration,
];
const renewed = (
  begin: number,
  workload: unknown,
  price: unknown = '70',
  ...more: unknown[]
): ShapedEvent => ['broker.Renewed', BOB, price, '1', '2', String(begin), '10', workload, ...more];
const transfer = (of: object, ...owners: unknown[]): ShapedEvent => [
  'broker.Transferred',
  of,
  '10',
  ...owners,
];
const task = (id: unknown) => [{ mask: WHOLE, assignment: { task: id } }];

const chain = new Writer('coretime-polkadot');
chain.opening('2025-06-01T00:00:00.000Z', sale(100, 0), sale(100, 0, 'more'), sale(90, 3));
chain.opening(
  '2025-06-01T23:59:59.999Z',
  sale(110, 2),
  bought(region('110', '5')),
  bought(region('110', '6'), '0'),
  bought(region('500', '6'), '0x10'),
  bought(region('110', '7'), '1e3'),
  bought(region('110', '7', '0xff')),
  bought(region(null, '7')),
  bought(region('110', '7'), '5', 'long'),
  ['broker.Purchased', ALICE, region('110', '7'), '5'],
  renewed(110, task('2000')),
  renewed(110, [
    { mask: WHOLE, assignment: 'Pool' },
    { mask: HALF.toUpperCase().replace('0X', '0x'), assignment: { Task: 7 } },
  ]),
  renewed(90, [], '0'),
  renewed(777, [{ mask: WHOLE, assignment: 'Idle' }]),
  renewed(110, task('1'), '5', 'more'),
);
/** A region that is partitioned repeatedly, and regions without a purchase. */
chain.opening(
  '2025-06-02T00:00:00.000Z',
  ['broker.Assigned', region('110', '5'), '10', '2000'],
  ['broker.Partitioned', region('110', '5'), [region('110', '5'), region('114', '5')]],
  ['broker.Interlaced', region('114', '5'), [region('114', '5', HALF), region('114', '5', OTHER)]],
  ['broker.Partitioned', region('114', '5', HALF), [region('114', '5', HALF), region('117', '5', HALF)]],
  ['broker.Pooled', region('117', '5', HALF), '3'],
  ['broker.RegionUnpooled', region('117', '5', HALF), '12'],
  transfer(region('114', '5', OTHER), null, BOB),
  transfer(region('114', '5', OTHER), ALICE, null),
  transfer(region('300', '1'), ALICE, BOB),
  ['broker.Assigned', region('300', '2'), '10', '9'],
  ['broker.AssignmentRemoved', region('300', '2')],
  ['broker.RegionDropped', region('300', '3'), '10'],
  ['broker.AssignmentRemoved', region('300', '4')],
  ['broker.Partitioned', region('300', '4'), [region('300', '4'), region('305', '4')]],
  ['broker.Interlaced', region('110', '6'), [region('110', '6', HALF)]],
  ['broker.Interlaced', region('110', '6'), [region('110', '6', HALF), region('110', '6', '0x1')]],
  ['broker.Assigned', region('110', '6'), '10', 'none'],
  ['broker.Assigned', region('110', '6'), '10'],
  ['broker.Pooled', 'region', '10'],
  ['broker.RegionDropped', region('110', '6', 5), '10'],
);
/** A second purchase with the same id replaces the region. */
chain.opening('2025-06-03T00:00:00.000Z', bought(region('110', '6'), '9'), [
  'broker.RegionDropped',
  region('114', '5', OTHER),
  '6',
]);

/** A sale that is initialized at the very end of a day, and relay blocks at which regions expire. */
const relay = new Writer('polkadot', 8799);
const included = (para: unknown): ShapedEvent => [
  'paraInclusion.CandidateIncluded',
  { descriptor: { paraId: para } },
  '0x',
  '1',
  '2',
];
relay.opening('2025-06-01T23:59:59.999Z', included('2000'), included('2000'), [
  'paraInclusion.CandidateIncluded',
  {},
  '0x',
]);
relay.opening('2025-06-02T00:00:00.000Z', [
  'parasInclusion.CandidateIncluded',
  { descriptor: { paraId: '2004' } },
  '0x',
  '1',
  '2',
]);
relay.opening('2025-06-04T00:00:00.000Z');
const config = (offered: number, reservations: number) => ({
  sale_info: {
    sale_start: 1, leadin_length: 1, end_price: '1', region_begin: 110, region_end: 120, ideal_cores_sold: 1,
    cores_offered: offered, first_core: 3, sellout_price: '0', cores_sold: 0,
  },
  reservations: Array.from({ length: reservations }, (_, i) => [{ mask: WHOLE, assignment: { task: i } }]),
  leases: [],
  core_count: 0,
}); // biome-ignore format: a record as the pallet keeps it

const kusama = new Writer('coretime-kusama');
kusama.opening(
  '2025-06-01T12:00:00.000Z',
  bought(region('90', '1'), '1000000000003'),
  renewed(90, task('1')),
);
const kusamaRelay = new Writer('kusama', 7999);
kusamaRelay.opening('2025-06-01T12:00:00.000Z', included('2000'));

export const coretime: readonly InputLine[] = [
  priceOf('DOT', '2025-06-01T23:59:59.999Z', 0),
  priceOf('KSM', '2025-06-01T00:00:00.000Z', '0.333333333333333333333333333333'),
  snapshotLine('coretime_config', '2025-06-01T23:59:59.999Z', config(4, 0), 'coretime-polkadot'),
  snapshotLine('coretime_config', '2025-06-04T00:00:00.000Z', config(9, 2), 'coretime-polkadot'),
  ...chain.lines,
  ...relay.lines,
  ...kusama.lines,
  ...kusamaRelay.lines,
];
