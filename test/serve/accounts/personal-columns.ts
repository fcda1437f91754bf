import { DAY_MS } from '../../../infra/days.ts';

/** What an export says of a column that names a user, and what a deletion leaves of it. */
interface Decision {
  /** The kind of the export that has the rows. */
  readonly kind: string;
  /** `kept`: the rows are the history of a project, which shows a deleted account. */
  readonly afterDeletion: 'removed' | 'kept';
  /** What the column holds of a user; the id of the user by default. */
  readonly value?: (id: string) => unknown;
  /** Other columns that make the row one that counts. */
  readonly row?: Readonly<Record<string, unknown>>;
}

const FUTURE_MS = Date.now() + 300 * DAY_MS;

/** Every column that names a user, by table and column. A new one is decided here. */
export const DECISIONS: Readonly<Record<string, Decision>> = {
  'sessions.user_id': { kind: 'sessions', afterDeletion: 'removed' },
  'wallets.user_id': { kind: 'wallets', afterDeletion: 'removed' },
  'applications.owner_id': { kind: 'applications', afterDeletion: 'removed' },
  'waiting_mails.user_id': { kind: 'waiting_mails', afterDeletion: 'removed' },
  'grants.user_id': { kind: 'api_keys', afterDeletion: 'removed', row: { kind: 'key' } },
  'projects.creator_id': { kind: 'projects_created', afterDeletion: 'kept' },
  'project_members.user_id': {
    kind: 'memberships',
    afterDeletion: 'kept',
    row: { project_id: '1', access_level: 10 },
  },
  'alert_incidents.author_id': { kind: 'incidents_created', afterDeletion: 'kept' },
  'alert_notes.author_id': { kind: 'notes', afterDeletion: 'kept' },
  'alert_filters.owner': { kind: 'saved_filters', afterDeletion: 'removed', value: (id) => `1/${id}` },
  'oncall_schedules.author_id': { kind: 'schedules_changed', afterDeletion: 'kept' },
  'oncall_rotations.author_id': { kind: 'rotations_changed', afterDeletion: 'kept' },
  'oncall_rotations.turns': {
    kind: 'rotations',
    afterDeletion: 'kept',
    value: (id) => JSON.stringify([[id], []]),
  },
  'oncall_overrides.user_id': { kind: 'overrides', afterDeletion: 'kept' },
  'oncall_overrides.replaces_id': { kind: 'overrides', afterDeletion: 'kept' },
  'oncall_overrides.author_id': { kind: 'overrides_changed', afterDeletion: 'kept' },
  'escalation_policies.author_id': { kind: 'policies_changed', afterDeletion: 'kept' },
  'escalation_policies.steps': {
    kind: 'policies',
    afterDeletion: 'kept',
    value: (id) => JSON.stringify([{ targets: [{ type: 'user', id }], delay_minutes: 5, important: false }]),
  },
  'alert_routes.author_id': { kind: 'routes_changed', afterDeletion: 'kept' },
  'notification_channels.author_id': { kind: 'channels_changed', afterDeletion: 'kept' },
  'contact_methods.user_id': { kind: 'contacts', afterDeletion: 'removed' },
  'notification_rules.id': { kind: 'notification_rules', afterDeletion: 'removed' },
  'pages.acknowledged_by': { kind: 'pages_acknowledged', afterDeletion: 'kept' },
  'page_notifications.user': { kind: 'page_notifications', afterDeletion: 'kept' },
  'page_notifications.by': { kind: 'page_notifications', afterDeletion: 'kept' },
  'page_log.by': { kind: 'page_log', afterDeletion: 'kept' },
  'alert_silences.author_id': { kind: 'silences', afterDeletion: 'kept', row: { expires_ms: FUTURE_MS } },
  'maintenance_windows.author_id': { kind: 'maintenance_windows_changed', afterDeletion: 'kept' },
  'alert_events.head': {
    kind: 'alert_actions',
    afterDeletion: 'kept',
    value: (by) => JSON.stringify({ kind: 'action', by }),
    row: { kind: 'action' },
  },
  'alerts.assignees': { kind: 'alerts_assigned', afterDeletion: 'kept', value: (id) => [id] },
};

/** Columns that sound as if they named a user, and do not. */
export const OF_NOBODY: Readonly<Record<string, string>> = {
  'alert_silences.created_by': 'a name that its creator gave',
  'pages.suppressed_by': 'ids of silences and maintenance windows',
};
