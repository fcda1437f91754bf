import { setTimeout } from 'node:timers/promises';
import { ProductError, reasonOf } from '../errors.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;

/**
 * Asks a service again, later and later, until it answers or its time is over. `refusal` names what waiting would
 * not heal. Throws `service_refused` or `service_unreachable` with the setting that says where it was looked for.
 */
export async function retryUntilReady<T>(
  setting: string,
  seconds: number,
  ask: () => Promise<T>,
  refusal: (error: unknown) => ProductError | null,
): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      return await ask();
    } catch (error) {
      const refused = refusal(error);
      if (refused) throw refused;
      if (performance.now() + wait > deadline) {
        const detail = error instanceof ProductError ? (error.detail ?? error.message) : reasonOf(error);
        throw new ProductError(
          'service_unreachable',
          `${setting}: no answer within SERVICE_WAIT_SECONDS=${seconds}; start it or correct the setting`,
          detail,
        );
      }
      await setTimeout(wait);
    }
  }
}
