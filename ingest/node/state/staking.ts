import { z } from 'zod';
import type { Subject } from '../../sources/snapshot-line.ts';
import { amount, count, palletAccount, u32 } from './shapes.ts';
import type { BlockState } from './state.ts';

const ledger = z.object({
  stash: z.string(),
  active: amount,
  unlocking: z.array(z.object({ value: amount })),
});
const era = z.object({ index: count });

/** Index of the current era. */
async function activeEra(state: BlockState): Promise<number> {
  const active = await state.value('Staking', 'ActiveEra');
  if (active === null) throw new Error('no era has begun yet');
  return era.parse(active).index;
}

/**
 * Addresses of the validators that produce or back blocks. The session of an asset hub lists collators, so on a hub these
 * are the elected validators of the active era.
 */
async function activeValidators(state: BlockState, { chain }: Subject): Promise<string[]> {
  if (chain.role !== 'asset-hub')
    return z.array(z.string()).parse(await state.value('Session', 'Validators'));
  const elected: string[] = [];
  const eraKey = u32(await activeEra(state));
  for await (const page of state.keys('Staking', 'ErasStakersOverview', eraKey)) {
    for (const [, validator] of page) elected.push(z.string().parse(validator));
  }
  return elected;
}

/**
 * Counts and sums over all ledgers. `staked` is the active part. `unbonding` includes chunks that can be withdrawn
 * already. The members of a pool count as stakers, its account does not.
 */
export async function stakingState(state: BlockState, subject: Subject): Promise<object> {
  const poolStashes = await poolAccounts(state);
  const stakers = new Set<string>();
  let [staked, stakedInPools, unbonding] = [0n, 0n, 0n];
  for await (const page of state.entries('Staking', 'Ledger')) {
    for (const { value } of page) {
      const { stash, active, unlocking } = ledger.parse(value);
      staked += active;
      for (const chunk of unlocking) unbonding += chunk.value;
      if (poolStashes.has(stash)) stakedInPools += active;
      else stakers.add(stash);
    }
  }
  let members = 0;
  for await (const page of state.keys('NominationPools', 'PoolMembers')) {
    members += page.length;
    for (const [member] of page) stakers.add(z.string().parse(member));
  }
  return {
    active_era: await activeEra(state),
    validators: (await activeValidators(state, subject)).length,
    nominators: count.parse(await state.value('Staking', 'CounterForNominators')),
    pools: poolStashes.size,
    pool_members: members,
    addresses_staking: stakers.size,
    staked: String(staked),
    staked_in_pools: String(stakedInPools),
    unbonding: String(unbonding),
    min_active_stake: String(amount.parse(await state.value('Staking', 'MinimumActiveStake'))),
  };
}

/** Addresses of the accounts from which pools stake: the pallet's sub-account of kind 0 for each pool. */
async function poolAccounts(state: BlockState): Promise<Set<string>> {
  const accounts = new Set<string>();
  for await (const page of state.keys('NominationPools', 'BondedPools')) {
    for (const [id] of page) {
      const pool = Buffer.concat([Buffer.of(0), u32(count.parse(id))]);
      accounts.add(state.address(palletAccount(state.constant('NominationPools', 'PalletId'), pool)));
    }
  }
  return accounts;
}

export async function validatorSet(state: BlockState, subject: Subject): Promise<object> {
  const active = await activeValidators(state, subject);
  const inSession = new Set(active);
  let waiting = 0;
  for await (const page of state.keys('Staking', 'Validators')) {
    for (const [validator] of page) if (!inSession.has(z.string().parse(validator))) waiting++;
  }
  const nominators = count.parse(await state.value('Staking', 'CounterForNominators'));
  return { active, waiting, nominators };
}
