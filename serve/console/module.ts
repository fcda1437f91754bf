import type { FastifyInstance } from 'fastify';
import type { ChainCoverage, SystemStatus } from '../../aggregate/status/status.ts';
import type { Clock } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { HttpError } from '../http/errors.ts';
import type { Limiters } from '../http/limiter.ts';
import { publicUrl } from '../http/public-url.ts';
import { type Authenticate, limitAnonymous } from '../http/rate-limit.ts';
import type { Readers } from '../http/readers.ts';
import type { HttpSettings } from '../http/settings.ts';
import type { Freshness } from '../metrics/freshness.ts';
import { servePages } from '../pages/page.ts';
import type { ListReader } from './lists/list-reader.ts';
import { serveChain } from './pages/chain.ts';
import { serveChainList } from './pages/chains.ts';
import { serveCompare } from './pages/compare.ts';
import { serveEmbed } from './pages/embed.ts';
import { serveLists } from './pages/list-routes.ts';
import { serveMetricPage } from './pages/metric.ts';
import { serveMetricList } from './pages/metrics.ts';
import { serveOverview } from './pages/overview.ts';
import { serveSearch } from './pages/search.ts';
import { serveStatus } from './pages/status.ts';
import type { SeriesReader } from './series/series.ts';

/** Dependencies of the pages of the metrics. */
interface ConsoleSources {
  readonly readers: Readers;
  readonly status: () => Promise<SystemStatus>;
  readonly coverage: () => Promise<readonly ChainCoverage[]>;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly freshness: Freshness;
  readonly series: SeriesReader;
  readonly listReader: ListReader;
  readonly limiters: Limiters;
  readonly authenticate: Authenticate;
  readonly settings: HttpSettings & Parameters<typeof publicUrl>[1];
}

/** Serves the pages of the metrics. */
export async function serveConsole(
  app: FastifyInstance,
  sources: ConsoleSources,
  accounts: Accounts,
): Promise<void> {
  await servePages(app, accounts, async (pages) => {
    limitAnonymous(pages, sources);
    const given = { ...sources, accounts, origin: () => publicUrl(app, sources.settings) };
    serveOverview(pages, given);
    serveMetricList(pages);
    serveMetricPage(pages, given);
    serveChainList(pages, given);
    serveChain(pages, given);
    serveCompare(pages, given);
    serveEmbed(pages, given);
    serveSearch(pages, given);
    serveLists(pages, given);
    serveStatus(pages, given);
    servePageNotFound(pages);
  });
}

/** Answers an unknown path with a page for browsers, and with an API error for programs. */
function servePageNotFound(pages: FastifyInstance): void {
  pages.get('*', (request, reply) => {
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound();
    throw new HttpError(
      'not_found',
      'There is no page at this address. It may have moved, or the link may be wrong.',
    );
  });
}
