import type { AlertSettings } from '../../../aggregate/alerts/model/settings.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Clock, KeyValue, Queue, Store } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { Records } from '../../stored-records/records.ts';
import { ConsumerProgress } from '../events/consumer-progress.ts';
import { EventConsumers } from '../events/event-consumers.ts';
import { EventRetention } from '../events/event-retention.ts';
import { Outbox } from '../events/outbox.ts';
import { ProjectJobs } from '../events/project-jobs.ts';
import { IntegrationCache } from '../integrations/integration-cache.ts';
import * as tables from '../model/tables.ts';
import { Notifier } from '../notifications/notifier.ts';
import { type DeliverySettings, WebhookDeliveries } from '../notifications/webhook-deliveries.ts';
import { WebhookSender } from '../notifications/webhook-sender.ts';
import { Webhooks } from '../notifications/webhooks.ts';
import { PagerHealth } from '../pager-health/pager-health.ts';
import { PAGING } from '../paging/page-steps.ts';
import { AlertActions } from '../projects/alert-actions.ts';
import { AlertAnalytics } from '../projects/alert-analytics.ts';
import { AlertReader } from '../projects/alert-reader.ts';
import { IncidentUpdater } from '../projects/incident-updater.ts';
import { INCIDENTS, Incidents } from '../projects/incidents.ts';
import { Members } from '../projects/members.ts';
import { Notes } from '../projects/notes.ts';
import { Projects } from '../projects/projects.ts';
import { SavedFilters } from '../projects/saved-filters.ts';
import { UserLookup } from '../projects/users.ts';
import type { AlertMetrics } from './alert-metrics.ts';
import type { DestinationsSettings } from './destinations.ts';
import { type HeartbeatParts, openHeartbeats } from './heartbeats.ts';
import { type IntegrationParts, openIntegrations } from './integrations.ts';
import { type OncallParts, openOncall } from './oncall.ts';
import { openPaging, type Paging, type PagingSettings } from './paging.ts';
import { openSuppression, type SuppressionParts, type SuppressionSettings } from './suppression.ts';

export interface AlertDomainDependencies {
  readonly runtime: {
    readonly store: Store;
    readonly keyValue: KeyValue;
    readonly queue: Queue;
    readonly clock: Clock;
  };
  readonly accounts: Accounts;
  readonly pipeline: AlertPipeline;
  readonly settings: Pick<
    AlertSettings,
    | 'ALERT_BODY_BYTES_MAX'
    | 'ALERT_DEPTH_MAX'
    | 'ALERT_PLAN'
    | 'ALERT_PRIVATE_TARGETS'
    | 'PAGING_HEARTBEAT_URL'
    | 'RETENTION_ALERT_EVENTS_DAYS'
  > &
    DeliverySettings &
    DestinationsSettings &
    PagingSettings &
    SuppressionSettings;
  readonly publicUrl: () => string;
  readonly metrics: AlertMetrics;
}

/** The parts of the alert domain. Routes and pages pick the parts that they use. */
export interface AlertDomain extends HeartbeatParts, IntegrationParts, OncallParts, Paging, SuppressionParts {
  readonly actions: AlertActions;
  readonly analytics: AlertAnalytics;
  readonly cache: IntegrationCache;
  readonly eventConsumers: EventConsumers;
  readonly eventRetention: EventRetention;
  readonly incidents: Incidents;
  readonly members: Members;
  readonly notes: Notes;
  readonly pagerHealth: PagerHealth;
  readonly progress: ConsumerProgress;
  readonly projects: Projects;
  readonly reader: AlertReader;
  readonly savedFilters: SavedFilters;
  readonly users: UserLookup;
  readonly webhooks: Webhooks;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly webhookSender: WebhookSender;
}

const openRecords = (accounts: Accounts) => ({
  projects: new Records<tables.Project>(accounts, tables.projects),
  members: new Records<tables.Member>(accounts, tables.members),
  integrations: new Records<tables.Integration>(accounts, tables.integrations),
  incidents: new Records<tables.Incident>(accounts, tables.incidents),
  notes: new Records<tables.Note>(accounts, tables.notes),
  savedFilters: new Records<tables.SavedFilter>(accounts, tables.savedFilters),
  webhooks: new Records<tables.Webhook>(accounts, tables.webhooks),
});

/** Limit of the sample of a custom mapping. */
export const SAMPLE_BYTES_MAX = 64 * 1024;
/** Concurrency of deliveries to webhooks and on-call links. A project may use an eighth of it. */
const DELIVERY_CONCURRENCY = 64;

const deliveryJobs = (queue: Queue) =>
  new ProjectJobs({
    ...{ queue, name: 'alert-deliveries', concurrency: DELIVERY_CONCURRENCY },
    projectConcurrency: Math.ceil(DELIVERY_CONCURRENCY / 8),
  });

/** Constructs the parts, once per process. The schema must be applied before. */
export function openAlertDomain(dependencies: AlertDomainDependencies): AlertDomain {
  const { runtime, accounts, pipeline, settings, publicUrl, metrics } = dependencies;
  const { store, keyValue, clock } = runtime;
  const { limiters, locks, seal } = accounts;
  const records = openRecords(accounts);
  const payloadSizes = { bytesMax: SAMPLE_BYTES_MAX, depthMax: settings.ALERT_DEPTH_MAX };
  const { ALERT_PLAN: defaultPlan, ALERT_PRIVATE_TARGETS: allowsPrivate } = settings;
  const { RETENTION_ALERT_EVENTS_DAYS: days } = settings;

  const users = new UserLookup(accounts);
  const cache = new IntegrationCache({ keyValue, ...records });
  const members = new Members({ records: records.members, users, clock, locks, limiters });
  const progress = new ConsumerProgress({ store, clock, pipeline });
  const projects = new Projects({
    ...{ records: records.projects, store, clock, locks, members, cache, defaultPlan },
    onCreate: (project) => eventConsumers.begin(project),
    beforeIncidentRules: (project) => eventConsumers.catchUp(project, INCIDENTS),
  });
  const reader = new AlertReader({ store, pipeline });
  const actions = new AlertActions({ pipeline, reader, members });
  const shared = { store, clock, locks, pipeline, progress, metrics };
  const jobs = deliveryJobs(runtime.queue);
  const outbox = new Outbox({ ...shared, jobs });
  const catchUp = (project: number) => eventConsumers.catchUp(project, PAGING);
  const oncall = openOncall({ ...dependencies, cache, members, beforeRoutes: catchUp });
  const onSuppressionChange = (projectId: string) => paging.suppressedPages.changed(projectId);
  const suppressor = openSuppression({ runtime, accounts, cache, settings, onChanged: onSuppressionChange });
  const paging = openPaging({
    ...{ ...shared, ...oncall, ...suppressor, accounts, settings, publicUrl, queue: runtime.queue },
    ...{ projects, members, users, reader, actions, catchUp },
  });
  const consumers = [
    new IncidentUpdater({ ...shared, records: records.incidents, projects }),
    new Notifier({ cache, progress, outbox }),
    paging.pager,
  ];
  const eventConsumers = new EventConsumers({ ...shared, queue: runtime.queue, projects, consumers });
  const webhooks = new Webhooks({ records: records.webhooks, clock, seal, outbox, cache });
  const integrations = openIntegrations({
    ...{ ...dependencies, cache, outbox, payloadSizes, records: records.integrations },
    payloadBytesMax: settings.ALERT_BODY_BYTES_MAX,
  });
  const sender = new WebhookSender({ ...shared, ...suppressor, seal, users, allowsPrivate, publicUrl });
  const targets = { cache, webhooks, outbox, jobs, sender, oncallLinks: integrations.oncallLinks };
  return {
    ...oncall,
    ...paging,
    ...suppressor,
    ...openHeartbeats({ ...shared, keyValue, cache, refusals: integrations.refusals }),
    ...integrations,
    actions,
    analytics: new AlertAnalytics({ store, pipeline }),
    cache,
    eventConsumers,
    eventRetention: new EventRetention({ ...shared, eventConsumers, days }),
    incidents: new Incidents({ store, clock, locks, records: records.incidents, actions, reader }),
    members,
    notes: new Notes({ records: records.notes, clock }),
    pagerHealth: new PagerHealth({ ...shared, ...oncall, ...paging, projects, keyValue, settings }),
    progress,
    projects,
    reader,
    savedFilters: new SavedFilters({ records: records.savedFilters, clock, locks }),
    users,
    webhooks,
    webhookDeliveries: new WebhookDeliveries({ ...shared, ...targets, reader, settings }),
    webhookSender: sender,
  };
}
