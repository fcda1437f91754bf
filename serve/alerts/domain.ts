import type { AlertPipeline } from '../../aggregate/alerts/pipeline.ts';
import type { AlertSettings } from '../../aggregate/alerts/settings.ts';
import type { Clock, KeyValue, Queue, Store } from '../../infra/ports.ts';
import type { Accounts } from '../identity/accounts/accounts.ts';
import { Records } from '../records/records.ts';
import { Heartbeats } from './integrations/heartbeats.ts';
import { IntegrationCache } from './integrations/integration-cache.ts';
import { Integrations } from './integrations/integrations.ts';
import { TestAlerts } from './integrations/test-alerts.ts';
import { OncallLinks } from './notifications/oncall-link.ts';
import { WebhookOutbox } from './notifications/webhook-outbox.ts';
import { WebhookProgress } from './notifications/webhook-progress.ts';
import { WebhookSender } from './notifications/webhook-sender.ts';
import { Webhooks } from './notifications/webhooks.ts';
import { AlertActions } from './projects/alert-actions.ts';
import { AlertAnalytics } from './projects/alert-analytics.ts';
import { AlertReader } from './projects/alert-reader.ts';
import { Incidents } from './projects/incidents.ts';
import { Members } from './projects/members.ts';
import { Notes } from './projects/notes.ts';
import { Projects } from './projects/projects.ts';
import * as tables from './projects/tables.ts';
import { UserLookup } from './projects/users.ts';

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
    'ALERT_BODY_BYTES_MAX' | 'ALERT_DEPTH_MAX' | 'ALERT_PLAN' | 'ALERT_PRIVATE_TARGETS'
  >;
  readonly publicUrl: () => string;
}

/** The parts of the alert domain. Routes and pages take those that they use. */
export interface AlertDomain {
  readonly actions: AlertActions;
  readonly analytics: AlertAnalytics;
  readonly cache: IntegrationCache;
  readonly heartbeats: Heartbeats;
  readonly incidents: Incidents;
  readonly integrations: Integrations;
  readonly members: Members;
  readonly notes: Notes;
  readonly projects: Projects;
  readonly reader: AlertReader;
  readonly testAlerts: TestAlerts;
  readonly users: UserLookup;
  readonly webhooks: Webhooks;
  readonly webhookOutbox: WebhookOutbox;
  readonly webhookProgress: WebhookProgress;
  readonly webhookSender: WebhookSender;
}

const openRecords = (accounts: Accounts) => ({
  projects: new Records<tables.Project>(accounts, tables.projects),
  members: new Records<tables.Member>(accounts, tables.members),
  integrations: new Records<tables.Integration>(accounts, tables.integrations),
  incidents: new Records<tables.Incident>(accounts, tables.incidents),
  notes: new Records<tables.Note>(accounts, tables.notes),
  webhooks: new Records<tables.Webhook>(accounts, tables.webhooks),
});

/** Constructs the parts once for a process; the schema must have been applied. */
export function openAlertDomain(dependencies: AlertDomainDependencies): AlertDomain {
  const { runtime, accounts, pipeline, settings, publicUrl } = dependencies;
  const { store, keyValue, queue, clock } = runtime;
  const { locks, seal } = accounts;
  const records = openRecords(accounts);
  const payloadBytesMax = settings.ALERT_BODY_BYTES_MAX;
  const payloadSizes = { bytesMax: payloadBytesMax, depthMax: settings.ALERT_DEPTH_MAX };
  const allowsPrivate = settings.ALERT_PRIVATE_TARGETS;
  const defaultPlan = settings.ALERT_PLAN;

  const users = new UserLookup(accounts);
  const cache = new IntegrationCache({ keyValue, ...records });
  const members = new Members({ records: records.members, users, clock, locks });
  const projects = new Projects({
    records: records.projects,
    store,
    clock,
    locks,
    members,
    cache,
    defaultPlan,
  });
  const reader = new AlertReader({ store, pipeline });
  const actions = new AlertActions({ pipeline, reader, members });
  const progress = new WebhookProgress({ store, clock, pipeline });
  const webhooks = new Webhooks({ records: records.webhooks, clock, seal, progress, cache });
  const oncallLinks = new OncallLinks({ records: records.integrations, progress });
  const integrations = new Integrations({
    records: records.integrations,
    clock,
    locks,
    cache,
    oncallLinks,
    payloadSizes,
  });
  const sender = new WebhookSender({ store, clock, seal, users, allowsPrivate, publicUrl });
  const targets = { cache, webhooks, oncallLinks, progress, sender };
  return {
    actions,
    analytics: new AlertAnalytics({ store, pipeline }),
    cache,
    heartbeats: new Heartbeats({ keyValue, clock, cache, pipeline }),
    incidents: new Incidents({ store, clock, locks, records: records.incidents, projects, actions }),
    integrations,
    members,
    notes: new Notes({ records: records.notes, clock }),
    projects,
    reader,
    testAlerts: new TestAlerts({ integrations, cache, pipeline, payloadBytesMax }),
    users,
    webhooks,
    webhookOutbox: new WebhookOutbox({ store, queue, clock, locks, pipeline, reader, ...targets }),
    webhookProgress: progress,
    webhookSender: sender,
  };
}
