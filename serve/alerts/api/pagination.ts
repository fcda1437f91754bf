import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';

export const PAGINATION_DOC =
  'The headers X-Total, X-Total-Pages, X-Page, X-Per-Page, X-Next-Page and Link describe the pages.';

const PER_PAGE = 20;
export const pageQuery = {
  page: wholeNumber(1, 1_000_000).default(1),
  per_page: wholeNumber(1, 100).default(PER_PAGE),
};

export const WHOLE_LIST_DOC = `Returns the whole list, or one page of it if the request has \`page\` or \`per_page\`. ${PAGINATION_DOC}`;

/** Query of a list that is returned in full by default. */
export const wholeListQuery = z.object({
  page: pageQuery.page.unwrap().optional(),
  per_page: pageQuery.per_page.unwrap().optional(),
});

export function pageOfList(
  rows: readonly unknown[],
  { page, per_page }: z.output<typeof wholeListQuery>,
  reply: FastifyReply,
  url: string,
): readonly unknown[] {
  if (page === undefined && per_page === undefined) return rows;
  const [number, size] = [page ?? 1, per_page ?? PER_PAGE];
  setPageHeaders(reply, url, { number, size, total: rows.length });
  return rows.slice((number - 1) * size, number * size);
}

interface PageOfTotal {
  readonly number: number;
  readonly size: number;
  readonly total: number;
}

export function setPageHeaders(reply: FastifyReply, url: string, { number, size, total }: PageOfTotal): void {
  const last = Math.max(1, Math.ceil(total / size));
  const link = (page: number, rel: string) => {
    const to = new URL(url);
    to.searchParams.set('page', String(page));
    return `<${to}>; rel="${rel}"`;
  };
  const next = number < last ? number + 1 : null;
  reply.headers({
    'x-total': String(total),
    'x-total-pages': String(last),
    'x-page': String(number),
    'x-per-page': String(size),
    'x-next-page': next === null ? '' : String(next),
    link: [...(next === null ? [] : [link(next, 'next')]), link(1, 'first'), link(last, 'last')].join(', '),
  });
}
