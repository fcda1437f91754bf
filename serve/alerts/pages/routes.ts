import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Readers } from '../../http/readers.ts';
import { servePages } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { PayloadSizes } from '../integrations/samples.ts';
import { serveAcknowledgePages } from './acknowledge.ts';
import { serveAlertRoutePages } from './alert-routes.ts';
import { serveAnalyticsPages } from './analytics.ts';
import { serveBulk } from './bulk.ts';
import { serveChannelPages } from './channels.ts';
import { serveDetails } from './details.ts';
import { serveEscalationPages } from './escalation.ts';
import { ProjectFrame } from './frame.ts';
import { serveIncidentPages } from './incidents.ts';
import { serveIntegrationPages } from './integrations.ts';
import { serveList } from './list.ts';
import { LiveParts } from './live.ts';
import { serveMaintenancePages } from './maintenance.ts';
import { serveMappingPages } from './mapping.ts';
import { serveNotificationPages } from './notifications.ts';
import { serveOnCallPage } from './on-call.ts';
import { serveProjectPages } from './projects.ts';
import { serveRotations } from './rotations.ts';
import { serveRoutePreviewPage } from './route-preview.ts';
import { serveRulesPage } from './rules.ts';
import { serveSavedFilters } from './saved-filters.ts';
import { serveSchedulePage } from './schedule.ts';
import { serveSenderSecret } from './sender-secret.ts';
import { serveSilencePages } from './silences.ts';
import { serveWebhookPages } from './webhooks.ts';

interface AlertPagesOptions {
  readonly accounts: Accounts;
  readonly readers: Readers;
  readonly clock: Clock;
  readonly domain: AlertDomain;
  readonly payloadSizes: PayloadSizes;
  readonly url: () => string;
}

/** The pages of projects and their alerts. */
export async function serveAlertPages(app: FastifyInstance, options: AlertPagesOptions): Promise<void> {
  const { accounts, readers, clock, domain, payloadSizes, url } = options;
  const frame = new ProjectFrame({ accounts, projects: domain.projects, readers });
  const live = new LiveParts({ reader: domain.reader, shared: readers.shared, clock });
  await servePages(app, accounts, async (pages) => {
    serveProjectPages(pages, frame, domain);
    const sendList = serveList(pages, { ...domain, frame, clock, live });
    serveBulk(pages, frame, domain);
    serveSavedFilters(pages, frame, domain, sendList);
    serveDetails(pages, frame, domain, clock);
    serveIntegrationPages(pages, { ...domain, frame, clock, url, live });
    serveMappingPages(pages, { ...domain, frame, payloadSizes });
    serveRulesPage(pages, { ...domain, frame });
    serveSenderSecret(pages, { ...domain, frame });
    serveWebhookPages(pages, { ...domain, frame, clock });
    serveAcknowledgePages(pages, domain);
    serveEscalationPages(pages, { ...domain, frame });
    serveRoutePreviewPage(pages, { ...domain, frame, clock });
    serveAlertRoutePages(pages, { ...domain, frame });
    serveMaintenancePages(pages, { ...domain, frame, clock });
    serveChannelPages(pages, { ...domain, frame });
    serveSilencePages(pages, { ...domain, frame, clock });
    serveNotificationPages(pages, { ...domain, accounts, url });
    serveIncidentPages(pages, frame, domain);
    serveAnalyticsPages(pages, frame, domain, clock);
    const onCall = { ...domain, frame, clock, url };
    serveOnCallPage(pages, onCall);
    serveSchedulePage(pages, onCall);
    serveRotations(pages, onCall);
  });
}
