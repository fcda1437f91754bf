import { z } from 'zod';
import { booleanSetting, integerSetting, retentionDays } from '../../../infra/config/setting-types.ts';

const IDEMPOTENCY_HOURS_MAX = 168;
const LINK_HOURS_MAX = 168;
/** Events must be stored for as long as a retry may come. */
const ALERT_EVENTS_DAYS_MIN = IDEMPOTENCY_HOURS_MAX / 24 + 1;

/** A page must be stored for as long as the links in its messages work. */
const PAGES_DAYS_MIN = LINK_HOURS_MAX / 24 + 1;

/** Settings of alerts: what is accepted, how it is grouped, and how it is delivered. */
export const alertSettings = {
  ALERT_BODY_BYTES_MAX: integerSetting(2 ** 20, 1024, 2 ** 26).describe('largest body of an alert request'),
  ALERT_RETRY_WINDOW_SECONDS: integerSetting(60, 0, 86_400).describe(
    'seconds within which a repeated delivery in the Prometheus format counts as a retry, not as a new event',
  ),
  ALERT_CACHE_BYTES: integerSetting(256 * 2 ** 20, 0).describe(
    'bytes of memory for unresolved alerts and recent deliveries of all projects; the rest is read from the store',
  ),
  ALERT_PRIVATE_TARGETS: booleanSetting('false').describe(
    'whether webhooks and on-call links may use private addresses',
  ),
  PAGE_UNREACHED_SECONDS: integerSetting(120, 10, 3600).describe(
    'seconds after which an escalation continues with its next step if no provider has accepted a message of the current step',
  ),
  PAGE_GIVE_UP_HOURS: integerSetting(4, 1, 168).describe(
    'hours after which sending a message of a page is no longer retried',
  ),
  PAGE_LINK_HOURS: integerSetting(24, 1, LINK_HOURS_MAX).describe(
    'hours for which the link in a message can acknowledge its alerts',
  ),
  PAGE_BUNDLE_SECONDS: integerSetting(60, 0, 600).describe(
    'seconds after a message to a person during which further alerts are collected for the next message; for a channel at most 10 seconds',
  ),
  PAGE_FALLBACK_EMAIL: z
    .string()
    .regex(/^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/, 'expected an email address')
    .optional()
    .describe(
      'email address that is notified, with the Owners and Maintainers, when an escalation ends because nobody was reached or nobody acknowledged',
    ),
  PAGING_HEARTBEAT_URL: z
    .url({ protocol: /^https?$/, message: 'expected an http or https address' })
    .optional()
    .describe(
      "URL that gets an empty POST each minute while the pager works, from one process of the deployment; use a dead man's switch service that alerts you when the requests stop",
    ),
  RETENTION_ALERT_EVENTS_DAYS: retentionDays(ALERT_EVENTS_DAYS_MIN).describe(
    `delete the events and user actions of resolved alerts after this many whole days, at least ${ALERT_EVENTS_DAYS_MIN}; the alerts stay, but \`alerts replay\` then skips their project; 0 keeps all`,
  ),
  RETENTION_PAGES_DAYS: retentionDays(PAGES_DAYS_MIN, 400).describe(
    `delete closed pages, with their messages and their log, after this many whole days, at least ${PAGES_DAYS_MIN}; 0 keeps all`,
  ),
  RETENTION_SILENCES_HOURS: integerSetting(120, 1, 8760).describe(
    'hours for which a silence is kept after its end',
  ),
  ALERT_PLAN: z
    .enum(['free', 'premium'])
    .default('premium')
    .describe(
      'plan of new projects: `free` has one HTTP endpoint, no mapping, and groups only by fingerprints in the payload',
    ),
  TELEGRAM_BOT_TOKEN: z
    .string()
    .regex(/^\d+:[\w-]+$/, 'expected the token that @BotFather gave, as 123456:ABC-DEF')
    .optional()
    .describe('token of the bot that sends pages to Telegram; default: no pages to Telegram'),
  TELEGRAM_API_URL: z
    .url({ protocol: /^https?$/, message: 'expected an http or https address' })
    .transform((url) => url.replace(/\/$/, ''))
    .optional()
    .describe('address of your own Bot API server; default: https://api.telegram.org'),
};

/** Limits that operators have no reason to change. */
export const alertBounds = {
  /** Deepest nesting of the JSON of an alert. */
  ALERT_DEPTH_MAX: 100,
  /** Longest title of an alert; longer ones are truncated. */
  ALERT_TITLE_CHARACTERS: 200,
  /** Time for which an Idempotency-Key is stored. */
  ALERT_IDEMPOTENCY_HOURS: 24,
  /**
   * Bytes of alerts that may wait for the store. Above the limit requests get 503. A single project can use four fifths of
   * them, and less if others use many.
   */
  ALERT_PENDING_BYTES_MAX: 128 * 2 ** 20,
  /** Longest time for the log to acknowledge an alert. After that the request gets 503. */
  ALERT_LOG_SECONDS_MAX: 5,
  /** Longest time that a request waits for the result of an alert in the log. Then the response is `[]`, or 503 with an Idempotency-Key. */
  ALERT_ANSWER_SECONDS_MAX: 10,
  /** Longest wait before a failed webhook or on-call link is retried. Waits start at 2 seconds and double, with jitter. */
  ALERT_WEBHOOK_RETRY_SECONDS_MAX: 600,
};

export type AlertSettings = z.output<z.ZodObject<typeof alertSettings>> & typeof alertBounds;
