import { EmbeddedKeyValue } from '../../infra/embedded/key-value.ts';
import { ProductError } from '../../infra/errors.ts';
import type { KeyValue, Runtime } from '../../infra/ports.ts';
import type { HttpSettings } from './settings.ts';

/** Where limits count. */
export type LimitCounts = Pick<KeyValue, 'get' | 'increment'>;

/**
 * The counts that all servers share. While these do not answer, each server counts by itself or refuses, as
 * LIMITS_WITHOUT_REDIS says.
 */
export function limitCounts(
  { keyValue, clock }: Pick<Runtime, 'keyValue' | 'clock'>,
  { LIMITS_WITHOUT_REDIS }: Pick<HttpSettings, 'LIMITS_WITHOUT_REDIS'>,
): LimitCounts {
  if (LIMITS_WITHOUT_REDIS === 'refuse') return keyValue;
  const own = new EmbeddedKeyValue(clock);
  // A count that is known at once stays so: an answer that is sent again does not wait for it.
  const orOwn = <T>(shared: T | Promise<T>, count: () => T | Promise<T>): T | Promise<T> =>
    shared instanceof Promise
      ? shared.catch((error) => {
          if (error instanceof ProductError && error.code === 'service_unreachable') return count();
          throw error;
        })
      : shared;
  return {
    get: async (key) => orOwn(keyValue.get(key), () => own.get(key)),
    increment: (key, by, ttlMs) =>
      orOwn(keyValue.increment(key, by, ttlMs), () => own.increment(key, by, ttlMs)),
  };
}
