import type { Alert, Status } from '../../../aggregate/alerts/model/alert.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { User } from '../../identity/accounts/tables.ts';
import type { Desk } from '../services.ts';
import { Refused, ROLES } from './access.ts';
import { findAlert } from './reading.ts';

// What people do to alerts. All of it goes the way of the deliveries, so that one order decides.

export const ASSIGNEES_MOST = 20;

export async function alertOf(desk: Desk, projectId: string, iid: number): Promise<Alert> {
  const alert = await findAlert(desk, Number(projectId), iid);
  if (alert === null) throw new Refused(404, 'Alert Not Found');
  return alert;
}

export interface AlertChange {
  readonly status?: Status;
  /** Ids of users, members with at least the role Developer. */
  readonly assignees?: readonly string[];
  readonly incident?: number;
}

/** Changes an alert and returns it as it is then; every reader sees it. */
export async function changeAlert(
  desk: Desk,
  projectId: string,
  iid: number,
  by: User | null,
  change: AlertChange,
): Promise<Alert> {
  if (change.assignees) await requireAssignable(desk, projectId, change.assignees);
  if (desk.alerts.isOverloaded) throw new ProductError('store_failed', 'too much waits to be written');
  const { outcomes } = await desk.alerts.act({ project: Number(projectId), iid, by: by?.id ?? '', change });
  if (outcomes[0] === 'refused') {
    await alertOf(desk, projectId, iid);
    throw new Refused(
      409,
      'Another unresolved alert has the same fingerprint, so this one cannot be reopened.',
      'status',
    );
  }
  return alertOf(desk, projectId, iid);
}

async function requireAssignable(desk: Desk, projectId: string, ids: readonly string[]): Promise<void> {
  if (ids.length > ASSIGNEES_MOST) throw new Refused(400, `Use ${ASSIGNEES_MOST} at most.`, 'assignee_ids');
  for (const id of ids) {
    const member = await desk.members.get(`${projectId}/${id}`);
    if ((member?.access_level ?? 0) < ROLES.Developer) {
      throw new Refused(400, `User ${id} is no member with the role Developer.`, 'assignee_ids');
    }
  }
}
