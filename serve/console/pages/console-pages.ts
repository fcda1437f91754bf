import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { QueryStore, Readers } from '../../http/readers.ts';
import type { Freshness } from '../../metrics/freshness.ts';
import type { Page } from '../../pages/page.ts';
import type { SeriesReader } from '../series/series.ts';

/** What each page of the metrics is given. */
export interface ConsolePages {
  readonly readers: Readers;
  readonly registry: Registry;
  readonly freshness: Freshness;
  readonly series: SeriesReader;
  readonly accounts: Accounts;
  /** The address of the service, without a slash at its end. */
  readonly origin: () => string;
}

/** The store as the caller of a page may use it. */
export const storeOf = async (
  { readers }: ConsolePages,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<QueryStore> => (await readers.open(request, reply)).store();

/** The parameters of an address as they were written: a name may stand several times. */
export const queryOf = ({ url }: FastifyRequest): URLSearchParams =>
  new URLSearchParams(url.split('?', 2)[1] ?? '');

/** The parameters of an address with their question mark; empty where there are none. */
export function searchOf({ url }: FastifyRequest): string {
  const search = url.split('?', 2)[1];
  return search === undefined ? '' : `?${search}`;
}

/** Sends a page of public data. */
export const sendPublicPage = (reply: FastifyReply, page: Page): Promise<FastifyReply> =>
  reply.page({ layout: 'wide', isPublic: true, ...page });
