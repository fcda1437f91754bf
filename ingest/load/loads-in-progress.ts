import { lowestOf } from '../../infra/coordination/sequence.ts';
import type { KeyValue } from '../../infra/ports.ts';

/** Group of the leases of all loads in progress. */
export const LOAD_LEASES = 'loading';

/**
 * The number below which all loads have ended: the lowest number of a running load, or `upTo` if none runs. A lease names a
 * number that is lower than all numbers of its load. `upTo` must be taken before the call.
 */
export async function loadedUpTo(keyValue: KeyValue, upTo: bigint): Promise<bigint> {
  const running = (await keyValue.members(LOAD_LEASES)).map((member) => BigInt(member.split('|', 1)[0] ?? 0));
  return lowestOf(running, upTo);
}

/** Whether a load runs in any process. */
export const isLoading = async (keyValue: KeyValue): Promise<boolean> =>
  (await keyValue.members(LOAD_LEASES)).length > 0;
