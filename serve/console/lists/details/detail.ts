import type { FastifyReply } from 'fastify';
import { HttpError } from '../../../http/errors.ts';
import { type Html, html } from '../../../pages/html.ts';
import { inWords } from '../cells.ts';
import { type ListVisit, sendListPage } from '../frame.ts';
import type { ListPage, ListRow, ListSection } from '../list-page.ts';
import type { RowsWanted } from '../list-reader.ts';
import { listTable } from '../table-parts.ts';

/** Most rows of a table on a detail page. */
const ROWS_MAX = 25;

interface DetailOf {
  readonly section: ListSection;
  /** The list to which the record belongs. */
  readonly list: ListPage;
  readonly title: string;
  readonly description: string;
  /** Shown beside the title. */
  readonly states?: Html | null;
  readonly body: Html;
}

/** Sends the detail page of a record. */
export function sendDetail(visit: ListVisit, of: DetailOf): Promise<FastifyReply> {
  const { section, list, title, description, states, body } = of;
  return sendListPage(visit, {
    section,
    tab: list.path,
    title,
    description,
    body: html`<p class="trail"><a href="${list.path}">${list.title}</a> › ${title}</p>
<h1>${title} ${states}</h1>
${body}`,
  });
}

/** The row of a detail page; null if there is none. */
export async function rowOf(
  visit: ListVisit,
  { source }: ListPage,
  wanted: RowsWanted,
): Promise<ListRow | null> {
  const { rows } = await visit.listReader.read(source, { ...wanted, limit: 1 }, visit.reader);
  return rows[0] ?? null;
}

/** A table of related records, with a link to the full list. */
export async function related(
  visit: ListVisit,
  of: {
    readonly title: string;
    readonly page: ListPage;
    readonly wanted: RowsWanted;
    /** Columns to omit, because they are the same in every row. */
    readonly without: readonly string[];
    readonly empty: string;
    /** Link to the filtered list; null if the list has no such filter. */
    readonly all: string | null;
  },
): Promise<Html> {
  const { title, page, wanted, without, empty, all } = of;
  const { rows, next } = await visit.listReader.read(
    page.source,
    { order: page.order, ...wanted, limit: ROWS_MAX },
    visit.reader,
  );
  const columns = page.columns.filter(({ column }) => !without.includes(column));
  return html`<section class="part"><h2>${title}</h2>
${listTable({ source: page.source, columns, rows, registry: visit.registry, caption: title, empty })}
${next !== null && html`<p class="hint">The ${ROWS_MAX} that come first. ${all !== null && html`<a href="${all}">All of them</a>`}</p>`}</section>`;
}

/** Parses an integer of a URL; throws 404. */
export function indexOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw notFound();
}

/** Validates the relay chain of a URL against those of a list; throws 404. */
export function relayOf(text: string, { source }: ListPage): string {
  const relay = source.endpoint.relays.find((one) => one === text);
  if (relay !== undefined) return relay;
  throw notFound(`This list covers only ${source.endpoint.relays.map(inWords).join(', ')}.`);
}

export const notFound = (what = 'Nothing is stored under this address.') => new HttpError('not_found', what);
