import { networkFault } from '../http-client/network-fault.ts';
import { POST_MS_MAX, post, TargetConnections } from '../http-client/post.ts';

/** A sweep runs every 30 seconds. */
const SWEEP_MS_MAX = 120_000;
const DUE_MS_MAX = 120_000;

interface PagerState {
  /** Milliseconds since the last sweep of steps or of deliveries, whichever is older. */
  readonly sinceSweepMs: number;
  readonly oldestDueMs: number;
}

/** The reason not to send the heartbeat; '' if there is none. */
export function heartbeatFault({ sinceSweepMs, oldestDueMs }: PagerState): string {
  if (sinceSweepMs > SWEEP_MS_MAX)
    return `the last search for due pages ended ${Math.round(sinceSweepMs / 1000)} s ago`;
  if (oldestDueMs > DUE_MS_MAX) return `a page has been due for ${Math.round(oldestDueMs / 1000)} s`;
  return '';
}

/** Throws if the monitor does not accept the heartbeat. */
export async function postHeartbeat(url: string): Promise<void> {
  // The operator's own monitor may be in a private network.
  const connections = new TargetConnections(url, { allowsPrivate: true });
  try {
    const { status } = await post(connections, { headers: {}, body: '' });
    if (status < 200 || status > 299) throw new Error(`answered with ${status}`);
  } catch (error) {
    throw new Error(`PAGING_HEARTBEAT_URL: heartbeat not sent: ${networkFault(error, POST_MS_MAX)}`);
  } finally {
    connections.close();
  }
}
