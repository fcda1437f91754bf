/**
 * Parses a `Retry-After` header, seconds or a date (RFC 9110 §10.2.3), into milliseconds from now; null if it is missing
 * or invalid.
 */
export function parseRetryAfter(text: string | null | undefined): number | null {
  if (text === null || text === undefined) return null;
  const wait = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(wait) ? null : Math.max(0, wait);
}
