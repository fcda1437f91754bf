/**
 * What a proxy or CDN may answer to every reader. Rows change with a round at most every few seconds, and tell their age:
 * for a minute more a reader is answered at once while the cache asks again, so the origin sees one request of all.
 */
export const SHARED = 'public, max-age=15, stale-while-revalidate=60';
