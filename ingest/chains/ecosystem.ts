/** The chain of rows that are of a relay chain with all its chains. No chain may have this name. */
export const ECOSYSTEM = 'ecosystem';
