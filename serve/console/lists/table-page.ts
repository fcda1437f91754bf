import type { FastifyReply } from 'fastify';
import { ParameterError } from '../../http/errors.ts';
import { CURSOR_CHARS_MAX } from '../../metrics/cursor.ts';
import type { Query } from '../../metrics/parameters.ts';
import { type Html, html } from '../../pages/html.ts';
import { apiLinks } from './api-links.ts';
import { moment } from './cells.ts';
import { filterForm } from './filter-form.ts';
import { type FilterInput, readFilters } from './filter-input.ts';
import { type ListVisit, sendListPage } from './frame.ts';
import type { ListPage, ListSection } from './list-page.ts';
import type { ListRows } from './list-reader.ts';
import { listTable, pagerLinks } from './table-parts.ts';

/** Additional content of a table page. */
interface TableExtras {
  readonly above?: Html | null;
  readonly beneathForm?: Html | null;
  readonly script?: 'explorer.js';
}

const GONE = 'This page of the list no longer exists. This is the first page.';

/** Sends a page with a table of records, its filters, paging and API links. */
export async function sendTable(
  visit: ListVisit,
  section: ListSection,
  page: ListPage,
  { above, beneathForm, script }: TableExtras = {},
): Promise<FastifyReply> {
  const { registry, request, origin } = visit;
  const { source } = page;
  const fields = page.filters ?? [];
  const given = readFilters(source, fields, request.query, registry);
  const isRefused = Object.keys(given.faults).length > 0;
  const form = filterForm({ path: page.path, source, fields, given, registry });
  // Read before the rows, so that it never claims more than the rows include.
  await visit.freshness.refresh();
  const found = isRefused ? null : await readPage(visit, page, given);
  const rows = found && {
    source,
    columns: page.columns,
    rows: found.rows,
    registry,
    caption: page.title,
    empty: Object.keys(given.typed).length > 0 ? NOTHING_MATCHES : page.empty,
  };
  const body = html`<h1>${page.title}</h1>
<p class="lead">${page.lead}</p>
${above}
${form}
${beneathForm}
${isRefused && html`<p class="note bad" role="alert">Nothing is shown, because the form has a mistake.</p>`}
${found?.isGone && html`<p class="note warn" role="status">${GONE}</p>`}
${rows && listTable(rows)}
${found && asOf(visit, page, found.query)}
${found && pagerLinks({ isFirst: found.isFirst, first: addressOf(page, given, null), next: found.next && addressOf(page, given, found.next) })}
${found && apiLinks({ source, values: given.values, order: page.order, origin: origin() })}`;
  return sendListPage(visit, {
    section,
    tab: page.path,
    title: page.title,
    description: page.lead,
    body,
    status: isRefused ? 422 : 200,
    ...(script && { script }),
  });
}

const NOTHING_MATCHES = 'Nothing matches. Leave out a filter, or choose other days.';

/** Freshness and completeness of the rows, from the headers of the API. */
function asOf({ freshness, clock }: ListVisit, { source }: ListPage, query: Query): Html | null {
  const headers = freshness.headers(source.metric, query, clock.now());
  const newest = headers['x-data-as-of'];
  if (newest === undefined) return null;
  return html`<p class="hint as-of">As of ${moment(newest)} UTC.${headers['x-coverage'] === 'partial' && html` Some blocks or days of this range are missing or not computed yet: see <a href="/status">status</a>.`}</p>`;
}

interface FoundPage extends ListRows {
  readonly isFirst: boolean;
  /** Whether the cursor is invalid or outdated. */
  readonly isGone: boolean;
}

async function readPage(visit: ListVisit, page: ListPage, given: FilterInput): Promise<FoundPage> {
  const { listReader, reader, request } = visit;
  const { cursor } = request.query as { readonly cursor?: unknown };
  const wanted = { values: given.values, order: page.order };
  const first = async (isGone: boolean) => ({
    ...(await listReader.read(page.source, wanted, reader)),
    isFirst: true,
    isGone,
  });
  if (cursor === undefined) return first(false);
  if (typeof cursor !== 'string' || cursor.length > CURSOR_CHARS_MAX) return first(true);
  try {
    const found = await listReader.read(page.source, { ...wanted, cursor }, reader);
    return { ...found, isFirst: false, isGone: false };
  } catch (error) {
    if (error instanceof ParameterError) return first(true);
    throw error;
  }
}

/** The URL of a page of the list, with its filters. */
function addressOf({ path }: ListPage, { typed }: FilterInput, cursor: string | null): string {
  const query = new URLSearchParams({ ...typed, ...(cursor === null ? {} : { cursor }) });
  return query.size === 0 ? path : `${path}?${query}`;
}
