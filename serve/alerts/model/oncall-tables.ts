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
    /** Hash of the secret in the address of its calendar; '' until somebody asks for one. */
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
    /** The later revision of two with the same effective time. */
    created_ms: 'Int64',
    /** Whether the rotation ends at the effective time; the other columns are those of the revision before then. */
    ends_rotation: 'Bool',
    name: 'String',
    /** 0 to 9; the highest of those that are active decides. */
    priority: 'UInt64',
    /** Wall time in the zone of the schedule, to the minute: 2027-03-22T09:00. */
    starts_at: 'String',
    ends_at: 'String',
    length: 'UInt64',
    /** hours, days, weeks or months. */
    unit: 'LowCardinality(String)',
    /** JSON: a list of lists of ids of users. An empty list is a turn off. */
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
    /** Who gives way; '' for everybody. */
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
     * JSON: a list of `{name, matchers, policy_id, delay_seconds, continues, is_active}` in order; the last one takes
     * the rest.
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
    /** JSON, encrypted: it has addresses that are secret. */
    settings: 'String',
    /** JSON: its own `title`, `text` and `body`; '' for none. */
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
    /** JSON: its own `body`; '' for none. */
    template: 'String',
    /** 0 until the code that was sent to it was entered. */
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
    /** JSON: lists of `{contact_id, after_minutes}`. */
    default_rules: 'String',
    important_rules: 'String',
    /** Whether somebody who accepted a page is told how it goes on. */
    status_updates: 'Bool',
    /** Hash of the secret in the address of the user's calendar; '' until somebody asks for one. */
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
    /** Ids of the silences and maintenance windows that keep it from calling. */
    suppressed_by: 'Array(String)',
    severity: 'LowCardinality(String)',
    /** Runs of the policy from its first step, passes through its steps, and the step that was carried out last; from 1. */
    round: 'UInt32',
    cycle: 'UInt32',
    step: 'UInt32',
    /** When something is to be done again; 0 = never. */
    next_ms: 'Int64',
    /** When the step was carried out. */
    step_ms: 'Int64',
    /** Of the newest event of the alert that it follows. */
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
    /** The id of a contact or a channel. */
    destination: 'String',
    /** ALERT/POLICY/ROUND.CYCLE.STEP/DESTINATION/MINUTES, of other kinds ALERT/POLICY/ROUND.KIND/DESTINATION. */
    id: 'String',
    alert: 'UInt64',
    policy: 'String',
    round: 'UInt32',
    cycle: 'UInt32',
    step: 'UInt32',
    /** Whose contact it is; '' for a channel. */
    user: 'String',
    /** triggered, acknowledged, resolved or exhausted. */
    kind: 'LowCardinality(String)',
    severity: 'LowCardinality(String)',
    /** Id of the user who acknowledged or resolved. */
    by: 'String',
    /** Why the policy ended. */
    reason: 'String',
    due_ms: 'Int64',
    /** pending, sending, sent, failed or cancelled. */
    state: 'LowCardinality(String)',
    /** Id of the first notification of the message that it is sent with. */
    message: 'String',
    attempts: 'UInt32',
    /** Whether an attempt has no result, so that its receiver may have the message. */
    is_doubtful: 'Bool',
    started_ms: 'Int64',
    /** When it is tried again. */
    next_ms: 'Int64',
    status: 'UInt16',
    fault: 'String',
    sent_ms: 'Int64',
    /** Of the first of a message: when the link in it was used. */
    used_ms: 'Int64',
    created_ms: 'Int64',
    /** Counted from 1, so that a repeated first row does not replace a later one. */
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
    /** POLICY/ROUND.CYCLE.STEP/WHAT, so that an entry that a kill repeats is one. */
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
    /** How long reading them took. */
    took_ms: 'UInt32',
    /** JSON. */
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
