// Delays between retries. Pure functions.

/** Delay before the second attempt. It doubles with each further attempt. */
const RETRY_MS = 2000;
/** Lower limit of a random delay. */
const RETRY_MS_MIN = 1000;
/** Attempts to send an event before it is given up, if the receiver refuses this event in particular. */
export const REFUSED_ATTEMPTS_MAX = 3;

/** The wait after a number of failures: random up to a limit that doubles ("full jitter"). */
export function retryDelayMs(failures: number, maxMs: number, random: () => number = Math.random): number {
  const limit = Math.min(maxMs, RETRY_MS * 2 ** Math.min(failures - 1, 30));
  return Math.round(Math.max(Math.min(RETRY_MS_MIN, maxMs), random() * limit));
}

/** Client errors for which the receiver, not the request, is at fault. */
const TEMPORARY = new Set([408, 425, 429]);

/** True if the receiver refuses this request in particular and may accept others. */
export const isRefusal = (status: number): boolean => status >= 300 && status < 500 && !TEMPORARY.has(status);
