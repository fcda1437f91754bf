import type { FastifyInstance } from 'fastify';
import { servePages } from '../../http/pages/page.ts';
import type { AlertServices } from '../services.ts';
import { serveAnalyticsPages } from './analytics.ts';
import { serveDetails } from './details.ts';
import { serveIncidentPages } from './incidents.ts';
import { serveIntegrationPages } from './integrations.ts';
import { serveList } from './list.ts';
import { serveMappingPages } from './mapping.ts';
import { serveProjectPages } from './projects.ts';
import { serveHookPages } from './webhooks.ts';

/** The pages of projects and their alerts. */
export async function serveAlertPages(
  app: FastifyInstance,
  services: AlertServices,
  url: () => string,
): Promise<void> {
  await servePages(app, services.accounts, async (pages) => {
    serveProjectPages(pages, services);
    serveList(pages, services);
    serveDetails(pages, services);
    serveIntegrationPages(pages, services, url);
    serveMappingPages(pages, services);
    serveHookPages(pages, services, url);
    serveIncidentPages(pages, services);
    serveAnalyticsPages(pages, services);
  });
}
