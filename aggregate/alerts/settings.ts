import { z } from 'zod';
import { retentionDays, whole, yesNo } from '../../infra/config/kinds.ts';

const IDEMPOTENCY_HOURS_MAX = 168;
/** An event is looked up for as long as a retry of it may come. */
const ALERT_EVENTS_DAYS_MIN = IDEMPOTENCY_HOURS_MAX / 24 + 1;

/** Settings of alerts: what is accepted, how it is grouped, and how it is delivered. */
export const alertSettings = {
  ALERT_BODY_BYTES_MAX: whole(2 ** 20, 1024, 2 ** 26).describe('largest body of an alert request'),
  ALERT_DEPTH_MAX: whole(100, 1, 1000).describe('deepest nesting of the JSON of an alert'),
  ALERT_TITLE_CHARACTERS: whole(200, 10, 10_000).describe(
    'longest title of an alert; longer ones are truncated',
  ),
  ALERT_DESCRIPTION_CHARACTERS: whole(1000, 10, 100_000).describe(
    'longest description of an alert; longer ones are truncated',
  ),
  ALERT_MARKDOWN_CHARACTERS: whole(20_000, 10, 100_000).describe(
    'longest Markdown that an alert adds to its incident; longer ones are truncated',
  ),
  ALERT_RETRY_WINDOW_SECONDS: whole(60, 0, 86_400).describe(
    'seconds within which a repeated delivery counts as a retry and not as a new event',
  ),
  ALERT_IDEMPOTENCY_HOURS: whole(24, 0, IDEMPOTENCY_HOURS_MAX).describe(
    'time for which an Idempotency-Key is stored',
  ),
  ALERT_CACHE_BYTES: whole(256 * 2 ** 20, 0).describe(
    'memory for unresolved alerts and recent deliveries of all projects; the rest is read from the store',
  ),
  ALERT_SAMPLE_BYTES_MAX: whole(64 * 1024, 1024, 2 ** 20).describe(
    'largest sample payload of a custom mapping',
  ),
  ALERT_PENDING_BYTES_MAX: whole(128 * 2 ** 20, 2 ** 16).describe(
    'bytes of alerts that may wait for the store; beyond that requests get 503, and those of one project from four fifths on, or less while others hold much',
  ),
  ALERT_PENDING_SECONDS_MAX: whole(30, 1, 3600).describe(
    'seconds that an accepted alert may wait for the store; beyond that the process is not ready and requests get 503',
  ),
  ALERT_LOG_SECONDS_MAX: whole(5, 1, 60).describe(
    'longest time for the log to acknowledge an alert; beyond that the request gets 503',
  ),
  ALERT_ANSWER_SECONDS_MAX: whole(10, 1, 60).describe(
    'longest time that a request waits for the result of an alert that the log has acknowledged; then the response is `[]`, or 503 if the request has an Idempotency-Key',
  ),
  ALERT_PRIVATE_TARGETS: yesNo('false').describe(
    'whether webhooks and on-call links may use private addresses',
  ),
  ALERT_WEBHOOK_CONCURRENCY: whole(16, 1, 256).describe('concurrent requests to one webhook or on-call link'),
  ALERT_WEBHOOK_RECEIVERS: whole(64, 2, 1024).describe(
    'webhooks and on-call links that a server sends to concurrently; slow ones get at most half of the slots, and one project at most an eighth',
  ),
  ALERT_WEBHOOK_RETRY_SECONDS_MAX: whole(600, 1, 86_400).describe(
    'longest wait before a failed webhook or on-call link is retried; waits start at 2 seconds, double and are randomized',
  ),
  ALERT_WEBHOOK_GIVE_UP_HOURS: whole(24, 1, 168).describe(
    'hours after which an event that a webhook or on-call link does not accept is dropped; events refused with 3xx or 4xx (except 408, 425 and 429) are dropped after 3 attempts',
  ),
  ALERT_USER_LOOKUPS_PER_HOUR: whole(100, 1).describe(
    'users that a caller may look up in an hour to add them to a project',
  ),
  RETENTION_ALERT_EVENTS_DAYS: retentionDays(ALERT_EVENTS_DAYS_MIN).describe(
    `delete the events and user actions of resolved alerts after this many whole days, at least ${ALERT_EVENTS_DAYS_MIN}; the alerts stay but can no longer be replayed; 0 keeps all`,
  ),
  ALERT_PLAN: z
    .enum(['free', 'premium'])
    .default('premium')
    .describe(
      'plan of new projects: `free` has one HTTP endpoint, no mapping, and groups only by fingerprints in the payload',
    ),
};

export type AlertSettings = z.output<z.ZodObject<typeof alertSettings>>;
