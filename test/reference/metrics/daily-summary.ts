import { dayOf } from '../calendar.ts';
import { type Event, isNamed } from '../calls.ts';
import type { Block } from '../facts.ts';
import type { Input } from '../input.ts';
import { type AmountOf, feesOf, nativeAmount, usdAmount } from '../money.ts';
import { decimalToNumber, sum, total } from '../numbers.ts';
import { allGroups, distinct, memberOf, transactionsOf } from '../rows.ts';
import { accountAt, amountAt } from '../shapes.ts';
import { xcmFailures, xcmMessages, xcmTransfers } from '../xcm.ts';

export type DailySummary = {
  relay_chain: string;
  chain: string;
  date: string;
  fees: number | null;
  fees_usd: number | null;
  treasury: number | null;
  treasury_usd: number | null;
  evm_num_transactions: number;
  unique_evm_from_addresses: number;
  unique_evm_to_addresses: number;
  unique_evm_addresses: number;
  evm_active: number;
  num_accounts_active_signed: number;
  num_accounts_active_signed_plus_received: number;
  num_accounts_active_signed_combined: number;
  num_accounts_active_signed_plus_received_combined: number;
  num_events: number;
  num_transactions_signed: number;
  num_transactions_combined: number;
  num_transfers: number;
  num_transfers_combined: number;
  transfer_amount_usd: number | null;
  num_xcm_messages: number;
  num_xcm_failed: number;
  num_xcm_transferred: number;
  num_new_accounts: number;
  num_killed_accounts: number;
  num_remarked: number;
  num_extrinsic_success: number;
  num_extrinsic_failed: number;
  num_blocks: number;
  num_extrinsics: number;
  first_block: number | null;
  last_block: number | null;
};

const TOKEN_TRANSFERS: readonly (readonly [pallet: string, event: string])[] = [
  ['assets', 'Transferred'],
  ['foreignAssets', 'Transferred'],
  ['poolAssets', 'Transferred'],
  ['tokens', 'Transfer'],
];

export function dailySummary(input: Input): DailySummary[] {
  return allGroups(input.blocks, dayOf).map((group) => {
    const { blocks } = group;
    const extrinsics = blocks.flatMap((block) => block.extrinsics);
    const calls = extrinsics.flatMap(({ executed }) => executed);
    const events = blocks.flatMap((block) => block.events);
    const countEvents = (pallet: string, name: string) => named(events, pallet, name).length;
    const usd = (amountOf: AmountOf) => decimalToNumber(usdAmount(input, group, amountOf));

    // Sets hold keys, so that one account counts once on all chains of a relay.
    const members = (keysOf: (block: Block) => readonly (string | null)[]) =>
      distinct(blocks.flatMap((block) => keysOf(block).map((key) => memberOf(key, block.chain))));
    const signers = members((block) => block.extrinsics.map(({ signer }) => signer));
    const recipients = members((block) => transfersOf([block]).map((transfer) => accountAt(transfer, 1)));
    const senders = members((block) => block.extrinsics.map(({ evmSender }) => evmSender));
    const receivers = members((block) => block.extrinsics.map(({ evmReceiver }) => evmReceiver));
    // Addresses of Ethereum are counted as such besides.
    const evmSenders = distinct(extrinsics.map(({ evmSender }) => evmSender));
    const evmReceivers = distinct(extrinsics.map(({ evmReceiver }) => evmReceiver));
    const evmSucceeded = extrinsics.filter(({ success }) => success === true);
    const heights = blocks.map(({ height }) => height);
    return {
      relay_chain: group.relay,
      chain: group.chain,
      date: group.period,
      fees: nativeAmount(group, feesOf),
      fees_usd: usd(feesOf),
      treasury: nativeAmount(group, treasuryIncome),
      treasury_usd: usd(treasuryIncome),
      evm_num_transactions: extrinsics.filter(({ isEvm }) => isEvm).length,
      unique_evm_from_addresses: evmSenders.size,
      unique_evm_to_addresses: evmReceivers.size,
      unique_evm_addresses: evmSenders.union(evmReceivers).size,
      evm_active: distinct(evmSucceeded.map(({ evmSender }) => evmSender)).size,
      num_accounts_active_signed: signers.size,
      num_accounts_active_signed_plus_received: signers.union(recipients).size,
      num_accounts_active_signed_combined: signers.union(senders).size,
      num_accounts_active_signed_plus_received_combined: signers
        .union(recipients)
        .union(senders)
        .union(receivers).size,
      num_events: total(blocks.map(({ eventCount }) => eventCount)),
      num_transactions_signed: extrinsics.filter(({ isSigned }) => isSigned).length,
      num_transactions_combined: blocks.flatMap(transactionsOf).length,
      num_transfers: transfersOf(blocks).length,
      num_transfers_combined:
        transfersOf(blocks).length +
        total(TOKEN_TRANSFERS.map(([pallet, name]) => countEvents(pallet, name))),
      transfer_amount_usd: usd((of) => sum(transfersOf(of).map((transfer) => amountAt(transfer, 2)))),
      num_xcm_messages: xcmMessages(events).length,
      num_xcm_failed: xcmFailures(events).length,
      num_xcm_transferred: xcmTransfers(calls).length,
      num_new_accounts: countEvents('system', 'NewAccount'),
      num_killed_accounts: countEvents('system', 'KilledAccount'),
      // The call that deposits an event for its remark is counted by that event alone.
      num_remarked:
        countEvents('system', 'Remarked') + calls.filter((call) => isNamed(call, 'system', 'remark')).length,
      num_extrinsic_success: extrinsics.filter(({ outcome }) => outcome?.method === 'ExtrinsicSuccess')
        .length,
      num_extrinsic_failed: extrinsics.filter(({ outcome }) => outcome?.method === 'ExtrinsicFailed').length,
      num_blocks: blocks.length,
      num_extrinsics: extrinsics.length,
      first_block: group.isEcosystem ? null : Math.min(...heights),
      last_block: group.isEcosystem ? null : Math.max(...heights),
    };
  });
}

function named(events: readonly Event[], pallet: string, name: string): readonly Event[] {
  return events.filter((event) => isNamed(event, pallet, name));
}

function transfersOf(blocks: readonly Block[]): readonly Event[] {
  return blocks.flatMap(({ events }) => named(events, 'balances', 'Transfer'));
}

function treasuryIncome(blocks: readonly Block[]): bigint {
  const deposits = blocks.flatMap(({ events }) => named(events, 'treasury', 'Deposit'));
  return sum(deposits.map((deposit) => amountAt(deposit, 0)));
}
