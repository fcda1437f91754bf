/** The chain name of rows that aggregate a relay chain and all its chains. No chain may have this name. */
export const ECOSYSTEM = 'ecosystem';
