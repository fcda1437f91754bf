import type { Clock, Store } from '../../../infra/ports.ts';
import { Records } from '../../stored-records/records.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import * as tables from '../model/oncall-tables.ts';
import { PersonalCalendars } from '../oncall/personal-calendars.ts';
import { Policies, policiesUsing } from '../oncall/policies.ts';
import { Routes } from '../oncall/routes.ts';
import { Schedules } from '../oncall/schedules.ts';
import { PageReader } from '../paging/page-reader.ts';
import type { Members } from '../projects/members.ts';
import { type Destinations, type DestinationsDependencies, openDestinations } from './destinations.ts';

/** Routes, policies and schedules: they decide who is paged. */
export interface OncallParts extends Destinations {
  readonly alertRoutes: Routes;
  readonly policies: Policies;
  readonly schedules: Schedules;
  readonly personalCalendars: PersonalCalendars;
}

interface OncallDependencies extends Omit<DestinationsDependencies, 'policiesUsing'> {
  readonly runtime: { readonly store: Store; readonly clock: Clock };
  readonly cache: IntegrationCache;
  readonly members: Members;
  /** Called before the routes of a project change. */
  readonly beforeRoutes: (project: number) => Promise<void>;
}

export function openOncall(dependencies: OncallDependencies): OncallParts {
  const { accounts, runtime, cache, members, beforeRoutes } = dependencies;
  const { locks } = accounts;
  const { clock } = runtime;
  const pages = new PageReader(runtime.store);
  const policyRecords = new Records<tables.EscalationPolicy>(accounts, tables.escalationPolicies);
  const rotationRecords = new Records<tables.OncallRotation>(accounts, tables.oncallRotations);
  const overrideRecords = new Records<tables.OncallOverride>(accounts, tables.oncallOverrides);
  const schedules = new Schedules({
    records: new Records<tables.OncallSchedule>(accounts, tables.oncallSchedules),
    ...{ rotationRecords, overrideRecords },
    members,
    policiesUsing: (project, id) => policiesUsing(policyRecords, project, { type: 'schedule', id }),
    clock,
    locks,
  });
  const destinations = openDestinations({
    ...dependencies,
    policiesUsing: (project, id) => policiesUsing(policyRecords, project, { type: 'channel', id }),
  });
  const policies = new Policies({
    records: policyRecords,
    clock,
    locks,
    hasTarget: {
      schedule: async (project, id) => (await schedules.find(project, id)) !== null,
      user: async (project, user) => (await members.levelOf(project, user)) >= PROJECT_ROLES.Developer,
      channel: (project, id) => destinations.channels.has(project, id),
    },
    routesUsing: (project, policy) => alertRoutes.namesUsing(project, policy),
    countOpenPages: (project, policy) => pages.unclosedOf(Number(project), policy),
  });
  const alertRoutes = new Routes({
    records: new Records<tables.AlertRouteList>(accounts, tables.alertRoutes),
    clock,
    locks,
    policies,
    isForwarding: (project) => cache.isForwarding(project),
    beforeChange: (project) => beforeRoutes(Number(project)),
  });
  const personalCalendars = new PersonalCalendars({
    records: new Records<tables.NotificationRules>(accounts, tables.notificationRules),
    ...{ rotationRecords, overrideRecords, schedules, clock },
  });
  return { ...destinations, alertRoutes, personalCalendars, policies, schedules };
}
