import type { ChainInput } from './chain.ts';

// The built-in chains. Prefixes, tokens and decimals come from the public SS58 registry, para ids from the relay chains.
// CHAINS_FILE adds more.

/** The first day on which staking, governance or treasury is on a chain. */
const since = (day: string) => ({ since: day });

/** The staking, governance and treasury of a relay's token move together when they move to an asset hub. */
const homeOfTheToken = (day: string) => ({
  staking: since(day),
  governance: since(day),
  treasury: since(day),
});

const RELAYS = {
  polkadot: { ss58_prefix: 0, token: 'DOT', decimals: 10 },
  kusama: { ss58_prefix: 2, token: 'KSM', decimals: 12 },
  westend: { ss58_prefix: 42, token: 'WND', decimals: 12 },
} as const;
type Relay = keyof typeof RELAYS;

const relay = (name: Relay, birth: string): ChainInput => ({
  name,
  aliases: [`${name}-relay`, `${name}_relay`],
  relay_chain: name,
  para_id: null,
  role: 'relay',
  ...RELAYS[name],
  ...homeOfTheToken(birth),
  valid_from: birth,
});

/** System chains use the relay's own token and address prefix. */
const system = (on: Relay, role: string, para_id: number, more: Partial<ChainInput> = {}): ChainInput => ({
  name: `${role}-${on}`,
  relay_chain: on,
  para_id,
  role,
  ...RELAYS[on],
  ...more,
  aliases: [
    `${on}-${role}`,
    `${on}_${role.replaceAll('-', '_')}`,
    ...(role.includes('-') ? [`${role.replaceAll('-', '')}-${on}`] : []),
    ...(more.aliases ?? []),
  ],
});

const para =
  (on: Relay | 'solo') =>
  (
    name: string,
    para_id: number | null,
    ss58_prefix: number,
    token: string,
    decimals: number,
    more: Partial<ChainInput> = {},
  ): ChainInput => ({
    name,
    relay_chain: on,
    para_id,
    ss58_prefix,
    token,
    decimals,
    role: on === 'solo' ? 'solo' : 'parachain',
    ...more,
  });

const onPolkadot = para('polkadot');
const onKusama = para('kusama');
const solo = para('solo');
const defi = { role: 'defi' };
const h160 = { accounts: 'h160' as const };
const also = (...aliases: string[]) => ({ aliases });

export const CHAINS: ChainInput[] = [
  relay('polkadot', '2020-05-26'),
  system('polkadot', 'asset-hub', 1000, {
    ...also('statemint', 'assethub'),
    ...homeOfTheToken('2025-11-04'),
  }),
  system('polkadot', 'collectives', 1001, also('collectives')),
  system('polkadot', 'bridge-hub', 1002),
  system('polkadot', 'people', 1004),
  system('polkadot', 'coretime', 1005),

  relay('kusama', '2019-11-28'),
  system('kusama', 'asset-hub', 1000, { ...also('statemine'), ...homeOfTheToken('2025-10-07') }),
  onKusama('encointer', 1001, 2, 'KSM', 12, { role: 'encointer', ...also('encointer-kusama') }),
  system('kusama', 'bridge-hub', 1002),
  system('kusama', 'people', 1004),
  system('kusama', 'coretime', 1005),

  relay('westend', '2020-01-01'),
  system('westend', 'asset-hub', 1000, also('westmint')),
  system('westend', 'collectives', 1001),
  system('westend', 'bridge-hub', 1002),
  system('westend', 'people', 1004),
  system('westend', 'coretime', 1005),

  onPolkadot('acala', 2000, 10, 'ACA', 12, defi),
  onPolkadot('clover', 2002, 128, 'CLV', 18),
  onPolkadot('moonbeam', 2004, 1284, 'GLMR', 18, h160),
  onPolkadot('astar', 2006, 5, 'ASTR', 18, defi),
  onPolkadot('kapex', 2007, 2007, 'KAPEX', 12, also('totem')),
  onPolkadot('crust-parachain', 2008, 66, 'CRU', 12, also('crust-polkadot')),
  onPolkadot('equilibrium', 2011, 68, 'EQ', 9, defi),
  onPolkadot('parallel', 2012, 172, 'PARA', 12, defi),
  onPolkadot('litentry', 2013, 31, 'HEI', 18, also('heima')),
  onPolkadot('composable', 2019, 50, 'LAYR', 12, defi),
  onPolkadot('efinity', 2021, 1110, 'EFI', 18),
  onPolkadot('sora-polkadot', 2025, 81, 'XOR', 18),
  onPolkadot('nodle', 2026, 37, 'NODL', 11),
  onPolkadot('bifrost', 2030, 6, 'BNC', 12, { ...defi, ...also('bifrost-polkadot', 'bifrost_polkadot') }),
  onPolkadot('centrifuge', 2031, 36, 'CFG', 18, defi),
  onPolkadot('interlay', 2032, 2032, 'INTR', 10, defi),
  onPolkadot('hydration', 2034, 63, 'HDX', 12, { ...defi, ...also('hydradx') }),
  onPolkadot('phala', 2035, 30, 'PHA', 12),
  onPolkadot('unique', 2037, 7391, 'UNQ', 18),
  onPolkadot('integritee', 2039, 13, 'TEER', 12, also('integritee-polkadot')),
  onPolkadot('polkadex', 2040, 89, 'PDEX', 12, { ...defi, ...also('polkadex-parachain') }),
  onPolkadot('neuroweb', 2043, 101, 'NEURO', 12, also('origintrail', 'origintrail-parachain')),
  onPolkadot('darwinia', 2046, 18, 'RING', 18, h160),
  onPolkadot('bitgreen', 2048, 2106, 'BBB', 18),
  onPolkadot('ajuna', 2051, 1328, 'AJUN', 12),
  onPolkadot('aventus', 2056, 65, 'AVT', 18),
  onPolkadot('watr', 2058, 19, 'WATR', 18),
  onPolkadot('kilt', 2086, 38, 'KILT', 15, also('spiritnet', 'kilt-spiritnet')),
  onPolkadot('frequency', 2091, 90, 'FRQCY', 8),
  onPolkadot('zeitgeist', 2092, 73, 'ZTG', 10, defi),
  onPolkadot('hashed', 2093, 9072, 'HASH', 18),
  onPolkadot('pendulum', 2094, 56, 'PEN', 12, defi),
  onPolkadot('subsocial', 2101, 28, 'SUB', 10),
  onPolkadot('manta', 2104, 77, 'MANTA', 18),
  onPolkadot('t3rn', 3333, 9935, 'TRN', 12),
  onPolkadot('moonsama', 3334, 2199, 'SAMA', 18, h160),
  onPolkadot('peaq', 3338, 1221, 'PEAQ', 18),
  onPolkadot('invarch', 3340, 117, 'VARCH', 12),
  onPolkadot('polimec', 3344, 41, 'PLMC', 10),
  onPolkadot('energywebx', 3345, 64, 'EWT', 18, also('ewx', 'energy-web-x')),
  onPolkadot('continuum', 3346, 268, 'NUUM', 18),
  onPolkadot('logion', 3354, 2021, 'LGNT', 18),
  onPolkadot('hyperbridge', 3367, 0, 'BRIDGE', 12, also('nexus', 'hyperbridge-nexus')),
  onPolkadot('mythos', 3369, 29972, 'MYTH', 18, h160),
  onPolkadot('laos', 3370, 42, 'LAOS', 18, h160),

  onKusama('karura', 2000, 8, 'KAR', 12, defi),
  onKusama('bifrost-kusama', 2001, 6, 'BNC', 12, { ...defi, ...also('bifrost_kusama') }),
  onKusama('khala', 2004, 30, 'PHA', 12),
  onKusama('shiden', 2007, 5, 'SDN', 18, defi),
  onKusama('sora-kusama', 2011, 420, 'XOR', 18),
  onKusama('shadow', 2012, 66, 'CSM', 12, also('crust-shadow')),
  onKusama('integritee-kusama', 2015, 13, 'TEER', 12),
  onKusama('moonriver', 2023, 1285, 'MOVR', 18, h160),
  onKusama('genshiro', 2024, 67, 'GENS', 9, defi),
  onKusama('robonomics', 2048, 32, 'XRT', 9),
  onKusama('calamari', 2084, 78, 'KMA', 12),
  onKusama('heiko', 2085, 110, 'HKO', 12, { ...defi, ...also('parallel-heiko') }),
  onKusama('picasso', 2087, 49, 'PICA', 12, defi),
  onKusama('altair', 2088, 136, 'AIR', 18, defi),
  onKusama('basilisk', 2090, 10041, 'BSX', 12, defi),
  onKusama('kintsugi', 2092, 2092, 'KINT', 12, defi),
  onKusama('quartz', 2095, 255, 'QTZ', 18),
  onKusama('pioneer', 2096, 268, 'NEER', 18, also('bit-country-pioneer')),
  onKusama('crab', 2105, 42, 'CRAB', 18, { ...h160, ...also('darwinia-crab') }),
  onKusama('litmus', 2106, 131, 'LIT', 12),
  onKusama('mangata', 2110, 42, 'MGX', 18, { ...defi, ...also('mangatax') }),
  onKusama('kabocha', 2113, 27, 'KAB', 12),
  onKusama('turing', 2114, 51, 'TUR', 10),
  onKusama('bajun', 2119, 1337, 'BAJU', 12),
  onKusama('imbue', 2121, 42, 'IMBU', 12),
  onKusama('gm', 2123, 7013, 'FREN', 12),
  onKusama('amplitude', 2124, 57, 'AMPE', 12, defi),
  onKusama('tinkernet', 2125, 117, 'TNKR', 12, also('invarch-tinkernet')),
  onKusama('krest', 2241, 1222, 'KREST', 18),
  onKusama('curio', 3339, 777, 'CGT', 18),

  solo('aleph-zero', null, 42, 'AZERO', 12, also('alephzero')),
  solo('avail', null, 42, 'AVAIL', 18),
  solo('bittensor', null, 42, 'TAO', 9),
  solo('cere', null, 54, 'CERE', 10),
  solo('chainflip', null, 2112, 'FLIP', 18),
  solo('chainx', null, 44, 'PCX', 8),
  solo('edgeware', null, 7, 'EDG', 18),
  solo('humanode', null, 5234, 'HMND', 18),
  solo('joystream', null, 126, 'JOY', 10),
  solo('polymesh', null, 12, 'POLYX', 6),
  solo('ternoa', null, 42, 'CAPS', 18),
  solo('vara', null, 137, 'VARA', 12),
  solo('xx-network', null, 55, 'XX', 9, also('xxnetwork')),
];
