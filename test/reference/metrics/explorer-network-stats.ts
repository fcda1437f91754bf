import { isoOf } from '../calendar.ts';
import type { Input } from '../input.ts';
import { quotient } from '../numbers.ts';
import { distinct, memberOf, transactionsOf } from '../rows.ts';
import { windows } from '../window.ts';

export type ExplorerNetworkStats = {
  relay_chain: string;
  chain: string;
  tx_24h: number;
  extrinsics_24h: number;
  active_accounts_24h: number;
  success_rate: number | null;
  latest_block: number;
  as_of: string;
};

export function explorerNetworkStats(input: Input): ExplorerNetworkStats[] {
  return windows(input.blocks).map(({ chain, end, latestHeight, blocks }) => {
    const transactions = blocks.flatMap(transactionsOf);
    const known = transactions.filter(({ success }) => success !== null);
    const succeeded = known.filter(({ success }) => success === true);
    return {
      relay_chain: chain.relay,
      chain: chain.name,
      tx_24h: transactions.length,
      extrinsics_24h: blocks.flatMap((block) => block.extrinsics).length,
      active_accounts_24h: distinct(
        transactions.flatMap(({ signer, evmSender }) => [
          memberOf(signer, chain),
          memberOf(evmSender, chain),
        ]),
      ).size,
      success_rate: known.length === 0 ? null : quotient(BigInt(succeeded.length), BigInt(known.length)),
      latest_block: latestHeight,
      as_of: isoOf(end),
    };
  });
}
