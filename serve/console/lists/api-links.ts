import type { OrderDirection } from '../../metrics/cursor.ts';
import { type Html, html } from '../../pages/html.ts';
import type { ListSource } from './list-page.ts';

interface SameRowsOf {
  readonly source: ListSource;
  /** Filters as the API takes them. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly order?: OrderDirection | undefined;
  /** The address of this service. */
  readonly origin: string;
}

/** Links to the rows of a table as files, and the API call for them. */
export function apiLinks({ source, values, order, origin }: SameRowsOf): Html {
  const missing = source.filters.filter(({ name, required }) => required && values[name] === undefined);
  const link = html`<a href="/docs#/Metrics/${operationOf(source)}">documentation</a>`;
  if (missing.length > 0) {
    const names = missing.map(({ name }) => html` <code>${name}</code>`);
    return html`<p class="same hint">In the API, <code>${source.endpoint.path}</code> requires${names}: see its ${link}.</p>`;
  }
  const call = callOf(source, values, order);
  return html`<details class="same"><summary>Download these rows or get them from the API</summary>
<p><a href="${withFormat(call, 'csv')}">CSV</a> <a href="${withFormat(call, 'parquet')}">Parquet</a> <a href="${withFormat(call, 'arrow')}">Arrow</a> <a href="${call}">JSON</a> · ${link}</p>
<pre class="payload"><code>curl '${origin}${call.replaceAll("'", '%27')}'</code></pre></details>`;
}

/** The API URL with these filters. */
function callOf(
  { endpoint }: ListSource,
  values: SameRowsOf['values'],
  order: OrderDirection | undefined,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  if (order !== undefined) query.set('order', order);
  return query.size === 0 ? endpoint.path : `${endpoint.path}?${query}`;
}

const withFormat = (call: string, format: string) =>
  `${call}${call.includes('?') ? '&' : '?'}format=${format}`;

const operationOf = ({ endpoint }: ListSource) => endpoint.path.replace(/^\/api\//, '').replaceAll('/', '-');
