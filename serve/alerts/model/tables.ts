import { type Table, table } from '../../../infra/table.ts';
import { type RowOf, storedTable } from '../../stored-records/stored-table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none. Keys are stored as hashes, and where they sign encrypted.

export const projects = storedTable({
  name: 'projects',
  doc: 'Projects that receive alerts. The id is an integer as text.',
  columns: {
    name: 'String',
    description: 'String',
    /** free or premium. */
    plan: 'LowCardinality(String)',
    creator_id: 'String',
    /** Whether every new alert creates an incident, and whether it is closed when the alert is resolved. */
    makes_incidents: 'Bool',
    closes_incidents: 'Bool',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'creator_id',
});
export type Project = RowOf<typeof projects>;

export const members = storedTable({
  name: 'project_members',
  doc: 'Members of projects. The id is the project, a slash and the user.',
  columns: {
    project_id: 'String',
    user_id: 'String',
    /** 10 Guest, 20 Reporter, 30 Developer, 40 Maintainer, 50 Owner; 0 after the membership has ended. */
    access_level: 'UInt64',
    created_ms: 'Int64',
  },
  foundBy: 'user_id',
});
export type Member = RowOf<typeof members>;

export const integrations = storedTable({
  name: 'alert_integrations',
  doc: 'Integrations of projects. The id is part of the webhook URL.',
  columns: {
    project_id: 'String',
    /** The name of an integration type; oncall for a link to an on-call tool. */
    type: 'LowCardinality(String)',
    name: 'String',
    is_active: 'Bool',
    key_hash: 'String',
    key_created_ms: 'Int64',
    /** The key, encrypted, of a link to an on-call tool and of a sender that signs its requests; '' for others. */
    sealed_key: 'String',
    /** The previous key, valid until it expires; '' when there is none. */
    old_key_hash: 'String',
    old_key_ends_ms: 'Int64',
    old_sealed_key: 'String',
    /** JSON texts; '' when there is none. */
    sample: 'String',
    mapping: 'String',
    /** JSON of `SenderRules`. */
    rules: 'String',
    /** The name of a preset, of which the rules are a copy; '' for none. */
    preset: 'LowCardinality(String)',
    /** URL of the Prometheus server or of the on-call tool. */
    api_url: 'String',
    /** ARNs of the topics of Amazon SNS whose messages are taken; none until the first message. */
    topics: 'Array(String)',
    /** Minutes without a beat after which an alert is created; 0 = never. */
    heartbeat_minutes: 'UInt64',
    /** Alerts that match are beats; '' = none are. */
    heartbeat_matchers: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type Integration = RowOf<typeof integrations>;
/** Without the sample payload, which only its mapping needs. */
export type IntegrationSummary = Omit<Integration, 'sample'>;

export const snsSubscriptions = storedTable({
  name: 'alert_sns_subscriptions',
  doc: 'Subscriptions of topics of Amazon SNS to integrations. The id is the integration, a slash and a hash of the topic.',
  columns: {
    project_id: 'String',
    integration_id: 'String',
    topic: 'String',
    /** A request to it confirms the subscription. */
    subscribe_url: 'String',
    /** pending, confirmed or failed. */
    state: 'LowCardinality(String)',
    attempts: 'UInt64',
    /** When it is tried again. */
    next_ms: 'Int64',
    /** Why the newest attempt failed. */
    fault: 'String',
    created_ms: 'Int64',
  },
  foundBy: 'integration_id',
});
export type SnsSubscription = RowOf<typeof snsSubscriptions>;

export const heartbeats = table({
  name: 'alert_heartbeats',
  doc: 'Beats of integrations with a heartbeat. Times only grow, so rows of several servers merge in any order.',
  columns: {
    project: 'UInt64',
    integration: 'String',
    /** '' for every request, `posted` for POST …/heartbeat; else the fingerprint of a Watchdog. */
    beat: 'String',
    /** Labels of the Watchdog as `name=value`. */
    labels: 'SimpleAggregateFunction(max, Array(String))',
    /** The last beat. */
    heard_ms: 'SimpleAggregateFunction(max, Int64)',
    /** When the watch of every request began. */
    watched_ms: 'SimpleAggregateFunction(max, Int64)',
    /** When the watch ended. A later beat starts it again; in the row of every request, `watched_ms` does. */
    ended_ms: 'SimpleAggregateFunction(max, Int64)',
    /** When a Watchdog was last seen: then plain requests no longer count. Only in the row of every request. */
    watchdog_ms: 'SimpleAggregateFunction(max, Int64)',
  },
  engine: 'AggregatingMergeTree',
  orderBy: ['project', 'integration', 'beat'],
  // Beats are forgotten after 30 days. Rows of labels that change must not pile up.
  ttl: "toDateTime(intDiv(greatest(heard_ms, ended_ms), 1000)) + INTERVAL 60 DAY DELETE WHERE beat != ''",
});

export const alertRefusals = table({
  name: 'alert_refusals',
  doc: 'Requests to integrations that were refused in the last 7 days, counted for some seconds each.',
  columns: {
    integration: 'String',
    /** Of the error. */
    code: 'LowCardinality(String)',
    status: 'UInt16',
    message: 'String',
    count: 'UInt64',
    /** The time of the newest. */
    last: 'Int64',
  },
  engine: 'MergeTree',
  orderBy: ['integration', 'last'],
  ttl: 'toDateTime(intDiv(last, 1000)) + INTERVAL 7 DAY',
});

export const incidents = storedTable({
  name: 'alert_incidents',
  doc: 'Incidents of alerts. The id is the project, a slash and the number.',
  columns: {
    project_id: 'String',
    iid: 'UInt64',
    alert_iid: 'UInt64',
    title: 'String',
    description: 'String',
    severity: 'LowCardinality(String)',
    author_id: 'String',
    created_ms: 'Int64',
    updated_ms: 'Int64',
    /** 0 while it is open. */
    closed_ms: 'Int64',
    /** Of the newest event of its alert that it follows; earlier ones do not change it. */
    position: 'UInt64',
  },
  foundBy: 'project_id',
});
export type Incident = RowOf<typeof incidents>;

export const notes = storedTable({
  name: 'alert_notes',
  doc: 'Notes of users on alerts.',
  columns: {
    /** The project, a slash and the number of the alert. */
    alert: 'String',
    author_id: 'String',
    body: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'alert',
});
export type Note = RowOf<typeof notes>;

export const savedFilters = storedTable({
  name: 'alert_filters',
  doc: 'Filters of lists of alerts that users have named.',
  columns: {
    /** The project, a slash and the user. */
    owner: 'String',
    name: 'String',
    /** The parameters of the address of the list. */
    search: 'String',
    /** Whether the list opens with it. */
    is_default: 'Bool',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'owner',
});
export type SavedFilter = RowOf<typeof savedFilters>;

export const webhooks = storedTable({
  name: 'alert_hooks',
  doc: 'Outgoing webhooks of projects.',
  columns: {
    project_id: 'String',
    name: 'String',
    url: 'String',
    /** Of created, raised, acknowledged, resolved. */
    events: 'Array(LowCardinality(String))',
    /** Encrypted: it is needed to sign requests. */
    secret: 'String',
    is_active: 'Bool',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type Webhook = RowOf<typeof webhooks>;

export const consumerProgress = table({
  name: 'alert_notices',
  doc: 'How far each consumer of events, webhook and on-call link is with the events of a project.',
  columns: {
    project: 'UInt64',
    /** `incidents`, `notifications`, or the id of a webhook or an on-call link. */
    target: 'String',
    /** Nothing is left to do of the events up to it. */
    position: 'UInt64',
    /** Time, status and fault of the newest request to a receiver. */
    at: 'Int64',
    status: 'UInt16',
    fault: 'String',
    /** Failures of the receiver since it last accepted a request, and when it is tried again. */
    failures: 'UInt32',
    retry_ms: 'Int64',
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['project', 'target'],
});

export const webhookDeliveries = table({
  name: 'alert_deliveries',
  doc: 'Requests to webhooks and on-call links of the last 7 days.',
  columns: {
    target: 'String',
    at: 'Int64',
    /** created, raised, acknowledged, resolved or test. */
    event: 'LowCardinality(String)',
    /** Number of the alert; 0 for a test. */
    iid: 'UInt64',
    /** Identifies the event; the request has it as a header. */
    delivery: 'String',
    /** Of the response; 0 when there was none. */
    status: 'UInt16',
    milliseconds: 'UInt32',
    /** Why the request failed; '' when it succeeded. */
    fault: 'String',
    /** Whether the event will not be sent again. */
    given_up: 'Bool',
  },
  engine: 'MergeTree',
  orderBy: ['target', 'at'],
  ttl: 'toDateTime(intDiv(at, 1000)) + INTERVAL 7 DAY',
});

export const notifications = table({
  name: 'alert_notifications',
  doc: 'Changes of alerts that a webhook or an on-call link is told of.',
  columns: {
    project: 'UInt64',
    target: 'String',
    /** Position of the event, and index of the item. */
    position: 'UInt64',
    item: 'UInt32',
    /** created, raised, acknowledged or resolved. */
    name: 'LowCardinality(String)',
    iid: 'UInt64',
    /** When the event was accepted. */
    at: 'Int64',
    attempts: 'UInt32',
    /** When it is sent; 0 = now. */
    next_ms: 'Int64',
    /** Whether it was accepted or given up. */
    is_done: 'Bool',
    /** Counted from 1, so that a repeated first row does not replace a later one. */
    version: 'UInt64',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['project', 'target', 'position', 'item'],
  ttl: 'toDateTime(intDiv(at, 1000)) + INTERVAL 14 DAY',
});

export const projectTables: readonly Table[] = [
  projects,
  members,
  integrations,
  snsSubscriptions,
  heartbeats,
  alertRefusals,
  incidents,
  notes,
  savedFilters,
  webhooks,
  consumerProgress,
  webhookDeliveries,
  notifications,
];
