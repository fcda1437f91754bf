import { type Table, table } from '../../../infra/table.ts';
import { type RowOf, storedTable } from '../../stored-records/stored-table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none. Keys are stored as hashes, and also encrypted if they
// sign requests.

export const projects = storedTable({
  name: 'projects',
  doc: 'Projects that receive alerts. The id is an integer as text.',
  columns: {
    name: 'String',
    description: 'String',
    /** free or premium. */
    plan: 'LowCardinality(String)',
    creator_id: 'String',
    /** `makes_incidents`: a new alert creates an incident. `closes_incidents`: a resolved alert closes its incident. */
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
    /** 10 Guest, 20 Reporter, 30 Developer, 40 Maintainer, 50 Owner; 0 for a former member. */
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
    /** Name of an integration type; `oncall` for a link to an on-call tool. */
    type: 'LowCardinality(String)',
    name: 'String',
    is_active: 'Bool',
    key_hash: 'String',
    key_created_ms: 'Int64',
    /** The encrypted key of an on-call link, or of a sender that signs its requests; '' for others. */
    sealed_key: 'String',
    /** The previous key, valid until it expires; '' if there is none. */
    old_key_hash: 'String',
    old_key_ends_ms: 'Int64',
    old_sealed_key: 'String',
    /** JSON texts; '' if there is none. */
    sample: 'String',
    mapping: 'String',
    /** JSON of `SenderRules`. */
    rules: 'String',
    /** Name of the preset from which the rules were copied; '' for none. */
    preset: 'LowCardinality(String)',
    /** URL of the Prometheus server or of the on-call tool. */
    api_url: 'String',
    /** ARNs of the accepted topics of Amazon SNS. Empty until the first message; its topic is then accepted. */
    topics: 'Array(String)',
    /** An alert is created after this many minutes without a beat; 0 = never. */
    heartbeat_minutes: 'UInt64',
    /** Alerts that match are beats; '' = no alert is a beat. */
    heartbeat_matchers: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type Integration = RowOf<typeof integrations>;
/** Leaves out the sample payload, because only the mapping needs it. */
export type IntegrationSummary = Omit<Integration, 'sample'>;

export const snsSubscriptions = storedTable({
  name: 'alert_sns_subscriptions',
  doc: 'Subscriptions of topics of Amazon SNS to integrations. The id is the integration, a slash and a hash of the topic.',
  columns: {
    project_id: 'String',
    integration_id: 'String',
    topic: 'String',
    /** A request to this URL confirms the subscription. */
    subscribe_url: 'String',
    /** pending, confirmed or failed. */
    state: 'LowCardinality(String)',
    attempts: 'UInt64',
    /** When the confirmation is retried. */
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
    /** When the watch began. Only in the row of every request (`beat` = ''). */
    watched_ms: 'SimpleAggregateFunction(max, Int64)',
    /** When the watch ended. A later beat starts it again; in the row of every request, a later `watched_ms` does. */
    ended_ms: 'SimpleAggregateFunction(max, Int64)',
    /** When a Watchdog was last seen. After that, plain requests are no beats. Only in the row of every request. */
    watchdog_ms: 'SimpleAggregateFunction(max, Int64)',
  },
  engine: 'AggregatingMergeTree',
  orderBy: ['project', 'integration', 'beat'],
  // Deletes old rows, because a sender whose labels change adds rows without end.
  ttl: "toDateTime(intDiv(greatest(heard_ms, ended_ms), 1000)) + INTERVAL 60 DAY DELETE WHERE beat != ''",
});

export const alertRefusals = table({
  name: 'alert_refusals',
  doc: 'Requests to integrations that were refused in the last 7 days, counted for some seconds each.',
  columns: {
    integration: 'String',
    /** Code of the error. */
    code: 'LowCardinality(String)',
    status: 'UInt16',
    message: 'String',
    count: 'UInt64',
    /** Time of the newest of these requests. */
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
    /** 0 while the incident is open. */
    closed_ms: 'Int64',
    /** Position of the newest event that was applied. Earlier events do not change the incident. */
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
    /** Query parameters in the URL of the list. */
    search: 'String',
    /** True if the list opens with this filter. */
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
    /** Some of created, raised, acknowledged and resolved. */
    events: 'Array(LowCardinality(String))',
    /** Encrypted, not hashed, because it signs requests. */
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
    /** `incidents`, `notifications`, `paging`, or the id of a webhook or an on-call link. */
    target: 'String',
    /** All events up to this position are processed. */
    position: 'UInt64',
    /** Time, status and fault of the newest request to a receiver. */
    at: 'Int64',
    status: 'UInt16',
    fault: 'String',
    /** Failures since the receiver last accepted a request, and when the next attempt is due. */
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
    /** Id of the event, sent in the header X-Chain-Metrics-Delivery. */
    delivery: 'String',
    /** Status of the response; 0 if there was none. */
    status: 'UInt16',
    milliseconds: 'UInt32',
    /** Why the request failed; '' if it succeeded. */
    fault: 'String',
    /** True if the event will not be sent again. */
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
    /** When the next attempt is due; 0 = now. */
    next_ms: 'Int64',
    /** True if the notification was accepted or given up. */
    is_done: 'Bool',
    /** Starts at 1, so a repeated first row does not replace a later row. */
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
