import type { FastifyInstance } from 'fastify';
import { gitlabDialect } from '../http/dialects.ts';
import { handleErrors } from '../http/errors.ts';
import { publicUrl } from '../http/public-url.ts';
import type { Readers } from '../http/readers.ts';
import { serveAlertmanager } from './alertmanager/routes.ts';
import { serveAlertRouteLists } from './api/alert-routes.ts';
import { serveAlertRoutes } from './api/alerts.ts';
import { serveAnalytics } from './api/analytics.ts';
import { serveChannels } from './api/channels.ts';
import { serveContacts } from './api/contacts.ts';
import { Api } from './api/endpoint.ts';
import { serveEscalation } from './api/escalation.ts';
import { serveHeartbeats } from './api/heartbeats.ts';
import { serveIncidents } from './api/incidents.ts';
import { serveIntegrations } from './api/integrations.ts';
import { serveMaintenanceWindows } from './api/maintenance-windows.ts';
import { serveCalendarAddress, serveOncallCalendars } from './api/oncall-calendars.ts';
import { serveOncallOverrides } from './api/oncall-overrides.ts';
import { serveOncallRotations } from './api/oncall-rotations.ts';
import { serveOncallSchedules } from './api/oncall-schedules.ts';
import { servePageRoutes } from './api/pages.ts';
import { serveProjects } from './api/projects.ts';
import { serveRoutePreview } from './api/route-preview.ts';
import { serveSilences } from './api/silences.ts';
import { serveWebhooks } from './api/webhooks.ts';
import {
  type AlertDomain,
  type AlertDomainDependencies,
  openAlertDomain,
  SAMPLE_BYTES_MAX,
} from './composition/domain.ts';
import { serveIntake } from './intake/intake.ts';
import { servePagerduty } from './intake/pagerduty.ts';
import { BodySignatures } from './intake/signed-body.ts';
import { UnauthenticatedBodies } from './intake/unauthenticated-bodies.ts';
import { serveAlertPages } from './pages/routes.ts';

/** Large enough for a sample payload, whose quotes are escaped in the JSON body. */
const API_BODY_BYTES_MAX = 4 * 2 ** 20;

interface AlertServing extends Omit<AlertDomainDependencies, 'publicUrl'> {
  readonly readers: Readers;
  readonly settings: AlertDomainDependencies['settings'] & Parameters<typeof publicUrl>[1];
}

/** Serves the webhook receiver, the REST API and the pages of alerts, and starts their background work. */
export async function serveAlerts(app: FastifyInstance, serving: AlertServing): Promise<void> {
  const { runtime, accounts, pipeline, readers, settings } = serving;
  const url = () => publicUrl(app, settings);
  const payloadSizes = { bytesMax: SAMPLE_BYTES_MAX, depthMax: settings.ALERT_DEPTH_MAX };
  const domain = openAlertDomain({ ...serving, publicUrl: url });
  startBackgroundWork(app, domain);
  const intake = {
    pipeline,
    cache: domain.cache,
    beats: domain.beats,
    refusals: domain.refusals,
    signatures: new BodySignatures(accounts.seal),
    sns: domain.sns,
    unauthenticated: new UnauthenticatedBodies(),
    clock: runtime.clock,
    bodyBytesMax: settings.ALERT_BODY_BYTES_MAX,
  };
  await serveIntake(app, intake);
  await servePagerduty(app, intake);
  await serveAlertmanager(app, { accounts, readers, clock: runtime.clock, domain, url });
  await serveAlertPages(app, { accounts, readers, clock: runtime.clock, domain, payloadSizes, url });
  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      route.bodyLimit = API_BODY_BYTES_MAX;
    });
    handleErrors(scope, gitlabDialect);
    acceptNoBody(scope);
    const api = new Api(scope, { accounts, projects: domain.projects, readers, url });
    serveProjects(api, domain, url);
    serveIntegrations(api, domain, { clock: runtime.clock, payloadSizes, url });
    serveHeartbeats(api, domain);
    serveAlertRoutes(api, domain, url);
    serveIncidents(api, domain, url);
    serveWebhooks(api, domain);
    serveEscalation(api, domain);
    serveAlertRouteLists(api, domain);
    serveRoutePreview(api, { ...domain, clock: runtime.clock });
    serveMaintenanceWindows(api, domain);
    serveOncallSchedules(api, domain, runtime.clock);
    serveOncallRotations(api, domain);
    serveOncallOverrides(api, domain);
    serveCalendarAddress(api, domain, url);
    serveOncallCalendars(scope, domain, runtime.clock);
    servePageRoutes(api, domain, url);
    serveAnalytics(api, domain, runtime.clock);
    serveContacts(api, domain);
    serveChannels(api, domain);
    serveSilences(api, domain, { clock: runtime.clock, url });
  });
}

/** Accepts empty bodies, because many clients send Content-Type without a body. Routes check if they need one. */
function acceptNoBody(scope: FastifyInstance): void {
  const parse = scope.getDefaultJsonParser('error', 'error');
  scope.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    body === '' ? done(null, undefined) : parse(request, body, done),
  );
}

function startBackgroundWork(app: FastifyInstance, domain: AlertDomain): void {
  const {
    eventConsumers,
    eventRetention,
    heartbeats,
    pageDeliveries,
    pageRetention,
    pageSteps,
    refusals,
    pagerHealth,
    suppressedPages,
    silences,
    snsSubscriptions,
    webhookDeliveries,
  } = domain;
  const logFailure = (text: string) => (error: unknown) => app.log.error({ err: error }, text);
  eventConsumers.start(logFailure('alert events were not processed; the next try is in at most 30 seconds'));
  webhookDeliveries.start(logFailure('webhooks were not sent; the next try is in at most 30 seconds'));
  pageSteps.start(logFailure('steps of pages were not carried out; the next try is in at most 30 seconds'));
  suppressedPages.start(
    logFailure('silences were not applied to pages; the next try is in at most 30 seconds'),
  );
  snsSubscriptions.start(
    logFailure('Amazon SNS subscriptions were not confirmed; the next try is in at most 30 seconds'),
  );
  pageDeliveries.start(logFailure('messages of pages were not sent; the next try is in at most 30 seconds'));
  pageRetention.start(logFailure('old pages were not deleted; the next try is in an hour'));
  pagerHealth.start(logFailure('a check of the pager failed; the next one is in 30 seconds'));
  heartbeats.start(logFailure('heartbeats were not checked; the next try is in 15 seconds'));
  refusals.start(logFailure('counts of refused requests were not stored; the next try is in 10 seconds'));
  silences.start(logFailure('old silences were not deleted; the next try is in an hour'));
  eventRetention.start(
    (events) => events > 0 && app.log.info({ events }, 'old alert events were deleted'),
    logFailure('old alert events were not deleted; the next try is in an hour'),
  );
  app.addHook('onClose', async () => {
    heartbeats.stop();
    eventRetention.stop();
    silences.stop();
    pageRetention.stop();
    await Promise.all([eventConsumers.stop(), webhookDeliveries.stop(), refusals.stop()]);
    await Promise.all([snsSubscriptions.stop(), suppressedPages.stop(), pageSteps.stop()]);
    await Promise.all([pageDeliveries.stop(), pagerHealth.stop()]);
  });
}
