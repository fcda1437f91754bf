import type { Table } from '../../../infra/table.ts';
import { type RowOf, storedTable } from '../../stored-records/stored-table.ts';

// Times are milliseconds since the epoch; 0 and '' mean none. Lists of objects are JSON texts.

export const alertSilences = storedTable({
  name: 'alert_silences',
  doc: 'Silences: alerts that match one page nobody while it lasts.',
  columns: {
    project_id: 'String',
    /** JSON: a list of `{name, value, isRegex, isEqual}`. */
    matchers: 'String',
    /** True if one of the matchers allows an index lookup. */
    is_indexed: 'Bool',
    starts_ms: 'Int64',
    ends_ms: 'Int64',
    /** The creator's name, as the client sent it. */
    created_by: 'String',
    /** Id of the user who changed the silence last. */
    author_id: 'String',
    comment: 'String',
    /** JSON: texts by name. */
    annotations: 'String',
    updated_ms: 'Int64',
    created_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type SilenceRow = RowOf<typeof alertSilences>;

export const maintenanceWindows = storedTable({
  name: 'maintenance_windows',
  doc: 'Times at which alerts that match page nobody.',
  columns: {
    project_id: 'String',
    name: 'String',
    /** JSON: a list of `{name, value, isRegex, isEqual}`. */
    matchers: 'String',
    /** JSON: a list of time intervals with their `location`; empty means always. */
    time_intervals: 'String',
    from_ms: 'Int64',
    until_ms: 'Int64',
    comment: 'String',
    is_active: 'Bool',
    author_id: 'String',
    created_ms: 'Int64',
    deleted_ms: 'Int64',
  },
  foundBy: 'project_id',
});
export type MaintenanceWindowRow = RowOf<typeof maintenanceWindows>;

export const suppressionTables: readonly Table[] = [alertSilences, maintenanceWindows];
