// Delays between retries. Pure functions.

/** Wait before the second attempt; it doubles with each further one. */
const RETRY_MS = 2000;
/** A random wait is never shorter. */
const RETRY_MS_MIN = 1000;
/** Attempts to send an event that the receiver refuses while it may accept others. */
export const REFUSED_ATTEMPTS_MAX = 3;

/** The wait after a number of failures: random up to a limit that doubles ("full jitter"). */
export function retryDelayMs(failures: number, maxMs: number, random: () => number = Math.random): number {
  const limit = Math.min(maxMs, RETRY_MS * 2 ** Math.min(failures - 1, 30));
  return Math.round(Math.max(Math.min(RETRY_MS_MIN, maxMs), random() * limit));
}

/** Client errors that say that the receiver, and not the request, is at fault. */
const TEMPORARY = new Set([408, 425, 429]);

/** Whether the receiver refuses this request in particular, while it may accept others. */
export const isRefusal = (status: number): boolean => status >= 300 && status < 500 && !TEMPORARY.has(status);
