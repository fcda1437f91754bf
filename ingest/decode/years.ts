/**
 * The valid years of blocks and snapshots. Another time would add empty days from 1970 on, or up to 2200, to the uptime of
 * the chain.
 */
export const YEARS = { from: 2015, until: 2100 } as const;
export const EARLIEST_MS = Date.UTC(YEARS.from, 0);
export const LATEST_MS = Date.UTC(YEARS.until, 0) - 1;
