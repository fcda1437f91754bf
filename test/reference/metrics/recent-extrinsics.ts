import { printAccount } from '../accounts.ts';
import { isoOf } from '../calendar.ts';
import type { Domain } from '../domain.ts';
import type { Input } from '../input.ts';
import { windows } from '../window.ts';

export type RecentExtrinsic = {
  relay_chain: string;
  chain: string;
  timestamp: string;
  block_number: number;
  extrinsic_index: number;
  extrinsic_hash: string | null;
  domain: Domain;
  pallet: string;
  method: string;
  signer: string | null;
  success: boolean | null;
};

/** By chain, newest first. */
export function recentExtrinsics(input: Input): RecentExtrinsic[] {
  return windows(input.blocks).flatMap(({ blocks }) =>
    blocks.toReversed().flatMap((block) =>
      block.extrinsics.toReversed().map((extrinsic) => {
        const account = extrinsic.signer ?? extrinsic.evmSender;
        return {
          relay_chain: block.chain.relay,
          chain: block.chain.name,
          timestamp: isoOf(block.time),
          block_number: block.height,
          extrinsic_index: extrinsic.index,
          extrinsic_hash: extrinsic.hash,
          domain: extrinsic.domain,
          pallet: extrinsic.call.pallet,
          method: extrinsic.call.method,
          signer: account === null ? null : printAccount(account, block.chain),
          success: extrinsic.success,
        };
      }),
    ),
  );
}
