import { networkFault } from '../outgoing/network-fault.ts';
import { POST_MS_MAX, post, TargetConnections } from '../outgoing/post.ts';

/** A sweep runs every 30 seconds. */
const SWEEP_MS_MAX = 120_000;
const DUE_MS_MAX = 120_000;

interface PagerState {
  /** Milliseconds since the sweep of this process that ended longest ago. */
  readonly sinceSweepMs: number;
  readonly oldestDueMs: number;
}

/** Why an outside watcher must not be told that the pager works; '' if it works. The figures were just stored. */
export function troubleOf({ sinceSweepMs, oldestDueMs }: PagerState): string {
  if (sinceSweepMs > SWEEP_MS_MAX)
    return `no search for due pages has ended for ${Math.round(sinceSweepMs / 1000)} s`;
  if (oldestDueMs > DUE_MS_MAX) return `a page has been due for ${Math.round(oldestDueMs / 1000)} s`;
  return '';
}

/** Throws if the watcher does not accept the heartbeat. */
export async function postHeartbeat(url: string): Promise<void> {
  // The operator's own watcher may well be in a private network.
  const connections = new TargetConnections(url, { allowsPrivate: true });
  try {
    const { status } = await post(connections, { headers: {}, body: '' });
    if (status < 200 || status > 299) throw new Error(`answered with ${status}`);
  } catch (error) {
    throw new Error(`PAGING_HEARTBEAT_URL was not told: ${networkFault(error, POST_MS_MAX)}`);
  } finally {
    connections.close();
  }
}
