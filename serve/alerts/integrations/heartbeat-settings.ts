import { plainAlternatives } from '../../../aggregate/alerts/matchers/expression.ts';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { RequestRefused } from '../model/access.ts';
import { requireSelectiveMatchers } from '../model/entered-matchers.ts';
import type { Integration } from '../model/tables.ts';

const MINUTES_MAX = 10_080;
/** Default of a new integration: the always-firing alerts of common rule sets. */
export const HEARTBEAT_MATCHERS = 'alertname=~"Watchdog|DeadMansSwitch"';

/** Help text of `heartbeat_minutes`, for the page and the API. */
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

/** Allows only matchers that are cheap to evaluate, because the sender waits while each alert is matched. */
function requireQuick(list: readonly Matcher[]): void {
  if (list.every(({ isRegex, value }) => !isRegex || plainAlternatives(value) !== null)) return;
  const text =
    'Use a list of plain values instead of a regular expression, such as alertname=~"Watchdog|DeadMansSwitch".';
  throw new RequestRefused('bad_request', text, 'heartbeat_matchers');
}
