import { describe, expect, it } from 'vitest';
import type { Chain } from '../../../ingest/chains/chain.ts';
import { isFirstHome, isHome } from '../../../ingest/chains/homes.ts';
import { loadRegistry } from '../../../ingest/chains/registry.ts';

const registry = loadRegistry();
const chain = (name: string) => registry.find(name) as Chain;

describe('what moved to the asset hubs', () => {
  it.each([
    ['polkadot', '2025-11-03', true],
    ['polkadot', '2025-11-04', false],
    ['asset-hub-polkadot', '2025-11-03', false],
    ['asset-hub-polkadot', '2025-11-04', true],
    ['polkadot', '2020-05-25', false],
    ['kusama', '2025-10-06', true],
    ['kusama', '2025-10-07', false],
    ['westend', '2026-11-01', true],
    ['coretime-polkadot', '2026-11-01', false],
  ])('lives on %s on %s: %s', (name, day, lives) => {
    for (const what of ['staking', 'governance', 'treasury'] as const)
      expect(isHome(registry, chain(name), what, day)).toBe(lives);
  });

  it('lived on the relay chain first', () => {
    expect(isFirstHome(registry, chain('kusama'), 'treasury')).toBe(true);
    expect(isFirstHome(registry, chain('asset-hub-kusama'), 'treasury')).toBe(false);
    expect(isFirstHome(registry, chain('moonbeam'), 'treasury')).toBe(false);
  });
});
