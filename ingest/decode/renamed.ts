// Pallets and events that runtimes renamed, older name to present one. The decoders and the store's SQL read these.

export const RENAMED_PALLETS: Readonly<Record<string, string>> = {
  parasInherent: 'paraInherent',
  parasInclusion: 'paraInclusion',
  electionsPhragmen: 'phragmenElection',
};

/** By the pallet's present name. */
export const RENAMED_EVENTS: Readonly<Record<string, string>> = {
  'staking.Reward': 'Rewarded',
  'staking.Slash': 'Slashed',
};
