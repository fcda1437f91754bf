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
    /** Whether an index finds it by one of its matchers. */
    is_indexed: 'Bool',
    starts_ms: 'Int64',
    ends_ms: 'Int64',
    /** The name that its creator gave. */
    created_by: 'String',
    /** Who changed it last. */
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

export const quietTables: readonly Table[] = [alertSilences];
