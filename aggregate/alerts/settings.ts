import { z } from 'zod';
import { whole, yesNo } from '../../infra/config/kinds.ts';

/** Settings of alerts: what is accepted, how it is grouped, and how it is delivered. */
export const alertSettings = {
  ALERT_BODY_BYTES_MAX: whole(2 ** 20, 1024, 2 ** 26).describe('largest body of an alert request'),
  ALERT_DEPTH_MAX: whole(100, 1, 1000).describe(
    'how deep lists and objects of an alert may stand in each other',
  ),
  ALERT_TITLE_CHARACTERS: whole(200, 10, 10_000).describe('longest title of an alert; longer ones are cut'),
  ALERT_DESCRIPTION_CHARACTERS: whole(1000, 10, 100_000).describe(
    'longest description of an alert; longer ones are cut',
  ),
  ALERT_RETRY_WINDOW_SECONDS: whole(60, 0, 86_400).describe(
    'time after a delivery in which the same one sent again does not count',
  ),
  ALERT_IDEMPOTENCY_HOURS: whole(24, 0, 168).describe('time for which an Idempotency-Key is remembered'),
  ALERT_RETRY_KEYS_MAX: whole(1_000_000, 1000).describe(
    'deliveries of a project that are remembered to know retries; the oldest are forgotten first',
  ),
  ALERT_OPEN_CACHED: whole(100_000, 0).describe('unresolved alerts of a project that are kept in memory'),
  ALERT_PENDING_BYTES_MAX: whole(128 * 2 ** 20, 2 ** 16).describe(
    'bytes of alerts that may wait to be written; above it requests are answered with 503',
  ),
  ALERT_LOG_SECONDS_MAX: whole(5, 1, 60).describe(
    'longest time in which the log has to keep an alert; above it requests are answered with 503',
  ),
  ALERT_ANSWER_SECONDS_MAX: whole(10, 1, 60).describe(
    'longest time in which the request of a durable alert waits for its result; then the answer is `[]`, or 503 to a named delivery',
  ),
  ALERT_PRIVATE_TARGETS: yesNo('false').describe(
    'whether webhooks and on-call links may lead to private addresses',
  ),
  ALERT_PLAN: z
    .enum(['free', 'premium'])
    .default('premium')
    .describe(
      'plan of new projects: free has one HTTP endpoint, no mapping, and groups by given fingerprints only',
    ),
};

export type AlertSettings = z.output<z.ZodObject<typeof alertSettings>>;
