import type { Metric, MetricEndpoint } from '../../../aggregate/metric.ts';
import { metrics } from '../../../aggregate/metrics/index.ts';
import type { OrderDirection } from '../../metrics/cursor.ts';
import { type Parameter, parametersOf, querySchema } from '../../metrics/parameters.ts';

/** A row as the API serves it. */
export type ListRow = Readonly<Record<string, unknown>>;

/** Formats of text: `account` and `hash` are shortened in the middle, `state` is a coloured chip. */
type TextKind = 'account' | 'hash' | 'state' | 'text';

/** A column of a table. */
export interface ColumnView {
  readonly column: string;
  /** A shorter title than that of the metric. */
  readonly title?: string;
  /** Format of a text column; default: `text`. */
  readonly as?: TextKind;
  /** Link of the cell; null if there is none. */
  readonly to?: (row: ListRow) => string | null;
}

/** A field of the form above a table. */
export interface FilterField {
  /** The parameter of the API. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** Whether the field is wide, as for addresses. */
  readonly isLong?: true;
  /** Options of a select without "All". */
  readonly options?: readonly string[];
  /** Checkbox values of a parameter with a comma-separated list. */
  readonly choices?: readonly string[];
}

/** A page with a table of records from one path of the API. */
export interface ListPage {
  readonly path: string;
  /** The name of its tab. */
  readonly tab: string;
  readonly title: string;
  /** Description of the list. */
  readonly lead: string;
  readonly source: ListSource;
  readonly columns: readonly ColumnView[];
  /** Fields in addition to relay chain, chain and days. */
  readonly filters?: readonly FilterField[];
  /** Default: the order of the API. */
  readonly order?: OrderDirection;
  /** Shown if the table has no rows. */
  readonly empty: string;
}

/** Pages that belong together. */
export interface ListSection {
  readonly name: string;
  readonly pages: readonly ListPage[];
}

/** A path of the API with the metric that it serves. */
export interface ListSource {
  readonly metric: Metric;
  readonly endpoint: MetricEndpoint;
  /** Parameters that filter rows. */
  readonly filters: readonly Parameter[];
  /** Schema of `filters`. Pages show the newest rows, so parameters that the API requires are optional. */
  readonly schema: ReturnType<typeof querySchema>;
}

/** Returns a link to a list, filtered by the value of a column; `parameter` is the filter. */
export const rowsOf =
  (path: string, parameter: string, column: string) =>
  (row: ListRow): string | null =>
    typeof row[column] === 'string' && row[column] !== ''
      ? `${path}?${new URLSearchParams({ [parameter]: row[column] })}`
      : null;

const PAGING = new Set(['order', 'limit', 'cursor', 'format', 'bom']);

/** The metric behind a path of the API. */
export function sourceOf(path: string): ListSource {
  for (const metric of metrics) {
    const endpoint = metric.endpoints.find((one) => one.path === path);
    if (endpoint === undefined) continue;
    // Days that a path accepts and ignores are no filters.
    const ignored = endpoint.dates?.column === null ? ['start_date', 'end_date'] : [];
    const filters = parametersOf(metric, endpoint, { LIST_ROWS_MAX: 1, SERIES_ROWS_MAX: 1 }).filter(
      ({ name }) => !PAGING.has(name) && !ignored.includes(name),
    );
    const schema = querySchema(filters.map((filter) => ({ ...filter, required: false })));
    return { metric, endpoint, filters, schema };
  }
  throw new Error(`no metric is served at ${path}`);
}
