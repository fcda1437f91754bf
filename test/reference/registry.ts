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
  /** The hash of its first block; null where nobody has told it. */
  readonly genesis: string | null;
};

const GENESIS: Readonly<Record<string, string>> = {
  polkadot: '0x91b171bb158e2d3848fa23a9f1c25182fb8e20313b2c1eb49219da7a70ce90c3',
  'asset-hub-polkadot': '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f',
  'coretime-polkadot': '0xefb56e30d9b4a24099f88820987d0f45fb645992416535d87650d98e00f46fc4',
  'people-polkadot': '0x67fa177a097bfa18f77ea95ab56e9bcdfeb0e5b8a40e46298bb93e16b6fc5008',
  'bridge-hub-polkadot': '0xdcf691b5a3fbe24adc99ddc959c0561b973e329b1aef4c4b22e7bb2ddecb4464',
  moonbeam: '0xfe58ea77779b7abda7da4ec526d14db9b1e9cd40a217c34892af80a9b332b76d',
  astar: '0x9eb76c5184c4ab8679d2d5d819fdf90b9c001403e9e17da2e14b6d8aec4029c6',
  hydration: '0xafdc188f45c71dacbaa0b62e16a91f726c7b8699a9748cdf715459de6b7f366d',
  acala: '0xfc41b9bd8ef8fe53d58c7ea67c794c7ec9a73daf05e6d54b14ff6342c99ba64c',
  bifrost: '0x262e1b2ad728475fd6fe88e62d34c200abe6fd693931ddad144059b1eb884e5b',
  kusama: '0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe',
  'asset-hub-kusama': '0x48239ef607d7928874027a43a67689209727dfb3d3dc5e5b03a39bdc2eda771a',
  'coretime-kusama': '0x638cd2b9af4b3bb54b8c1f0d22711fc89924ca93300f0caf25a580432b29d050',
  moonriver: '0x401a1f9dca3da46f5c4091016c8a2f26dcea05865116b286f60f668207d1474b',
  westend: '0xe143f23803ac50e8f6f8e62695d1ce9e4e1d68aa36c1cd2cfd15340213f3423e',
  'asset-hub-westend': '0x67f9723393ef76214df0118c34bbbd3dbebc8ed46a10973a8c969d48fe7598c9',
};

const DOT = { symbol: 'DOT', decimals: 10, addresses: 0 } as const;
const KSM = { symbol: 'KSM', decimals: 12, addresses: 2 } as const;
const WND = { symbol: 'WND', decimals: 12, addresses: 42 } as const;

const NAMED: readonly Omit<Chain, 'genesis'>[] = [
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

export const CHAINS: readonly Chain[] = NAMED.map((chain) => ({
  ...chain,
  genesis: GENESIS[chain.name] ?? null,
}));

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
): Omit<Chain, 'genesis'> {
  return { name, relay, role: 'parachain', symbol, decimals, addresses, aliases };
}
