import { Transaction } from 'micro-eth-signer';
import type { ShapedEvent, ShapedExtrinsic } from '../shaped.ts';
import { ALICE, BOB, general, Rule, remark, SUMMARY } from './rule.ts';

// Accounts of asset hubs that are addresses of Ethereum, and the incentives of validators.

const SECRET = '11'.repeat(32);
const TO = `0x${'22'.repeat(20)}`;
const signed = Transaction.prepare({
  type: 'legacy',
  to: TO,
  value: 1n,
  nonce: 0n,
  gasPrice: 1n,
} as never).signBy(SECRET);
const FROM = signed.sender.toLowerCase();
const padded = (address: string) => `${address}${'ee'.repeat(12)}`;
const ethTransact: ShapedExtrinsic = { call: 'revive.ethTransact', args: { payload: signed.toHex() } };
const transact: ShapedExtrinsic = {
  call: 'ethereum.transact',
  events: [['ethereum.Executed', FROM, TO, `0x${'11'.repeat(32)}`, { succeed: 'Stopped' }, '0x']],
};
const born = (key: string): ShapedEvent => ['system.NewAccount', key];
const dead = (key: string): ShapedEvent => ['system.KilledAccount', key];
const active = (combined: number, received: number, evm: number) => ({
  num_accounts_active_signed_combined: combined,
  num_accounts_active_signed_plus_received_combined: received,
  unique_evm_addresses: evm,
});

const hub = new Rule('asset-hub-polkadot', { number: 100, day: '2025-03-30' });
hub
  .extrinsics(ethTransact, remark({ signer: padded(FROM) }))
  .day('a sender of both kinds is one account', SUMMARY, {
    ...active(1, 2, 2),
    num_accounts_active_signed: 1,
  })
  .block({
    extrinsics: [ethTransact],
    opening: [
      ['balances.Transfer', ALICE, padded(TO), '1'],
      ['balances.Transfer', ALICE, TO, '1'],
    ],
  })
  .day('so is a recipient', SUMMARY, { ...active(1, 2, 2), num_accounts_active_signed_plus_received: 1 })
  .rows(
    'and an active account of a month',
    'monthly-unique-accounts',
    { chain: 'asset-hub-polkadot', month: '2025-03-31' },
    [{ number_of_active_addresses: 1 }],
  )
  .opening(born(padded(FROM)), born(FROM), born(TO), dead(padded(TO)))
  .rows(
    'and one that exists',
    'monthly-unique-accounts',
    { chain: 'asset-hub-polkadot', month: '2025-04-30' },
    [{ number_of_unique_addresses: 1, number_of_new_addresses: 2 }],
  )
  .extrinsics(general(), ethTransact)
  .day('a general transaction is no account', SUMMARY, active(1, 2, 2));

const chain = new Rule('moonbeam', { number: 100, day: '2025-03-30' });
chain
  .extrinsics(transact, remark({ signer: padded(FROM) }))
  .day('elsewhere both are apart', SUMMARY, active(2, 3, 2))
  .rows(
    'an ecosystem has the union',
    SUMMARY,
    { relay_chain: 'polkadot', chain: 'ecosystem', date: '2025-03-31' },
    [{ ...active(2, 4, 2), num_accounts_active_signed: 1 }],
  )
  .opening(born(FROM), born(padded(FROM)), dead(FROM))
  .rows('also of what exists', 'monthly-unique-accounts', { chain: 'moonbeam', month: '2025-04-30' }, [
    { number_of_unique_addresses: 1, number_of_new_addresses: 2 },
  ]);

const incentive = (...data: readonly unknown[]): ShapedEvent => ['staking.ValidatorIncentivePaid', ...data];
const started = (era: number): ShapedEvent => ['staking.PayoutStarted', String(era), ALICE, '0', null];
const rewards = 'daily-staking-rewards?start_date=2000-01-01&end_date=2100-01-01';
const row = (
  account: string,
  staking_reward_planck: string,
  num_payouts: number,
  era_min: number | null,
  era_max: number | null,
) => ({
  account,
  staking_reward_planck,
  reward_planck: staking_reward_planck,
  num_payouts,
  era_min,
  era_max,
});
const staking = new Rule('polkadot', { number: 9000, day: '2025-12-01' });
const paid = (title: string, rows: readonly object[], ...events: ShapedEvent[]) =>
  staking.opening(...events).rows(title, rewards, { chain: 'polkadot', date: staking.date }, rows as never);
paid('makes a row by itself', [row(ALICE, '7', 1, 5, 5)], incentive('5', ALICE, { stash: null }, '7'));
paid(
  'adds to the reward of its stash',
  [row(ALICE, '17', 2, 5, 6)],
  started(6),
  ['staking.Rewarded', ALICE, { staked: null }, '10'],
  incentive('5', ALICE, 'Staked', '7'),
);
paid('wherever it is paid to', [row(ALICE, '7', 1, 5, 5)], incentive('5', ALICE, { account: BOB }, '7'));
paid(
  'has an era of its own',
  [row(ALICE, '8', 2, 2, 9)],
  started(6),
  incentive('9', ALICE, { stash: null }, '7'),
  incentive('2', ALICE, { stash: null }, '1'),
);
paid('pays nobody', [], incentive('5', ALICE, 'None', '7'), incentive('5', BOB, { none: null }, '7'));
paid(
  'is refused with other fields',
  [row(BOB, '3', 1, 1, 1)],
  incentive('5', ALICE, '7'),
  incentive('5', ALICE, {}, '7', '0'),
  incentive('1', BOB, {}, '3'),
);
paid('is refused without an amount', [], incentive('5', ALICE, { stash: null }, '7.5'));

export const accountRules = [hub, chain, staking];
