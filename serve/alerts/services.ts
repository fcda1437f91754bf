import type { AlertPipeline } from '../../aggregate/alerts/pipeline.ts';
import { applySchema } from '../../infra/clickhouse/schema.ts';
import type { Pipeline } from '../compose.ts';
import type { Accounts } from '../identity/accounts/accounts.ts';
import { Records } from '../records/records.ts';
import { IntegrationCache } from './integrations/integration-cache.ts';
import {
  type Hook,
  hooks,
  type Incident,
  type Integration,
  incidents,
  integrations,
  type Member,
  members,
  type Note,
  notes,
  type Project,
  projects,
  projectTables,
} from './projects/tables.ts';

/** What everything about alerts stands on: the people, the projects and the way of an alert. */
export interface AlertServices {
  readonly engine: Pipeline;
  readonly accounts: Accounts;
  readonly alerts: AlertPipeline;
  readonly integrationCache: IntegrationCache;
  readonly projects: Records<Project>;
  readonly members: Records<Member>;
  readonly integrations: Records<Integration>;
  readonly incidents: Records<Incident>;
  readonly notes: Records<Note>;
  readonly hooks: Records<Hook>;
}

/** Makes the tables where they are missing; every process of a deployment may do it at its start. */
export async function openAlertServices(engine: Pipeline, accounts: Accounts): Promise<AlertServices> {
  const fsync = engine.config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
  await applySchema(engine.runtime.store, { tables: projectTables, derived: [], views: [] }, fsync);
  const services = {
    engine,
    accounts,
    alerts: await engine.alerts(),
    projects: new Records<Project>(accounts, projects),
    members: new Records<Member>(accounts, members),
    integrations: new Records<Integration>(accounts, integrations),
    incidents: new Records<Incident>(accounts, incidents),
    notes: new Records<Note>(accounts, notes),
    hooks: new Records<Hook>(accounts, hooks),
  };
  const integrationCache = new IntegrationCache(
    engine.runtime.keyValue,
    services.projects,
    services.integrations,
    services.hooks,
  );
  return { ...services, integrationCache };
}
