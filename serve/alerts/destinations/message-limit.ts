import { AttemptRefused } from '../../accounts/attempts.ts';
import type { Limiter } from '../../http/limiter.ts';

/** Counts a code or a test message of a caller. Throws if there are too many. */
export async function requireWithinLimit(limiter: Limiter, caller: string): Promise<void> {
  const { isExceeded, reset } = await limiter.count(caller);
  if (isExceeded) throw AttemptRefused.usedUp(reset);
}
