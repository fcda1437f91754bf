import { type Finding, fine, warning } from '../../infra/finding.ts';
import type { Store } from '../../infra/ports.ts';
import { readUnreadCalls, unreadCallsText } from '../../ingest/raw/unknown-wrappers.ts';

/** Whether blocks hold calls of which this program cannot tell whether they ran. */
export async function checkWrappers(store: Pick<Store, 'rows'>): Promise<Finding> {
  const unread = await readUnreadCalls(store);
  const text = unreadCallsText(unread);
  if (unread.calls === 0) return fine('wrappers', text);
  return warning('wrappers', text, 'no metric counts them; look for a version that knows these wrappers');
}
