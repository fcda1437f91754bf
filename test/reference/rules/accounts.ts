import { Transaction } from 'micro-eth-signer';
import type { ShapedEvent, ShapedExtrinsic } from '../shaped.ts';
import { ALICE, general, Rule, remark, SUMMARY } from './rule.ts';

// Accounts of asset hubs that are addresses of Ethereum.

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

export const accountRules = [hub, chain];
