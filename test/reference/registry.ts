/** The chains that tests use, typed by hand so that the reference shares nothing with the product. */

export type Role = 'relay' | 'asset-hub' | 'coretime' | 'people' | 'bridge-hub' | 'parachain' | 'solo';

export type Chain = {
  readonly name: string;
  readonly relay: string;
  readonly role: Role;
  readonly symbol: string;
  readonly decimals: number;
  /** The SS58 prefix, or the word for chains whose accounts are 20-byte addresses. */
  readonly addresses: number | 'h160';
  readonly aliases: readonly string[];
};

const DOT = { symbol: 'DOT', decimals: 10, addresses: 0 } as const;
const KSM = { symbol: 'KSM', decimals: 12, addresses: 2 } as const;
const WND = { symbol: 'WND', decimals: 12, addresses: 42 } as const;

export const CHAINS: readonly Chain[] = [
  { name: 'polkadot', relay: 'polkadot', role: 'relay', ...DOT, aliases: [] },
  {
    name: 'asset-hub-polkadot',
    relay: 'polkadot',
    role: 'asset-hub',
    ...DOT,
    aliases: ['statemint', 'polkadot_asset_hub', 'assethub'],
  },
  { name: 'coretime-polkadot', relay: 'polkadot', role: 'coretime', ...DOT, aliases: [] },
  { name: 'people-polkadot', relay: 'polkadot', role: 'people', ...DOT, aliases: [] },
  { name: 'bridge-hub-polkadot', relay: 'polkadot', role: 'bridge-hub', ...DOT, aliases: [] },
  parachain('polkadot', 'moonbeam', 'GLMR', 18, 'h160'),
  parachain('polkadot', 'astar', 'ASTR', 18, 5),
  parachain('polkadot', 'hydration', 'HDX', 12, 63, ['hydradx']),
  parachain('polkadot', 'acala', 'ACA', 12, 10),
  parachain('polkadot', 'bifrost', 'BNC', 12, 0),
  { name: 'kusama', relay: 'kusama', role: 'relay', ...KSM, aliases: [] },
  { name: 'asset-hub-kusama', relay: 'kusama', role: 'asset-hub', ...KSM, aliases: ['statemine'] },
  { name: 'coretime-kusama', relay: 'kusama', role: 'coretime', ...KSM, aliases: [] },
  parachain('kusama', 'moonriver', 'MOVR', 18, 'h160'),
  { name: 'westend', relay: 'westend', role: 'relay', ...WND, aliases: [] },
  { name: 'asset-hub-westend', relay: 'westend', role: 'asset-hub', ...WND, aliases: ['westmint'] },
  {
    name: 'polymesh',
    relay: 'solo',
    role: 'solo',
    symbol: 'POLYX',
    decimals: 6,
    addresses: 12,
    aliases: [],
  },
];

/** Relay chains whose chains are also added up into one row named `ecosystem`. */
export const ECOSYSTEM_RELAYS: readonly string[] = ['polkadot', 'kusama', 'westend'];

/** The chain with this canonical name or alias. */
export function findChain(name: string): Chain | undefined {
  return CHAINS.find((chain) => chain.name === name || chain.aliases.includes(name));
}

/** The chain with this canonical name, which must be in the table. */
export function chainNamed(name: string): Chain {
  const chain = findChain(name);
  if (!chain) throw new Error(`no chain ${name} in the reference registry`);
  return chain;
}

function parachain(
  relay: string,
  name: string,
  symbol: string,
  decimals: number,
  addresses: number | 'h160',
  aliases: readonly string[] = [],
): Chain {
  return { name, relay, role: 'parachain', symbol, decimals, addresses, aliases };
}
