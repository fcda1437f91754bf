/**
 * `Cache-Control` of public data. After 15 seconds a CDN still serves its copy for a minute while it revalidates, so the
 * server sees one request. A copy that is a minute old does no harm: headers tell the age of the rows.
 */
export const PUBLIC_CACHE_CONTROL = 'public, max-age=15, stale-while-revalidate=60';
