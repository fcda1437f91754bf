import type { FastifyInstance } from 'fastify';
import type { Pipeline } from '../compose.ts';
import { gitlabDialect } from '../http/dialects.ts';
import { handleErrors } from '../http/errors.ts';
import { publicUrl } from '../http/public-url.ts';
import type { Accounts } from '../identity/accounts/accounts.ts';
import { serveAlerts as serveAlertsApi } from './api/alerts.ts';
import { serveAnalytics } from './api/analytics.ts';
import { Api } from './api/endpoint.ts';
import { serveIncidents } from './api/incidents.ts';
import { serveIntegrations } from './api/integrations.ts';
import { serveProjects } from './api/projects.ts';
import { serveHooks } from './api/webhooks.ts';
import { serveIntake } from './intake/intake.ts';
import { Heartbeat } from './integrations/heartbeat.ts';
import { WebhookOutbox } from './notifications/webhook-outbox.ts';
import { serveAlertPages } from './pages/routes.ts';
import { followAlerts } from './projects/incidents.ts';
import { openAlertServices } from './services.ts';

/** A sample and its mapping come as texts inside JSON, where every quote takes two bytes. */
const API_BODY_BYTES_MAX = 4 * 2 ** 20;

/** Everything about alerts: the webhook receiver, the REST API and the pages. */
export async function serveAlerts(app: FastifyInstance, engine: Pipeline, accounts: Accounts): Promise<void> {
  const services = await openAlertServices(engine, accounts);
  services.alerts.onFailure = (error) => app.log.error({ err: error }, 'alerts cannot be written for now');
  services.alerts.onStored((shown) => {
    followAlerts(services, shown).catch((error) =>
      app.log.error({ err: error }, 'an incident was not kept up'),
    );
  });
  const url = () => publicUrl(app, engine.config);
  const notices = new WebhookOutbox(services, url);
  await notices.start((error) => app.log.error({ err: error }, 'nobody is told of alerts for now'));
  app.addHook('onClose', async () => notices.stop());
  const heartbeat = new Heartbeat(services);
  heartbeat.start((error) => app.log.error({ err: error }, 'heartbeats are not watched for now'));
  app.addHook('onClose', async () => heartbeat.stop());
  await serveIntake(app, services, heartbeat);
  await serveAlertPages(app, services, url);
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.bodyLimit = API_BODY_BYTES_MAX;
    });
    handleErrors(scope, gitlabDialect);
    const api = new Api(scope, services);
    serveProjects(api, services, url);
    serveIntegrations(api, services, url);
    serveAlertsApi(api, services, url);
    serveIncidents(api, services);
    serveHooks(api, services, url);
    serveAnalytics(api, services);
  });
}
