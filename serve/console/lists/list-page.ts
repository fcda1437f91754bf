import type { Metric, MetricEndpoint } from '../../../aggregate/metric.ts';
import { metrics } from '../../../aggregate/metrics/index.ts';
import type { OrderDirection } from '../../metrics/cursor.ts';
import { type Parameter, parametersOf, querySchema } from '../../metrics/parameters.ts';

/** A row as the API serves it. */
export type ListRow = Readonly<Record<string, unknown>>;

/** What is shown of a text: an account, contract or hash that is shortened in its middle, a state, or the text. */
type TextKind = 'account' | 'hash' | 'state' | 'text';

/** A column of a table, in its place. */
export interface ColumnView {
  readonly column: string;
  /** In place of the title of the column, where the page has made clear what it is of. */
  readonly title?: string;
  /** Of a column of texts; `text` when absent. */
  readonly as?: TextKind;
  /** The page that tells more of the row or of what the cell names; null when there is none. */
  readonly to?: (row: ListRow) => string | null;
}

/** A field of the form above a table. */
export interface FilterField {
  /** The parameter of the API. */
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  /** Of addresses. */
  readonly isLong?: true;
  /** The values that make sense, one of which is always chosen. */
  readonly options?: readonly string[];
  /** The values of a parameter that is a list in one text. */
  readonly choices?: readonly string[];
}

/** A page with a table of records, which one path of the API serves. */
export interface ListPage {
  readonly path: string;
  /** The name of its tab. */
  readonly tab: string;
  readonly title: string;
  /** What a visitor finds, in a sentence or two. */
  readonly lead: string;
  readonly source: ListSource;
  readonly columns: readonly ColumnView[];
  /** The fields besides relay chain, chain and days, which follow from the path of the API. */
  readonly filters?: readonly FilterField[];
  /** In place of the order of the API. */
  readonly order?: OrderDirection;
  /** What is said in place of a table without rows. */
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
  /** What narrows the rows: relay chain, chain, days, and what the path adds. */
  readonly filters: readonly Parameter[];
  /** Of these. What the API insists on, a page can do without: it shows the newest rows. */
  readonly schema: ReturnType<typeof querySchema>;
}

/** Leads from an account to the rows of a page that are of it; `parameter` is the filter of that page. */
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
    // A day that a path accepts and ignores is no filter.
    const ignored = endpoint.dates?.column === null ? ['start_date', 'end_date'] : [];
    const filters = parametersOf(metric, endpoint, { LIST_ROWS_MAX: 1, SERIES_ROWS_MAX: 1 }).filter(
      ({ name }) => !PAGING.has(name) && !ignored.includes(name),
    );
    const schema = querySchema(filters.map((filter) => ({ ...filter, required: false })));
    return { metric, endpoint, filters, schema };
  }
  throw new Error(`no metric is served at ${path}`);
}
