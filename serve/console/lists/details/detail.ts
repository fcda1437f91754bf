import type { FastifyReply } from 'fastify';
import { HttpError } from '../../../http/errors.ts';
import { type Html, html } from '../../../pages/html.ts';
import { inWords } from '../cells.ts';
import { type ListVisit, sendListPage } from '../frame.ts';
import type { ListPage, ListRow, ListSection } from '../list-page.ts';
import type { RowsWanted } from '../list-reader.ts';
import { listTable } from '../table-parts.ts';

/** Rows of a table on the page of one thing; the page of the list has the rest. */
const ROWS_MAX = 25;

interface DetailOf {
  readonly section: ListSection;
  /** The page of the list that it is from. */
  readonly list: ListPage;
  readonly title: string;
  readonly description: string;
  /** Beside the title. */
  readonly states?: Html | null;
  readonly body: Html;
}

/** Sends the page of one thing. */
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

/** The one row that an address names. */
export async function rowOf(
  visit: ListVisit,
  { source }: ListPage,
  wanted: RowsWanted,
): Promise<ListRow | null> {
  const { rows } = await visit.listReader.read(source, { ...wanted, limit: 1 }, visit.reader);
  return rows[0] ?? null;
}

/** A table of what belongs to a thing, with a link to the list that has all of it. */
export async function related(
  visit: ListVisit,
  of: {
    readonly title: string;
    readonly page: ListPage;
    readonly wanted: RowsWanted;
    /** Columns that say the same on every row. */
    readonly without: readonly string[];
    readonly empty: string;
    /** The page of the list; null where it cannot be narrowed to this thing. */
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

/** A whole number of an address. */
export function indexOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw nothing();
}

/** A relay chain of an address, of those that a list has rows of. */
export function relayOf(text: string, { source }: ListPage): string {
  const relay = source.endpoint.relays.find((one) => one === text);
  if (relay !== undefined) return relay;
  throw nothing(`Rows of this list are of ${source.endpoint.relays.map(inWords).join(', ')}.`);
}

export const nothing = (what = 'Nothing is stored under this address.') => new HttpError('not_found', what);
