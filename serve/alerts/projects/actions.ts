import type { Alert, AlertStatus } from '../../../aggregate/alerts/model/alert.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { User } from '../../identity/accounts/tables.ts';
import type { AlertServices } from '../services.ts';
import { PROJECT_ROLES, RequestRefused } from './access.ts';
import { findAlert } from './reading.ts';

// What people do to alerts. All of it goes the way of the deliveries, so that one order decides.

export const ASSIGNEES_MOST = 20;

export async function alertOf(services: AlertServices, projectId: string, iid: number): Promise<Alert> {
  const alert = await findAlert(services, Number(projectId), iid);
  if (alert === null) throw new RequestRefused('not_found', 'Alert Not Found');
  return alert;
}

export interface AlertChange {
  readonly status?: AlertStatus;
  /** Ids of users, members with at least the role Developer. */
  readonly assignees?: readonly string[];
  readonly incident?: number;
}

/** Changes an alert and returns it as it is then; every reader sees it. */
export async function changeAlert(
  services: AlertServices,
  projectId: string,
  iid: number,
  by: User | null,
  change: AlertChange,
): Promise<Alert> {
  if (change.assignees) await requireAssignable(services, projectId, change.assignees);
  if (services.alerts.isOverloaded) throw new ProductError('store_failed', 'too much waits to be written');
  const { outcomes } = await services.alerts.applyAction({
    project: Number(projectId),
    iid,
    by: by?.id ?? '',
    change,
  });
  if (outcomes[0] === 'refused') {
    await alertOf(services, projectId, iid);
    throw new RequestRefused(
      'conflict',
      'Another unresolved alert has the same fingerprint, so this one cannot be reopened.',
      'status',
    );
  }
  return alertOf(services, projectId, iid);
}

async function requireAssignable(
  services: AlertServices,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length > ASSIGNEES_MOST)
    throw new RequestRefused('bad_request', `Use ${ASSIGNEES_MOST} at most.`, 'assignee_ids');
  for (const id of ids) {
    const member = await services.members.get(`${projectId}/${id}`);
    if ((member?.access_level ?? 0) < PROJECT_ROLES.Developer) {
      throw new RequestRefused(
        'bad_request',
        `User ${id} is no member with the role Developer.`,
        'assignee_ids',
      );
    }
  }
}
