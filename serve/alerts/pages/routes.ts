import type { FastifyInstance } from 'fastify';
import { servePages } from '../../http/pages/page.ts';
import type { Desk } from '../services.ts';
import { serveAnalyticsPages } from './analytics.ts';
import { serveDetails } from './details.ts';
import { serveIncidentPages } from './incidents.ts';
import { serveIntegrationPages } from './integrations.ts';
import { serveList } from './list.ts';
import { serveMappingPages } from './mapping.ts';
import { serveProjectPages } from './projects.ts';
import { serveHookPages } from './webhooks.ts';

/** The pages of projects and their alerts. */
export async function serveAlertPages(app: FastifyInstance, desk: Desk, url: () => string): Promise<void> {
  await servePages(app, desk.accounts, async (pages) => {
    serveProjectPages(pages, desk);
    serveList(pages, desk);
    serveDetails(pages, desk);
    serveIntegrationPages(pages, desk, url);
    serveMappingPages(pages, desk);
    serveHookPages(pages, desk, url);
    serveIncidentPages(pages, desk);
    serveAnalyticsPages(pages, desk);
  });
}
