import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { QueryStore, Readers } from '../../http/readers.ts';
import type { Freshness } from '../../metrics/freshness.ts';
import type { Page } from '../../pages/page.ts';
import type { SeriesReader } from '../series/series.ts';

/** Dependencies of each page of the metrics. */
export interface ConsolePages {
  readonly readers: Readers;
  readonly registry: Registry;
  readonly freshness: Freshness;
  readonly series: SeriesReader;
  readonly accounts: Accounts;
  /** The public URL of the service, without a trailing slash. */
  readonly origin: () => string;
}

/** The store, limited to the budget of the caller. */
export const storeOf = async (
  { readers }: ConsolePages,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<QueryStore> => (await readers.open(request, reply)).store();

/** The query parameters of a URL; names may be repeated. */
export const queryOf = ({ url }: FastifyRequest): URLSearchParams =>
  new URLSearchParams(url.split('?', 2)[1] ?? '');

/** The query string of a URL with its question mark; empty if there is none. */
export function searchOf({ url }: FastifyRequest): string {
  const search = url.split('?', 2)[1];
  return search === undefined ? '' : `?${search}`;
}

/** Sends a page of public data. */
export const sendPublicPage = (reply: FastifyReply, page: Page): Promise<FastifyReply> =>
  reply.page({ layout: 'wide', isPublic: true, ...page });
