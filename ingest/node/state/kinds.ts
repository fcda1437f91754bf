import type { Chain } from '../../chains/chain.ts';
import { isHome } from '../../chains/homes.ts';
import type { SnapshotKind } from '../../decode/snapshot.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { accountCount, issuance, stableHoldings, treasuryBalance } from './balances.ts';
import { childBountyIds } from './child-bounty-ids.ts';
import { contractCode } from './contracts.ts';
import { coretimeConfig } from './coretime.ts';
import { delegations, trackTable } from './governance.ts';
import { stakingState, validatorSet } from './staking.ts';
import type { BlockState } from './state.ts';

interface StateKind {
  readonly kind: SnapshotKind;
  /** Whether the chain has this state on a day: staking, governance and treasury moved to the asset hubs. */
  readonly isOf: (subject: Subject, day: string) => boolean;
  /** Returns the payload. Throws MissingItem if the runtime lacks an item, which must not count as 0. */
  readonly take: (state: BlockState, subject: Subject) => Promise<object>;
}

const isHomeOf =
  (system: 'staking' | 'governance' | 'treasury') =>
  ({ chain, registry }: Subject, day: string) =>
    isHome(registry, chain, system, day);
const hasRole =
  (role: string) =>
  ({ chain }: { readonly chain: Chain }) =>
    chain.role === role;

/** The kinds of snapshots that are taken at the end of a day. */
export const STATE_KINDS: readonly StateKind[] = [
  { kind: 'staking_state', isOf: isHomeOf('staking'), take: stakingState },
  { kind: 'validator_set', isOf: isHomeOf('staking'), take: validatorSet },
  // The chain of the staking pallet has the token's issuance too.
  { kind: 'issuance', isOf: isHomeOf('staking'), take: issuance },
  {
    kind: 'treasury_balance',
    isOf: (subject, day) => subject.treasury.length > 0 || isHomeOf('treasury')(subject, day),
    take: treasuryBalance,
  },
  { kind: 'stable_holdings', isOf: hasRole('asset-hub'), take: stableHoldings },
  { kind: 'coretime_config', isOf: hasRole('coretime'), take: coretimeConfig },
  { kind: 'contract_code', isOf: hasRole('asset-hub'), take: contractCode },
  { kind: 'delegations', isOf: isHomeOf('governance'), take: delegations },
  { kind: 'track_table', isOf: isHomeOf('governance'), take: trackTable },
  { kind: 'account_count', isOf: () => true, take: accountCount },
  // Taken at a single block, which `findRenumbering` finds.
  { kind: 'child_bounty_ids', isOf: () => false, take: childBountyIds },
];
