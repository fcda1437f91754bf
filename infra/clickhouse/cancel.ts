import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { ignore } from '../ignore.ts';
import { literal } from '../sql.ts';

const WAIT_MS = 20;
const WAIT_MS_MAX = 1000;

/**
 * Runs a query and cancels it when the signal is aborted. Neither chDB nor a closed connection to ClickHouse ends a
 * query, so another connection kills the query by its name. It repeats the KILL until the query has ended, since the
 * query may not have begun. Then the function rejects with the reason of the signal, and the connection is free.
 */
export async function cancellable<T>(
  signal: AbortSignal | undefined,
  query: (settings: readonly string[]) => Promise<T>,
  kill: (condition: string) => Promise<unknown>,
): Promise<T> {
  if (signal === undefined) return query([]);
  signal.throwIfAborted();
  const name = literal(randomUUID());
  let hasEnded = false;
  const cancel = async () => {
    for (let wait = WAIT_MS; !hasEnded; wait = Math.min(wait * 2, WAIT_MS_MAX)) {
      await kill(`Settings['log_comment'] = ${name}`).catch(ignore('store.cancel'));
      if (!hasEnded) await setTimeout(wait);
    }
  };
  const onAbort = () => void cancel();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await query([`log_comment=${name}`]);
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    hasEnded = true;
    signal.removeEventListener('abort', onAbort);
  }
}

export const killStatement = (condition: string, onCluster = ''): string =>
  `KILL QUERY${onCluster} WHERE ${condition} ASYNC`;
