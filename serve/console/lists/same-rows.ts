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

/** How to get the rows of a table without a page: as a file, or by a call of the API. */
export function sameRows({ source, values, order, origin }: SameRowsOf): Html {
  const missing = source.filters.filter(({ name, required }) => required && values[name] === undefined);
  const link = html`<a href="/docs#/Metrics/${operationOf(source)}">documentation</a>`;
  if (missing.length > 0) {
    const names = missing.map(({ name }) => html` <code>${name}</code>`);
    return html`<p class="same hint">By the API, <code>${source.endpoint.path}</code> answers for the${names} that you name: see its ${link}.</p>`;
  }
  const call = callOf(source, values, order);
  return html`<details class="same"><summary>These rows as a file, or by the API</summary>
<p><a href="${withFormat(call, 'csv')}">CSV</a> <a href="${withFormat(call, 'parquet')}">Parquet</a> <a href="${withFormat(call, 'arrow')}">Arrow</a> <a href="${call}">JSON</a> · ${link}</p>
<pre class="payload"><code>curl '${origin}${call.replaceAll("'", '%27')}'</code></pre></details>`;
}

/** The call of the API with exactly these filters. */
export function callOf(
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
