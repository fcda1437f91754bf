import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { type AlertReader, OPEN_STATUSES } from '../projects/alert-reader.ts';
import { alertJson } from '../projects/shapes.ts';

type ResponseParts = Pick<AlertDomain, 'suppressor' | 'users'>;

type AlertResponse = ReturnType<typeof alertJson>;

/** An alert in the form of the API. */
export async function alertResponse(parts: ResponseParts, alert: Alert, url: string): Promise<AlertResponse> {
  const [answer] = await alertResponses(parts, String(alert.project), [alert], url);
  return answer as AlertResponse;
}

/** Alerts of a project in the form of the API. */
export async function alertResponses(
  { suppressor, users: lookup }: ResponseParts,
  projectId: string,
  alerts: readonly Alert[],
  url: string,
): Promise<readonly AlertResponse[]> {
  const open = alerts.filter(({ status }) => OPEN_STATUSES.includes(status));
  const [users, silencedBy] = await Promise.all([
    lookup.byId(alerts.flatMap(({ assignees }) => assignees)),
    suppressor.suppressedBy(projectId, open),
  ]);
  return alerts.map((alert) => alertJson(alert, users, url, silencedBy.get(alert.iid)));
}

/** Numbers of the newest open alerts that are suppressed now, or that are not suppressed. */
export async function silencedAlerts(
  { suppressor }: Pick<ResponseParts, 'suppressor'>,
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
