import type { AlertPage } from './escalation.ts';
import type { PageNotification } from './page-reader.ts';

interface NotificationFields {
  readonly kind: PageNotification['kind'];
  readonly destination: string;
  readonly user: string;
  readonly due_ms: number;
  readonly now: number;
  readonly by?: string;
  readonly reason?: string;
  /** Minutes between the step and its call. */
  readonly afterMinutes?: number;
}

/** A pending notification. Its id depends on its content only, so repeated steps create it once. */
export function newNotification(page: AlertPage, fields: NotificationFields): PageNotification {
  const { project, alert, policy, round, cycle, step, severity } = page;
  const { kind, destination, user, due_ms, now, by = '', reason = '', afterMinutes = 0 } = fields;
  const place =
    kind === 'triggered'
      ? `${round}.${cycle}.${step}/${destination}/${afterMinutes}`
      : `${round}.${kind}/${destination}`;
  return {
    ...{ project, alert, policy, round, cycle, step, severity, destination, user, kind, by, reason, due_ms },
    id: `${alert}/${policy}/${place}`,
    ...{
      state: 'pending',
      message: '',
      attempts: 0,
      is_doubtful: false,
      started_ms: 0,
      next_ms: 0,
      status: 0,
      fault: '',
    },
    ...{ sent_ms: 0, used_ms: 0, created_ms: now, version: 1 },
  };
}
