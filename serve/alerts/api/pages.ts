import { z } from 'zod';
import { SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import { type AlertPage, PAGE_STATES } from '../paging/escalation.ts';
import type { LogEntry, PageNotification } from '../paging/page-reader.ts';
import { alertShape, timeText } from '../projects/shapes.ts';
import { alertResponse } from './alert-responses.ts';
import type { Api } from './endpoint.ts';

const moment = z.iso.datetime();

const pageShape = z
  .object({
    alert_iid: z.int(),
    policy_id: z.string(),
    route: z.string().describe('name of the route that led to the policy'),
    state: z.enum(PAGE_STATES),
    suppressed_by: z
      .array(z.string())
      .describe('ids of the silences and maintenance windows that suppress the page'),
    severity: z.enum(SEVERITIES),
    round: z.int().describe('number of times that the policy started, from 1'),
    cycle: z.int().describe('number of the pass through the steps in this round, from 1'),
    step: z.int().describe('number of the last step that ran; 0: none yet'),
    next_at: moment.nullable().describe('time of the next action, such as a step or a reminder; null: none'),
    created_at: moment,
    acknowledged_by_id: z.int().nullable().describe('id of the user; null: the source'),
    acknowledged_at: moment.nullable(),
    closed_at: moment.nullable(),
  })
  .meta({ id: 'Page' });

const pageJson = (page: AlertPage) => ({
  alert_iid: page.alert,
  policy_id: page.policy,
  route: page.route,
  state: page.state,
  suppressed_by: page.state === 'suppressed' ? page.suppressed_by : [],
  severity: page.severity,
  round: page.round,
  cycle: page.cycle,
  step: page.step,
  next_at: timeText(page.next_ms),
  created_at: timeText(page.created_ms),
  acknowledged_by_id: Number(page.acknowledged_by) || null,
  acknowledged_at: timeText(page.acknowledged_ms),
  closed_at: timeText(page.closed_ms),
});

const notificationShape = z.object({
  destination_id: z.string().describe('id of a contact or a channel'),
  user_id: z.int().nullable().describe('owner of the contact; null: a channel'),
  kind: z.enum(['triggered', 'acknowledged', 'resolved', 'exhausted']),
  round: z.int(),
  step: z.int(),
  state: z.enum(['pending', 'sending', 'sent', 'failed', 'cancelled']),
  due_at: moment,
  sent_at: moment.nullable(),
  attempts: z.int(),
  fault: z.string().nullable().describe('reason why the last attempt failed'),
});

const notificationJson = (one: PageNotification) => ({
  destination_id: one.destination,
  user_id: Number(one.user) || null,
  kind: one.kind,
  round: one.round,
  step: one.step,
  state: one.state,
  due_at: timeText(one.due_ms),
  sent_at: timeText(one.sent_ms),
  attempts: one.attempts,
  fault: one.fault || null,
});

const logShape = z.object({
  at: moment,
  what: z.string(),
  by_id: z.int().nullable().describe('id of the user; null: the source or the server'),
});
const logJson = ({ at, what, by }: LogEntry) => ({ at: timeText(at), what, by_id: Number(by) || null });

const tag = 'On call' as const;
const params = z.object({ alert_iid: wholeNumber(1) });
const PAGES_MAX = 500;

type PageParts = Pick<AlertDomain, 'actions' | 'pageStore' | 'pageSteps' | 'suppressor' | 'reader' | 'users'>;

/** Serves the pages of alerts, and the actions that members take on them. */
export function servePageRoutes(api: Api, domain: PageParts, url: () => string): void {
  servePages(api, domain);
  servePageActions(api, domain, url);
}

function servePages(api: Api, { pageStore, reader }: PageParts): void {
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/pages',
      tag,
      summary: 'List pages of a project',
      doc: `Returns the newest ${PAGES_MAX} pages, newest first.`,
      role: 'Reporter',
      query: z.object({ state: z.enum(PAGE_STATES).optional() }),
      answer: z.array(pageShape),
    },
    async ({ membership: { project }, query: { state } }) => {
      const states = state === undefined ? [] : [state];
      return (await pageStore.list(Number(project.id), states, PAGES_MAX)).map(pageJson);
    },
  );
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/alerts/:alert_iid/pages',
      tag,
      summary: 'Get the pages and notifications of an alert',
      role: 'Reporter',
      params,
      answer: z.object({
        pages: z.array(pageShape),
        notifications: z.array(notificationShape),
        log: z.array(logShape),
      }),
    },
    async ({ membership: { project }, params: { alert_iid } }) => {
      await reader.get(project.id, alert_iid);
      const [number, iid] = [Number(project.id), alert_iid];
      const [pages, notifications, log] = await Promise.all([
        pageStore.ofAlerts(number, [iid]),
        pageStore.notificationsOf(number, iid),
        pageStore.logOf(number, iid),
      ]);
      return {
        pages: pages.map(pageJson),
        notifications: notifications.map(notificationJson),
        log: log.map(logJson),
      };
    },
  );
}

function servePageActions(api: Api, domain: PageParts, url: () => string): void {
  const { actions, pageSteps, reader } = domain;
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/alerts/:alert_iid/acknowledge',
      tag,
      summary: 'Acknowledge an alert',
      doc: 'Sets the status to acknowledged, which stops paging.',
      role: 'Developer',
      params,
      answer: alertShape,
    },
    async ({ membership: { project }, params: { alert_iid }, caller }) => {
      const { status } = await reader.get(project.id, alert_iid);
      if (status === 'resolved' || status === 'ignored')
        throw new RequestRefused('conflict', `The alert is ${status}. Set it back to triggered first.`);
      const alert = await actions.change(project.id, alert_iid, caller.user, { status: 'acknowledged' });
      return alertResponse(domain, alert, url());
    },
  );
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/alerts/:alert_iid/escalate',
      tag,
      summary: 'Run the next escalation step of an alert now',
      role: 'Developer',
      params,
      status: 204,
    },
    async ({ membership: { project }, params: { alert_iid }, caller }) => {
      await reader.get(project.id, alert_iid);
      await pageSteps.escalate(Number(project.id), [alert_iid], caller.user.id);
    },
  );
}
