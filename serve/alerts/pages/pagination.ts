import { type Html, html } from '../../pages/html.ts';

const PAGES_MAX = 100_000;

/** The page number of a URL; 1 if there is none. */
export const pageNumber = (text: unknown): number =>
  Math.max(1, Math.min(PAGES_MAX, Math.floor(Number(text)) || 1));

interface PagedList {
  readonly page: number;
  readonly size: number;
  readonly total: number;
  /** Plural noun of the listed items. */
  readonly noun: string;
}

/** Links to the pages around one page of a list; null if there is only one page. */
export function pagination(
  { page, size, total, noun }: PagedList,
  urlOf: (page: number) => string,
): Html | null {
  const last = Math.ceil(total / size);
  if (last < 2) return null;
  const link = (to: number, label: string) =>
    html`<a class="button second small" href="${urlOf(to)}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">${page > 1 && link(page - 1, 'Previous')}
<span>Page ${page} of ${last} (${total} ${noun})</span>${page < last && link(page + 1, 'Next')}</nav>`;
}
