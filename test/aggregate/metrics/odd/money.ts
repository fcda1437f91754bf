import type { InputLine } from '../../../reference/input.ts';
import type { ShapedEvent, ShapedExtrinsic } from '../../../reference/shaped.ts';
import { snapshot as stated } from '../coretime/served.ts';
import { ALICE, BOB, CHARLIE, snapshotLine, Writer } from '../governance/story.ts';
import { feePaid, priceOf, remark } from '../shapes/shape.ts';

// Edge cases of amounts: the last millisecond of days and months, a divisor of 0, no price or a price of 0.

const paying = (fee: unknown, more: Partial<ShapedExtrinsic> = {}) =>
  remark(ALICE, { events: [feePaid(ALICE, fee)], ...more });
const rewarded = (...data: unknown[]): ShapedEvent => ['staking.Rewarded', ...data];

/** The largest amount that a chain can tell of. */
const LARGEST = String(2n ** 128n - 1n);

const edges = (chain: string): InputLine[] => {
  const writer = new Writer(chain, 50);
  for (const time of [
    '2023-12-31T23:59:59.999Z',
    '2024-01-01T00:00:00.000Z',
    '2024-02-28T23:59:54.000Z',
    '2024-03-01T00:00:54.000Z',
  ]) {
    writer.block(time, {
      extrinsics: [
        paying('3'),
        paying('0'),
        paying('1000000000000000000000000000001'),
        paying('340282366920938463463374607431768211456'),
      ],
      opening: [
        ['staking.PayoutStarted', '31', ALICE],
        rewarded(ALICE, { staked: null }, '1'),
        ['staking.PayoutStarted', 'era', ALICE],
        rewarded(ALICE, 'None', '5'),
        rewarded(BOB, { none: null }, '5'),
        rewarded(CHARLIE, { account: BOB }, '0'),
        rewarded(CHARLIE, {}, '1', '2'),
        ['staking.Slashed', BOB, '4'],
        ['staking.Slashed', CHARLIE, '4'],
        ['staking.Slash', CHARLIE, '4', '5'],
        ['nominationPools.PaidOut', CHARLIE, '1', '7'],
        ['nominationPools.PaidOut', CHARLIE, '7'],
        ['treasury.Deposit', '11'],
        ['balances.Transfer', ALICE, BOB, '0'],
        ['messageQueue.Processed', '0x', {}, {}, 'perhaps'],
        ['system.NewAccount', BOB],
        ['system.KilledAccount', BOB],
        ['system.NewAccount', CHARLIE],
      ],
    });
  }
  // Sums of the largest amounts, on a day with prices up to the highest.
  const twice = (...event: ShapedEvent): ShapedEvent[] => [event, event];
  writer.block('2024-05-05T12:00:00.000Z', {
    extrinsics: [paying(LARGEST), paying(LARGEST)],
    opening: [
      ...twice('staking.Rewarded', ALICE, { staked: null }, LARGEST),
      ...twice('nominationPools.PaidOut', ALICE, '1', LARGEST),
      ...twice('staking.Slashed', ALICE, LARGEST),
      ...twice('treasury.Deposit', LARGEST),
      ...twice('balances.Transfer', ALICE, BOB, LARGEST),
    ],
  });
  return writer.lines;
};

const staking = (staked: string) => ({
  active_era: 0, validators: 0, nominators: 0, pools: 0, pool_members: 0, addresses_staking: 0, staked,
  staked_in_pools: '0', unbonding: '0', min_active_stake: '0',
}); // biome-ignore format: one record
const issued = (total: string) => ({ total, inactive: total });
const balances = (...list: [asset: string, decimals: number, amount: string][]) => ({
  balances: list.map(([asset, decimals, amount]) => ({ account: ALICE, asset, decimals, amount })),
});
const coins = (issuance: string, sovereign_held: string) => ({
  holdings: [{ coin: 'coin_a', asset_id: '1337', decimals: 0, issuance, sovereign_held }],
});

const states: readonly InputLine[] = [
  // An issuance of 0; a snapshot in one month only; snapshots of different chains.
  snapshotLine('issuance', '2024-01-31T23:59:59.999Z', issued('0')),
  snapshotLine('staking_state', '2024-01-31T23:59:59.999Z', staking('5')),
  snapshotLine('issuance', '2024-02-01T00:00:00.000Z', issued('7')),
  snapshotLine('staking_state', '2024-03-01T00:00:00.000Z', staking('0')),
  snapshotLine('issuance', '2024-03-31T00:00:00.000Z', issued('3'), 'asset-hub-polkadot'),
  snapshotLine('staking_state', '2024-03-31T00:00:00.000Z', staking('1'), 'asset-hub-polkadot'),
  // Malformed snapshots are refused, also as the last of their day.
  snapshotLine(
    'staking_state',
    '2024-03-31T00:00:01.000Z',
    { ...staking('9'), staked: '-9' },
    'asset-hub-polkadot',
  ),
  snapshotLine('issuance', '2024-03-31T00:00:01.000Z', { total: '9' }, 'asset-hub-polkadot'),
  // The treasury: no assets, assets without value, a price of 0 and none, the chain's own token without a price.
  snapshotLine('treasury_balance', '2024-01-31T00:00:00.000Z', balances()),
  snapshotLine(
    'treasury_balance',
    '2024-02-29T23:59:59.999Z',
    balances(['DOT', 10, '1'], ['USDC', 6, '0'], ['aDOT', 10, '4'], ['DOT', 12, '1']),
  ),
  snapshotLine(
    'treasury_balance',
    '2024-03-31T12:00:00.000Z',
    balances(['DOT', 10, '5'], ['USDC', 6, '1000000']),
  ),
  stated(
    'treasury_balance',
    'kusama',
    '2024-03-31T12:00:00.000Z',
    balances(['KSM', 12, '3'], ['DOT', 10, '5']),
  ),
  stated('stable_holdings', 'hydradx', '2024-03-31T12:00:00.000Z', coins('5', '7')),
  stated('stable_holdings', 'hydradx', '2024-03-30T12:00:00.000Z', coins('0', '0')),
  stated('tvl', 'bifrost', '2024-03-31T23:59:59.999Z', { tvl_usd: 0 }),
  stated('tvl', 'bifrost', '2024-04-01T00:00:00.000Z', { tvl_usd: 12345678901234.56 }),
  stated('validator_set', 'kusama', '2024-02-29T23:59:59.999Z', { active: [], waiting: 0, nominators: 0 }),
  stated('validator_set', 'kusama', '2024-03-01T00:00:00.000Z', {
    active: [ALICE],
    waiting: 1,
    nominators: 2,
  }),
];

const prices: readonly InputLine[] = [
  priceOf('DOT', '2023-12-31T00:00:00.000Z', '1e-7'),
  priceOf('DOT', '2024-01-01T23:59:59.999Z', '0.1'),
  priceOf('DOT', '2024-01-01T23:59:59.998Z', '7'),
  priceOf('DOT', '2024-02-28T01:00:00.000Z', 0),
  priceOf('DOT', '2024-02-29T01:00:00.000Z', 0),
  priceOf('USDC', '2024-02-29T01:00:00.000Z', 0),
  priceOf('USDC', '2024-03-31T01:00:00.000Z', '0.9999'),
  priceOf('WND', '2024-01-01T01:00:00.000Z', '2'),
  priceOf('KSM', '2024-03-01T01:00:00.000Z', '123456789.123456789123456789'),
  priceOf('DOT', '2024-05-05T12:00:00.000Z', '6.12'),
  // A price is that of its token, also where no chain is called as it says.
  priceOf('POLYX', '2024-05-05T12:00:00.000Z', '99999999999999999999.123456789', 'solo'),
];

export const money: readonly InputLine[] = [
  ...prices,
  ...['polkadot', 'statemint', 'kusama', 'westend', 'westmint', 'polymesh'].flatMap(edges),
  ...states,
];
