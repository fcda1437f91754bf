import type { Clock } from '../../../infra/ports.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { Records } from '../../stored-records/records.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import * as tables from '../model/oncall-tables.ts';
import { Policies, policiesUsing } from '../oncall/policies.ts';
import { Routes } from '../oncall/routes.ts';
import { Schedules } from '../oncall/schedules.ts';
import type { Members } from '../projects/members.ts';

/** The parts of the alert domain that decide who is paged. */
export interface OncallParts {
  readonly alertRoutes: Routes;
  readonly policies: Policies;
  readonly schedules: Schedules;
}

interface OncallDependencies {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly cache: IntegrationCache;
  readonly members: Members;
}

export function openOncall({ accounts, clock, cache, members }: OncallDependencies): OncallParts {
  const { locks } = accounts;
  const policyRecords = new Records<tables.EscalationPolicy>(accounts, tables.escalationPolicies);
  const schedules = new Schedules({
    records: new Records<tables.OncallSchedule>(accounts, tables.oncallSchedules),
    rotationRecords: new Records<tables.OncallRotation>(accounts, tables.oncallRotations),
    overrideRecords: new Records<tables.OncallOverride>(accounts, tables.oncallOverrides),
    members,
    policiesUsing: (project, id) => policiesUsing(policyRecords, project, { type: 'schedule', id }),
    clock,
    locks,
  });
  const policies = new Policies({
    records: policyRecords,
    clock,
    locks,
    hasTarget: {
      schedule: async (project, id) => (await schedules.find(project, id)) !== null,
      user: async (project, user) => (await members.levelOf(project, user)) >= PROJECT_ROLES.Developer,
      channel: async () => false,
    },
    routesTo: (project, policy) => alertRoutes.namesTo(project, policy),
  });
  const alertRoutes = new Routes({
    records: new Records<tables.AlertRouteList>(accounts, tables.alertRoutes),
    clock,
    locks,
    policies,
    isForwarding: (project) => cache.isForwarding(project),
  });
  return { alertRoutes, policies, schedules };
}
