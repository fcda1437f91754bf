/** Of the retry keys of deliveries with an idempotency key. */
export const NAMED_PREFIX = 'named|';

/** Retry key of a delivery that its sender gave an idempotency key. */
export const namedRetryKey = (key: string): string => `${NAMED_PREFIX}${key}`;

/** Whether the sender gave the delivery an idempotency key, which is remembered for longer. */
export const isNamed = (retryKey: string): boolean => retryKey.startsWith(NAMED_PREFIX);
