import { alertEvents, alerts } from '../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../infra/sql.ts';
import type { PersonalRows } from '../../accounts/personal-data.ts';
import type { User } from '../../accounts/tables.ts';
import * as oncall from '../model/oncall-tables.ts';
import * as suppression from '../model/suppression-tables.ts';
import * as tables from '../model/tables.ts';

/**
 * Rows of projects that name a user, by their key in the export. Contacts are missing here, because they are
 * encrypted. The user may have left the project, so no column holds texts of others.
 */
export const personalRows = ({ id }: User): Readonly<Record<string, PersonalRows>> => ({
  ...actionRows(id),
  ...dutyRows(id),
  memberships: {
    table: tables.members,
    where: sql`user_id = ${id}`,
    columns: ['project_id', 'access_level', 'created_ms'],
  },
  notification_rules: {
    table: oncall.notificationRules,
    where: sql`id = ${id}`,
    columns: ['default_rules', 'important_rules', 'status_updates', 'created_ms'],
  },
  saved_filters: {
    table: tables.savedFilters,
    where: sql`endsWith(owner, ${`/${id}`})`,
    columns: ['owner', 'name', 'search', 'is_default', 'created_ms', 'deleted_ms'],
  },
  projects_created: {
    table: tables.projects,
    where: sql`creator_id = ${id}`,
    columns: ['id', 'name', 'created_ms', 'deleted_ms'],
  },
  incidents_created: {
    table: tables.incidents,
    where: sql`author_id = ${id}`,
    columns: ['project_id', 'iid', 'alert_iid', 'created_ms', 'closed_ms'],
  },
  silences: {
    table: suppression.alertSilences,
    where: sql`author_id = ${id}`,
    columns: ['project_id', 'id', 'created_by', 'comment', 'starts_ms', 'ends_ms', 'created_ms'],
  },
  ...lastChangedRows(id),
});

/** Actions of a user on alerts, and the pages of the user. */
const actionRows = (id: string): Record<string, PersonalRows> => ({
  alert_actions: {
    table: alertEvents,
    where: sql`kind = 'action' AND JSONExtractString(head, 'by') = ${id}`,
    columns: ['project', 'at', 'head'],
  },
  alerts_assigned: {
    table: alerts,
    where: sql`has(assignees, ${id})`,
    columns: ['project', 'iid', 'created_ms'],
  },
  notes: {
    table: tables.notes,
    where: sql`author_id = ${id}`,
    columns: ['alert', 'body', 'created_ms', 'deleted_ms'],
  },
  pages_acknowledged: {
    table: oncall.pages,
    where: sql`acknowledged_by = ${id}`,
    columns: ['project', 'alert', 'policy', 'acknowledged_ms'],
  },
  page_notifications: {
    table: oncall.pageNotifications,
    where: sql`user = ${id} OR by = ${id}`,
    columns: ['project', 'alert', 'kind', 'severity', 'state', 'created_ms', 'sent_ms', 'used_ms'],
  },
  page_log: {
    table: oncall.pageLog,
    where: sql`by = ${id}`,
    columns: ['project', 'alert', 'policy', 'at', 'what'],
  },
});

/** Schedules and policies that name a user. */
const dutyRows = (id: string): Record<string, PersonalRows> => ({
  rotations: {
    table: oncall.oncallRotations,
    where: sql`position(turns, ${`"${id}"`}) > 0`,
    columns: ['project_id', 'schedule_id', 'name', 'effective_ms', 'created_ms'],
  },
  overrides: {
    table: oncall.oncallOverrides,
    where: sql`user_id = ${id} OR replaces_id = ${id}`,
    columns: [
      'project_id',
      'schedule_id',
      'from_ms',
      'until_ms',
      'user_id',
      'replaces_id',
      'reason',
      'deleted_ms',
    ],
  },
  policies: {
    table: oncall.escalationPolicies,
    where: sql`position(steps, ${`{"type":"user","id":"${id}"}`}) > 0`,
    columns: ['project_id', 'id', 'name', 'created_ms', 'deleted_ms'],
  },
});

/** Settings of projects that a user changed last. */
function lastChangedRows(id: string): Record<string, PersonalRows> {
  const named = {
    schedules: oncall.oncallSchedules,
    rotations: oncall.oncallRotations,
    policies: oncall.escalationPolicies,
    channels: oncall.notificationChannels,
    maintenance_windows: suppression.maintenanceWindows,
  };
  const where = sql`author_id = ${id}`;
  const rows = (table: PersonalRows['table'], columns: readonly string[]) => ({ table, where, columns });
  return {
    ...Object.fromEntries(
      Object.entries(named).map(([kind, table]) => [
        `${kind}_changed`,
        rows(table, ['project_id', 'id', 'name', 'created_ms']),
      ]),
    ),
    overrides_changed: rows(oncall.oncallOverrides, ['project_id', 'schedule_id', 'id', 'created_ms']),
    routes_changed: rows(oncall.alertRoutes, ['id', 'created_ms']),
  };
}
