/** Pallets whose calls metrics read, at the top level and nested. */
export const FACT_PALLETS: readonly string[] = [
  'polkadotXcm',
  'xcmPallet',
  'xTokens',
  'convictionVoting',
  'referenda',
  'bounties',
  'childBounties',
  'multiAssetBounties',
  'treasury',
  'broker',
  'revive',
];
/** Calls that create contracts. */
export const INSTANTIATIONS: readonly string[] = [
  'instantiate',
  'instantiateWithCode',
  'ethInstantiateWithCode',
];
/** Calls that change the curator of a bounty or a child bounty. */
export const CURATOR_CALLS: readonly string[] = ['proposeCurator', 'acceptCurator', 'unassignCurator'];
export const FACT_CALLS: readonly string[] = [
  'system.remark',
  ...INSTANTIATIONS.map((call) => `contracts.${call}`),
];

const pallets = new Set(FACT_PALLETS);
const calls = new Set(FACT_CALLS);
export const isFactCall = ({ pallet, call }: { readonly pallet: string; readonly call: string }): boolean =>
  pallets.has(pallet) || calls.has(`${pallet}.${call}`);
