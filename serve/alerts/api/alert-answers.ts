import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { type AlertReader, OPEN_STATUSES } from '../projects/alert-reader.ts';
import { alertJson } from '../projects/shapes.ts';

type AnswerParts = Pick<AlertDomain, 'suppressor' | 'users'>;

type AlertAnswer = ReturnType<typeof alertJson>;

/** An alert as the API answers it. */
export async function oneAlertJson(parts: AnswerParts, alert: Alert, url: string): Promise<AlertAnswer> {
  const [answer] = await alertsJson(parts, String(alert.project), [alert], url);
  return answer as AlertAnswer;
}

/** Alerts of a project as the API answers them. */
export async function alertsJson(
  { suppressor, users: lookup }: AnswerParts,
  projectId: string,
  alerts: readonly Alert[],
  url: string,
): Promise<readonly AlertAnswer[]> {
  const open = alerts.filter(({ status }) => OPEN_STATUSES.includes(status));
  const [users, silencedBy] = await Promise.all([
    lookup.byId(alerts.flatMap(({ assignees }) => assignees)),
    suppressor.suppressedBy(projectId, open),
  ]);
  return alerts.map((alert) => alertJson(alert, users, url, silencedBy.get(alert.iid)));
}

/** Numbers of the newest open alerts that are suppressed now, or of those that are not. */
export async function silencedAlerts(
  { suppressor }: Pick<AnswerParts, 'suppressor'>,
  reader: AlertReader,
  projectId: string,
  isSilenced: boolean,
): Promise<number[]> {
  const found: number[] = [];
  for await (const part of reader.openInParts(Number(projectId))) {
    const silencedBy = await suppressor.suppressedBy(projectId, part);
    found.push(...part.map(({ iid }) => iid).filter((iid) => silencedBy.has(iid) === isSilenced));
  }
  return found;
}
