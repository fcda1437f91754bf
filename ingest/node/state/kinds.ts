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
  /** Whether the chain has it on a day: staking, governance and treasury moved to the asset hubs. */
  readonly isOf: (subject: Subject, day: string) => boolean;
  /** The payload. Throws MissingItem for what the runtime does not keep: a field is never 0 for that. */
  readonly take: (state: BlockState, subject: Subject) => Promise<object>;
}

const livesThere =
  (what: 'staking' | 'governance' | 'treasury') =>
  ({ chain, registry }: Subject, day: string) =>
    isHome(registry, chain, what, day);
const hasRole =
  (role: string) =>
  ({ chain }: { readonly chain: Chain }) =>
    chain.role === role;

/** What is read of a chain's state at the end of a day. */
export const STATE_KINDS: readonly StateKind[] = [
  { kind: 'staking_state', isOf: livesThere('staking'), take: stakingState },
  { kind: 'validator_set', isOf: livesThere('staking'), take: validatorSet },
  // Where staking lives, its token does.
  { kind: 'issuance', isOf: livesThere('staking'), take: issuance },
  {
    kind: 'treasury_balance',
    isOf: (subject, day) => subject.treasury.length > 0 || livesThere('treasury')(subject, day),
    take: treasuryBalance,
  },
  { kind: 'stable_holdings', isOf: hasRole('asset-hub'), take: stableHoldings },
  { kind: 'coretime_config', isOf: hasRole('coretime'), take: coretimeConfig },
  { kind: 'contract_code', isOf: hasRole('asset-hub'), take: contractCode },
  { kind: 'delegations', isOf: livesThere('governance'), take: delegations },
  { kind: 'track_table', isOf: livesThere('governance'), take: trackTable },
  { kind: 'account_count', isOf: () => true, take: accountCount },
  // Of one block in the life of a chain: `findRenumbering` looks for it.
  { kind: 'child_bounty_ids', isOf: () => false, take: childBountyIds },
];
