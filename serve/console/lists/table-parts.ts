import type { Registry } from '../../../ingest/chains/registry.ts';
import { type Html, html } from '../../pages/html.ts';
import { wideTable } from '../../pages/wide-table.ts';
import { cell, columnTitle, isNumeric } from './cells.ts';
import type { ColumnView, ListRow, ListSource } from './list-page.ts';

interface ListTableOf {
  readonly source: ListSource;
  readonly columns: readonly ColumnView[];
  readonly rows: readonly ListRow[];
  readonly registry: Registry;
  readonly caption: string;
  /** Shown if there are no rows. */
  readonly empty: string;
}

/** A table of records. */
export function listTable(input: ListTableOf): Html {
  const { source, columns, rows, caption, empty } = input;
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const heads = columns.map(
    (view) =>
      html`<th scope="col"${isNumeric(source.metric, view) && html` class="number"`}>${columnTitle(source.metric, view)}</th>`,
  );
  return wideTable(
    caption,
    html`<table>
<thead><tr>${heads}</tr></thead>
<tbody>${rows.map((row) => listRow(input, row))}</tbody></table>`,
    'records',
  );
}

/** One row; its first cell is its head. */
export function listRow(
  { source: { metric }, columns, registry }: Pick<ListTableOf, 'source' | 'columns' | 'registry'>,
  row: ListRow,
): Html {
  return html`<tr>${columns.map((view, i) => {
    const shown = cell({ metric, view, row, registry });
    if (i === 0) return html`<th scope="row">${shown}</th>`;
    const look = isNumeric(metric, view) ? 'number' : view.column === 'chain' ? 'chain' : null;
    return html`<td${look && html` class="${look}"`}>${shown}</td>`;
  })}</tr>
`;
}

/** The columns of a row as a description list. */
export function facts(
  { source: { metric }, columns, registry }: Pick<ListTableOf, 'source' | 'columns' | 'registry'>,
  row: ListRow,
): Html {
  return html`<dl class="facts">${columns.map(
    (view) =>
      html`<dt>${columnTitle(metric, view)}</dt><dd>${cell({ metric, view, row, registry, isExact: true })}</dd>
`,
  )}</dl>`;
}

const ROW_LINKS = { page: 'Next page', first: 'First page' };

/** Links to the first and next page of a list; null if there is only one page. */
export function pagerLinks(links: {
  readonly isFirst: boolean;
  readonly first: string;
  readonly next: string | null;
}): Html | null {
  const { isFirst, first, next } = links;
  if (isFirst && next === null) return null;
  return html`<nav class="pager" aria-label="Pages">${!isFirst && html`<a class="button second small" href="${first}">${ROW_LINKS.first}</a>`}
${next !== null && html`<a class="button second small" rel="next" href="${next}">${ROW_LINKS.page}</a>`}</nav>`;
}
