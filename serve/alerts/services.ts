import type { Alerts } from '../../aggregate/alerts/alerts.ts';
import type { Engine } from '../../aggregate/engine.ts';
import { applySchema } from '../../infra/clickhouse/schema.ts';
import type { Accounts } from '../identity/accounts/accounts.ts';
import { Records } from '../identity/accounts/records.ts';
import { Directory } from './integrations/integration-cache.ts';
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
export interface Desk {
  readonly engine: Engine;
  readonly accounts: Accounts;
  readonly alerts: Alerts;
  readonly directory: Directory;
  readonly projects: Records<Project>;
  readonly members: Records<Member>;
  readonly integrations: Records<Integration>;
  readonly incidents: Records<Incident>;
  readonly notes: Records<Note>;
  readonly hooks: Records<Hook>;
}

/** Makes the tables where they are missing; every process of a deployment may do it at its start. */
export async function openDesk(engine: Engine, accounts: Accounts): Promise<Desk> {
  const fsync = engine.config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
  await applySchema(engine.runtime.store, { tables: projectTables, derived: [], views: [] }, fsync);
  const desk = {
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
  const directory = new Directory(engine.runtime.keyValue, desk.projects, desk.integrations, desk.hooks);
  return { ...desk, directory };
}
