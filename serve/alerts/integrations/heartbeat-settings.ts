import { plainAlternatives } from '../../../aggregate/alerts/matchers/expression.ts';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { RequestRefused } from '../model/access.ts';
import { requireSelectiveMatchers } from '../model/entered-matchers.ts';
import type { Integration } from '../model/tables.ts';

const MINUTES_MAX = 10_080;
/** Of a new integration: the alerts of common rule sets that fire always. */
export const HEARTBEAT_MATCHERS = 'alertname=~"Watchdog|DeadMansSwitch"';

/** What `heartbeat_minutes` do, as the page and the API say it. */
export const HEARTBEAT_HELP =
  'Creates an alert after this many minutes without a beat. Every request is a beat until the integration receives a Watchdog; then each Watchdog is watched on its own.';

type HeartbeatSettings = Pick<Integration, 'heartbeat_minutes' | 'heartbeat_matchers'>;

/** The settings of a heartbeat after a change. */
export function heartbeatSettings(
  current: HeartbeatSettings,
  changes: Partial<HeartbeatSettings>,
): HeartbeatSettings {
  const { heartbeat_minutes = current.heartbeat_minutes } = changes;
  if (!(heartbeat_minutes >= 0 && heartbeat_minutes <= MINUTES_MAX))
    throw new RequestRefused('bad_request', `Enter 0 to ${MINUTES_MAX} minutes.`, 'heartbeat_minutes');
  const heartbeat_matchers = (changes.heartbeat_matchers ?? current.heartbeat_matchers).trim();
  if (heartbeat_matchers !== '')
    requireQuick(requireSelectiveMatchers(heartbeat_matchers, 'heartbeat_matchers'));
  return { heartbeat_minutes, heartbeat_matchers };
}

/** Each alert of a delivery is compared while its sender waits. */
function requireQuick(list: readonly Matcher[]): void {
  if (list.every(({ isRegex, value }) => !isRegex || plainAlternatives(value) !== null)) return;
  const text =
    'Write the values of a heartbeat out, with bars between them: alertname=~"Watchdog|DeadMansSwitch".';
  throw new RequestRefused('bad_request', text, 'heartbeat_matchers');
}
