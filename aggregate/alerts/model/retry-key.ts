/** Prefix of retry keys that come from an idempotency key. */
export const NAMED_PREFIX = 'named|';

/** The retry key for an idempotency key. */
export const namedRetryKey = (key: string): string => `${NAMED_PREFIX}${key}`;

/** Whether a retry key comes from an idempotency key, which has a longer window. */
export const isNamed = (retryKey: string): boolean => retryKey.startsWith(NAMED_PREFIX);
