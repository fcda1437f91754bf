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
  { keyValue, clock, isShared }: Pick<Runtime, 'keyValue' | 'clock' | 'isShared'>,
  { LIMITS_WITHOUT_REDIS }: Pick<HttpSettings, 'LIMITS_WITHOUT_REDIS'>,
): LimitCounts {
  if (!isShared || LIMITS_WITHOUT_REDIS === 'refuse') return keyValue;
  const own = new EmbeddedKeyValue(clock);
  const orOwn = async <T>(count: (counts: LimitCounts) => Promise<T>): Promise<T> => {
    try {
      return await count(keyValue);
    } catch (error) {
      if (error instanceof ProductError && error.code === 'service_unreachable') return count(own);
      throw error;
    }
  };
  return {
    get: (key) => orOwn((counts) => counts.get(key)),
    increment: (key, by, ttlMs) => orOwn(async (counts) => counts.increment(key, by, ttlMs)),
  };
}
