import type { Clock, Store } from '../../infra/ports.ts';
import type { Registry } from '../chains/registry.ts';
import { chains } from './tables.ts';

/** Writes the registry into the table `chains`, for joins. Runs at every start, since `CHAINS_FILE` may have changed. */
export async function writeRegistry(store: Store, clock: Clock, registry: Registry): Promise<void> {
  const revision = clock.now();
  await store.insert(
    chains,
    registry.chains.map((chain) => ({
      relay_chain: chain.relay_chain,
      chain: chain.name,
      token: chain.token,
      decimals: chain.decimals,
      prefix: chain.ss58_prefix,
      role: chain.role,
      block_times: chain.block_times,
      revision,
    })),
  );
}
