import { lowestOf } from '../../infra/coordination/sequence.ts';
import type { KeyValue } from '../../infra/ports.ts';

/** Key of the leases of all loads that are in progress. */
export const LOAD_LEASES = 'loading';

/**
 * The number below which every load has ended that took its numbers before `upTo` was taken. A lease names a number that
 * is lower than all numbers of its load.
 */
export async function loadedUpTo(keyValue: KeyValue, upTo: bigint): Promise<bigint> {
  const running = (await keyValue.members(LOAD_LEASES)).map((member) => BigInt(member.split('|', 1)[0] ?? 0));
  return lowestOf(running, upTo);
}

/** Whether a load runs in any process. */
export const isLoading = async (keyValue: KeyValue): Promise<boolean> =>
  (await keyValue.members(LOAD_LEASES)).length > 0;
