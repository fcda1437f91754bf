import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { QueryStore } from '../../http/readers.ts';
import { button, time, timeOfEvent } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { type AlertPage, isCalling } from '../paging/escalation.ts';
import { type LogEntry, type PageNotification, PageReader } from '../paging/page-reader.ts';
import { FALLBACK } from '../paging/page-steps.ts';

export type PagingCardParts = Pick<AlertDomain, 'channels' | 'contacts' | 'policies' | 'users'>;

const STATES: Readonly<Record<AlertPage['state'], string>> = {
  suppressed: 'suppressed by a silence or a maintenance window',
  waiting: 'waits before it pages',
  triggered: 'pages people',
  exhausted: 'ended without acknowledgement',
  acknowledged: 'acknowledged',
  closed: 'closed',
};

/** Texts of notifications by kind. */
const KINDS: Readonly<Record<PageNotification['kind'], (name: string) => string>> = {
  triggered: (name) => `Paged ${name}`,
  acknowledged: (name) => `Notified ${name} of the acknowledgement`,
  resolved: (name) => `Notified ${name} of the end`,
  exhausted: (name) => `Notified ${name} that the policy ended`,
};

/** The pages of an alert with their notifications and log; null if nobody is paged for it. */
export async function pagingCard(
  { channels, contacts, policies, users }: PagingCardParts,
  alert: Alert,
  { base, token, store }: { readonly base: string; readonly token: Html; readonly store: QueryStore },
): Promise<Html | null> {
  const reader = new PageReader(store);
  const found = await reader.ofAlerts(alert.project, [alert.iid]);
  if (found.length === 0) return null;
  const [notifications, log] = await Promise.all([
    reader.notificationsOf(alert.project, alert.iid),
    reader.logOf(alert.project, alert.iid),
  ]);
  const people = await users.byId([
    ...notifications.map(({ user }) => user),
    ...log.map(({ by }) => by),
    ...found.map(({ acknowledged_by }) => acknowledged_by),
  ]);
  const userName = (id: string) => `@${people.get(id)?.username ?? 'deleted-user'}`;
  const projectId = String(alert.project);
  const names = new Map<string, string>();
  names.set(FALLBACK, 'the fallback address');
  for (const { id, name } of await channels.list(projectId)) names.set(id, name);
  for (const { destination, user } of notifications) {
    if (names.has(destination)) continue;
    const contact = user === '' ? null : await contacts.find(destination);
    const name =
      user === '' ? 'a deleted channel' : `${userName(user)} by ${contact?.type ?? 'a deleted contact'}`;
    names.set(destination, name);
  }
  const policyNames = await Promise.all(found.map(({ policy }) => policies.find(projectId, policy)));
  const entries = [
    ...log.map((entry) => ({ at: entry.at, text: html`${logText(entry, userName)}` })),
    ...notifications.map((one) => ({
      at: one.sent_ms || one.due_ms,
      text: notificationText(one, names.get(one.destination) ?? ''),
    })),
  ].sort((a, b) => a.at - b.at);
  return html`<section class="card"><h2>Paging</h2>
${found.map((page, i) => html`<p>${pageText(page, policyNames[i]?.name ?? 'deleted policy', userName)}</p>`)}
<ol class="history">${entries.map(({ at, text }) => html`<li>${timeOfEvent(at)}<span>${text}</span></li>`)}</ol>
${found.some(isCalling) && button(`${base}/escalate`, token, 'Page the next step', 'Page the next step now', 'second')}</section>`;
}

function pageText(page: AlertPage, policy: string, userName: (id: string) => string): Html {
  const { state, route, step, cycle, next_ms, acknowledged_by } = page;
  const progress = state === 'triggered' && step > 0 ? `, step ${step}, pass ${cycle}` : '';
  const by = state === 'acknowledged' && acknowledged_by !== '' ? ` by ${userName(acknowledged_by)}` : '';
  const again = state === 'exhausted' && next_ms > 0 && html`; it starts again ${time(next_ms)}`;
  return html`<b>${policy}</b> by the route ${route}: ${STATES[state]}${progress}${by}${again}`;
}

const logText = ({ what, by }: LogEntry, userName: (id: string) => string): string =>
  by === '' ? what : `${what} by ${userName(by)}`;

function notificationText({ kind, state, fault, attempts }: PageNotification, name: string): Html {
  const results: Readonly<Record<PageNotification['state'], string>> = {
    pending: attempts > 0 ? `attempt ${attempts} failed, to be retried` : 'not sent yet',
    sending: 'being sent',
    sent: 'accepted',
    failed: 'failed',
    cancelled: 'no longer needed',
  };
  return html`${KINDS[kind](name)}: ${results[state]}${fault && ` (${fault})`}`;
}
