import { type Table, table } from '../../../infra/table.ts';
import { type RowOf, storedTable } from '../../stored-records/stored-table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none. Lists of objects are JSON texts.

export const oncallSchedules = storedTable({
  name: 'oncall_schedules',
  doc: 'Schedules of who is on call.',
  columns: {
    project_id: 'String',
    name: 'String',
    description: 'String',
    /** Name in the IANA time zone database. */
    time_zone: 'String',
    /** Hash of the secret in the address of its calendar; '' until one is requested. */
    calendar_hash: 'String',
    author_id: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type OncallSchedule = RowOf<typeof oncallSchedules>;

export const oncallRotations = storedTable({
  name: 'oncall_rotations',
  doc: 'Revisions of the rotations of schedules. A revision counts from its effective time on; earlier shifts keep the one before.',
  columns: {
    project_id: 'String',
    schedule_id: 'String',
    rotation_id: 'String',
    effective_ms: 'Int64',
    /** Of two revisions with the same effective time, the later one applies. */
    created_ms: 'Int64',
    /** True if the rotation ends at the effective time. The other columns then repeat the revision before. */
    ends_rotation: 'Bool',
    name: 'String',
    /** 0 to 9. Of the active rotations, those with the highest priority decide. */
    priority: 'UInt64',
    /** Wall time in the zone of the schedule, to the minute: 2027-03-22T09:00. */
    starts_at: 'String',
    ends_at: 'String',
    length: 'UInt64',
    /** hours, days, weeks or months. */
    unit: 'LowCardinality(String)',
    /** JSON: a list of lists of ids of users. In a turn with an empty list, nobody is on call. */
    turns: 'String',
    /** JSON: a list of time intervals; '' for always. */
    active_times: 'String',
    author_id: 'String',
  },
  foundBy: 'schedule_id',
});
export type OncallRotation = RowOf<typeof oncallRotations>;

export const oncallOverrides = storedTable({
  name: 'oncall_overrides',
  doc: 'Stretches of schedules in which somebody else is on call, or nobody.',
  columns: {
    project_id: 'String',
    schedule_id: 'String',
    from_ms: 'Int64',
    until_ms: 'Int64',
    /** '' for nobody. */
    user_id: 'String',
    /** The user who is replaced; '' for everybody. */
    replaces_id: 'String',
    reason: 'String',
    author_id: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'schedule_id',
});
export type OncallOverride = RowOf<typeof oncallOverrides>;

export const escalationPolicies = storedTable({
  name: 'escalation_policies',
  doc: 'Escalation policies: who is paged, in which order.',
  columns: {
    project_id: 'String',
    name: 'String',
    /** JSON: a list of `{targets: [{type, id}], delay_minutes, important}`. */
    steps: 'String',
    repeats: 'UInt64',
    reminder_hours: 'UInt64',
    ack_timeout_minutes: 'UInt64',
    author_id: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type EscalationPolicy = RowOf<typeof escalationPolicies>;

export const alertRoutes = storedTable({
  name: 'alert_routes',
  doc: 'The list of routes of each project, from alerts to policies. The id is the project.',
  columns: {
    /**
     * JSON: a list of `{name, matchers, policy_id, delay_seconds, continues, is_active}` in order. The last route
     * takes every alert.
     */
    routes: 'String',
    author_id: 'String',
    created_ms: 'Int64',
  },
});
export type AlertRouteList = RowOf<typeof alertRoutes>;

export const notificationChannels = storedTable({
  name: 'notification_channels',
  doc: 'Channels of projects that pages are sent to.',
  columns: {
    project_id: 'String',
    name: 'String',
    /** slack, teams, pagerduty, telegram, email or webhook. */
    type: 'LowCardinality(String)',
    /** JSON, encrypted because it contains secret addresses. */
    settings: 'String',
    /** JSON: templates for `title`, `text` and `body`; '' for the built-in texts. */
    template: 'String',
    is_active: 'Bool',
    author_id: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type NotificationChannel = RowOf<typeof notificationChannels>;

export const contactMethods = storedTable({
  name: 'contact_methods',
  doc: 'Addresses under which users are paged.',
  columns: {
    user_id: 'String',
    /** email, telegram or webhook. */
    type: 'LowCardinality(String)',
    /** Encrypted. */
    address: 'String',
    /** JSON: a template for `body`; '' for the built-in body. */
    template: 'String',
    /** When the user entered the code that was sent to this address; 0 before. */
    verified_ms: 'Int64',
    code_hash: 'String',
    code_ends_ms: 'Int64',
    code_tries: 'UInt64',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'user_id',
});
export type ContactMethod = RowOf<typeof contactMethods>;

export const notificationRules = storedTable({
  name: 'notification_rules',
  doc: 'How users want to be paged. The id is the user.',
  columns: {
    /** JSON: lists of `{contactId, afterMinutes}`. */
    default_rules: 'String',
    important_rules: 'String',
    /** True: the user is notified when the alert of a page is acknowledged or resolved. */
    status_updates: 'Bool',
    /** Hash of the secret in the address of the user's calendar; '' until one is requested. */
    calendar_hash: 'String',
    created_ms: 'Int64',
  },
});
export type NotificationRules = RowOf<typeof notificationRules>;

export const pages = table({
  name: 'pages',
  doc: 'Escalations of alerts: one page for each alert and policy.',
  columns: {
    project: 'UInt64',
    alert: 'UInt64',
    policy: 'String',
    /** Name of the route that led to the policy. */
    route: 'LowCardinality(String)',
    /** suppressed, waiting, triggered, exhausted, acknowledged or closed. */
    state: 'LowCardinality(String)',
    /** Ids of the silences and maintenance windows that suppress the page. */
    suppressed_by: 'Array(String)',
    severity: 'LowCardinality(String)',
    /**
     * `round` counts runs of the policy, `cycle` counts passes through its steps in a run, `step` is the last step that
     * was carried out. The first is 1; `step` is 0 before the first step of a round.
     */
    round: 'UInt32',
    cycle: 'UInt32',
    step: 'UInt32',
    /** When the page is advanced next; 0 = never. */
    next_ms: 'Int64',
    /** When `step` was carried out. */
    step_ms: 'Int64',
    /** Position of the newest event of the alert that was applied to the page. */
    position: 'UInt64',
    created_ms: 'Int64',
    acknowledged_by: 'String',
    acknowledged_ms: 'Int64',
    closed_ms: 'Int64',
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['project', 'alert', 'policy'],
});

export const pageNotifications = table({
  name: 'page_notifications',
  doc: 'What persons and channels are told of pages.',
  columns: {
    project: 'UInt64',
    /** Id of a contact or a channel, or `fallback` for PAGE_FALLBACK_EMAIL. */
    destination: 'String',
    /**
     * ALERT/POLICY/ROUND.CYCLE.STEP/DESTINATION/MINUTES for kind `triggered`, ALERT/POLICY/ROUND.KIND/DESTINATION for
     * the others.
     */
    id: 'String',
    alert: 'UInt64',
    policy: 'String',
    round: 'UInt32',
    cycle: 'UInt32',
    step: 'UInt32',
    /** Owner of the contact; '' for a channel and for `fallback`. */
    user: 'String',
    /** triggered, acknowledged, resolved or exhausted. */
    kind: 'LowCardinality(String)',
    severity: 'LowCardinality(String)',
    /** Id of the user who acknowledged or resolved. */
    by: 'String',
    /** Reason of kind `exhausted`: why the policy ended. */
    reason: 'String',
    due_ms: 'Int64',
    /** pending, sending, sent, failed or cancelled. */
    state: 'LowCardinality(String)',
    /** Key of the message that contains the notification: PROJECT/ID of the first notification in it. */
    message: 'String',
    attempts: 'UInt32',
    /** True if an attempt has no result, so the receiver may have the message. */
    is_doubtful: 'Bool',
    started_ms: 'Int64',
    /** When the notification is retried. */
    next_ms: 'Int64',
    status: 'UInt16',
    fault: 'String',
    sent_ms: 'Int64',
    /** When the link in the message was used. Set on the first notification of the message only. */
    used_ms: 'Int64',
    created_ms: 'Int64',
    /** Starts at 1, so a repeated first row does not replace a later row. */
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['project', 'destination', 'id'],
});

export const pageLog = table({
  name: 'page_log',
  doc: 'What happened to pages, as it is shown with their alerts.',
  columns: {
    project: 'UInt64',
    alert: 'UInt64',
    policy: 'String',
    at: 'Int64',
    /** POLICY/ROUND.CYCLE.STEP/WHAT, so an entry that is repeated after a kill has the same id. */
    id: 'String',
    what: 'String',
    /** Id of the user; '' for the source or the server. */
    by: 'String',
  },
  engine: 'ReplacingMergeTree',
  orderBy: ['project', 'alert', 'id'],
});

export const sharedFigures = table({
  name: 'shared_figures',
  doc: 'The newest figures of all projects, which one process reads for the metrics of all processes.',
  columns: {
    name: 'LowCardinality(String)',
    at: 'Int64',
    /** Duration of reading the figures. */
    took_ms: 'UInt32',
    /** JSON: the figures by name. */
    figures: 'String',
  },
  engine: 'ReplacingMergeTree(at)',
  orderBy: ['name'],
});

export const oncallTables: readonly Table[] = [
  oncallSchedules,
  oncallRotations,
  oncallOverrides,
  escalationPolicies,
  alertRoutes,
  notificationChannels,
  contactMethods,
  notificationRules,
  pages,
  pageNotifications,
  pageLog,
  sharedFigures,
];
