import type { FastifyReply } from 'fastify';
import { z } from 'zod';

// How lists are divided into pages.

export const PAGES_DOC =
  'The headers X-Total, X-Total-Pages, X-Page, X-Per-Page, X-Next-Page and Link describe the pages.';

export const pageQuery = {
  page: z.coerce.number().int().min(1).max(1_000_000).default(1),
  per_page: z.coerce.number().int().min(1).max(100).default(20),
};

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
