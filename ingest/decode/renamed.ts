// Pallets and events that runtimes renamed: from the older name to the present one. TypeScript and SQL both use these.

export const RENAMED_PALLETS: Readonly<Record<string, string>> = {
  parasInherent: 'paraInherent',
  parasInclusion: 'paraInclusion',
  electionsPhragmen: 'phragmenElection',
};

/** Keys contain the present name of the pallet. */
export const RENAMED_EVENTS: Readonly<Record<string, string>> = {
  'staking.Reward': 'Rewarded',
  'staking.Slash': 'Slashed',
};
