import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ALERT_STATUSES, type Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Clock } from '../../../infra/ports.ts';
import { button, textField, time, timeOfEvent } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { markdown } from '../../pages/markdown.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { isOncallLink } from '../integrations/oncall-link.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { Integration, Note } from '../model/tables.ts';
import { HISTORY_PER_PAGE, type HistoryEntry } from '../projects/alert-reader.ts';
import type { ProjectMember } from '../projects/members.ts';
import { STATUS_ACTIONS } from './bulk.ts';
import { ago, iidOf, type ProjectFrame, severityTag, statusTag, type Visit } from './frame.ts';
import { pathOf } from './integration-paths.ts';
import { pageNumber, pagination } from './pagination.ts';
import { type PagingCardParts, pagingCard } from './paging-card.ts';
import { silenceCard } from './silence-card.ts';

const PATH = '/projects/:id/alerts/:iid';

type DetailsParts = Pick<
  AlertDomain,
  'actions' | 'incidents' | 'integrations' | 'members' | 'notes' | 'pageSteps' | 'suppressor' | 'reader'
> &
  PagingCardParts;

/** The page of one alert, and the actions on it. */
export function serveDetails(
  pages: FastifyInstance,
  frame: ProjectFrame,
  domain: DetailsParts,
  clock: Clock,
): void {
  const { actions, incidents, notes, pageSteps, reader } = domain;
  const send = async (reply: FastifyReply, visit: Visit, refused?: RefusedNote) => {
    const { request } = reply;
    const alert = await reader.withStore(visit.store).get(visit.membership.project.id, iidOf(request));
    const page = pageNumber((request.query as { history?: unknown }).history);
    const body = await alertBody(domain, visit, alert, { now: clock.now(), page, refused });
    const status = refused ? 422 : 200;
    return frame.send(reply, visit, { tab: 'alerts', title: alert.title, body, status });
  };
  pages.get(PATH, async (request, reply) => send(reply, await frame.visit(request, reply, 'Developer')));
  const action = (
    name: string,
    work: (visit: Visit, iid: number, request: FastifyRequest) => Promise<string>,
  ) =>
    pages.post(`${PATH}/${name}`, async (request, reply) => {
      const visit = await frame.visit(request, reply, 'Developer');
      const iid = iidOf(request);
      const path = `/projects/${visit.membership.project.id}/alerts/${iid}`;
      try {
        return await seeOther(reply, path, await work(visit, iid, request));
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.status === 404) throw error;
        if (name !== 'notes') return seeOther(reply, path, error.message, 'bad');
        return send(reply, visit, { text: formOf(request).text('body'), fault: error.message });
      }
    });
  action('status', async ({ user, membership: { project } }, iid, request) => {
    const status = ALERT_STATUSES.find((name) => name === formOf(request).text('status')) ?? 'triggered';
    await actions.change(project.id, iid, user, { status });
    return `Status changed to ${status}.`;
  });
  action('assign', async ({ user, membership: { project } }, iid, request) => {
    const assignee = formOf(request).text('assignee');
    await actions.change(project.id, iid, user, { assignees: assignee === '' ? [] : [assignee] });
    return assignee === '' ? 'Assignee removed.' : 'Alert assigned.';
  });
  action('notes', async ({ user, membership: { project } }, iid, request) => {
    await reader.get(project.id, iid);
    await notes.add(project.id, iid, user, formOf(request).text('body'));
    return 'Note added.';
  });
  action('escalate', async ({ user, membership: { project } }, iid) => {
    await reader.get(project.id, iid);
    await pageSteps.escalate(Number(project.id), [iid], user.id);
    return 'The next step was carried out.';
  });
  action('incident', async ({ user, membership: { project } }, iid) => {
    const incident = await incidents.createFrom(project.id, await reader.get(project.id, iid), user);
    return `Incident #${incident.iid} created.`;
  });
}

/** A note that was not added, and why. */
interface RefusedNote {
  readonly text: string;
  readonly fault: string;
}

interface Shown {
  readonly now: number;
  /** Page of the history. */
  readonly page: number;
  readonly refused: RefusedNote | undefined;
}

async function alertBody(
  domain: DetailsParts,
  { membership: { project, level }, token, store }: Visit,
  alert: Alert,
  { now, page, refused }: Shown,
): Promise<Html> {
  const { integrations, members, notes: noteStore, suppressor, reader, users } = domain;
  const base = `/projects/${project.id}/alerts/${alert.iid}`;
  const [{ payload, annotations }, history, notes, projectMembers, integration, paging, suppressions] =
    await Promise.all([
      reader.withStore(store).details(alert),
      reader.withStore(store).history(alert, { number: page, size: HISTORY_PER_PAGE }),
      noteStore.list(project.id, alert.iid),
      members.list(project.id),
      integrations.find(alert.integration),
      pagingCard(domain, alert, { base, token, store }),
      suppressor.suppressions(project.id, [alert], now),
    ]);
  const people = await users.byId([
    ...history.entries.flatMap(({ by, change }) => [by, ...(assigneesIn(change) ?? [])]),
    ...notes.map(({ author_id }) => author_id),
    ...alert.assignees,
  ]);
  const nameOf = (id: string) => people.get(id)?.username ?? 'deleted-user';
  const others = Object.entries(annotations);
  return html`<div class="heading"><div><p class="under">Alert #${alert.iid}</p><h1>${alert.title}</h1>
<p>${severityTag(alert)} ${statusTag(alert)} <span class="under">${alert.events} ${alert.events === 1 ? 'event' : 'events'}, last seen ${ago(alert.seen_ms, now)}</span></p></div>
${statusButtons(base, token, alert)}</div>
<div class="columns"><div>
${paging}
${alert.description && html`<section class="card"><h2>Description</h2>${markdown(alert.description)}</section>`}
<section class="card"><h2>Details</h2>${facts(alert, integration, level)}</section>
${alert.incident_markdown && html`<section class="card"><h2>Notes from the source</h2>${markdown(alert.incident_markdown)}</section>`}
${others.length > 0 && html`<section class="card"><h2>Other annotations</h2><dl class="facts">${others.map(([name, value]) => html`<dt>${name}</dt><dd>${typeof value === 'string' ? value : JSON.stringify(value)}</dd>`)}</dl></section>`}
<section class="card"><h2>Payload</h2><pre class="payload" tabindex="0">${JSON.stringify(payload, null, 2)}</pre></section>
</div><div>
${silenceCard(alert, suppressions.get(alert.iid))}
${assignForm(base, token, alert, projectMembers)}
${incidentCard(base, project.id, token, alert)}
${notesCard(base, token, notes, refused, nameOf)}
<section class="card"><h2>History</h2><ol class="history">${history.entries.map((entry) => html`<li>${timeOfEvent(entry.at)}<span>${describe(entry, nameOf)}</span></li>`)}</ol>
${pagination({ page, size: HISTORY_PER_PAGE, total: history.total, noun: 'events' }, (to) => `${base}?history=${to}`)}</section>
</div></div>`;
}

function statusButtons(base: string, token: Html, alert: Alert): Html {
  const offered = ALERT_STATUSES.filter((status) => status !== alert.status);
  return html`<div class="actions">${offered.map(
    (
      status,
    ) => html`<form method="post" action="${base}/status">${token}<input type="hidden" name="status" value="${status}">
<button class="${status === 'resolved' || (alert.status === 'resolved' && status === 'triggered') ? '' : 'second'}">${alert.status === 'acknowledged' && status === 'triggered' ? 'Set to triggered' : STATUS_ACTIONS[status]}</button></form>`,
  )}</div>`;
}

function facts(alert: Alert, integration: Integration | null, level: number): Html {
  const rows: readonly (readonly [string, Html | string])[] = [
    ['Started', time(alert.started_ms)],
    ['Ended', alert.ended_ms === 0 ? '' : time(alert.ended_ms)],
    ['First seen', time(alert.created_ms)],
    ['Acknowledged', alert.acknowledged_ms === 0 ? '' : time(alert.acknowledged_ms)],
    ['Service', alert.service],
    ['Monitoring tool', alert.tool],
    ['Hosts', alert.hosts.join(', ')],
    ['Environment', alert.environment],
    [
      'Labels',
      alert.labels.length === 0 ? '' : html`${alert.labels.map((label) => labelChip(alert.project, label))}`,
    ],
    ['Query', alert.query === '' ? '' : html`<code>${alert.query}</code>`],
    ['Runbook', runbookLink(alert.runbook)],
    ['Integration', sourceOf(integration, level)],
    ['Fingerprint', html`<code>${alert.fingerprint || 'none, so the alert is not grouped'}</code>`],
  ];
  return html`<dl class="facts">${rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** Links to the alerts with the same label. */
const labelChip = (project: number, label: string): Html =>
  html`<a class="chip" href="/projects/${project}/alerts?${new URLSearchParams({ status: 'all', label }).toString()}">${label}</a> `;

/** Links to the integration if the user may see it. */
function sourceOf(integration: Integration | null, level: number): Html | string {
  if (integration === null || integration.deleted_ms > 0) return integration?.name ?? 'unknown';
  const maySee = level >= PROJECT_ROLES.Maintainer;
  const name = maySee ? html`<a href="${pathOf(integration)}">${integration.name}</a>` : integration.name;
  if (!isOncallLink(integration)) return name;
  return html`${name} <span class="tag">forwarded to ${URL.parse(integration.api_url)?.host ?? ''}</span>`;
}

/** Only http and https URLs become links, because sources can send any text. */
const runbookLink = (text: string): Html | string =>
  /^https?:\/\//i.test(text) ? html`<a href="${text}" rel="noopener noreferrer">${text}</a>` : text;

function assignForm(base: string, token: Html, alert: Alert, members: readonly ProjectMember[]): Html {
  const offered = members.filter(({ level }) => level >= PROJECT_ROLES.Developer);
  return html`<section class="card"><h2>Assignee</h2><form class="inline" method="post" action="${base}/assign">${token}
<select name="assignee" aria-label="Assignee"><option value="">Unassigned</option>${offered.map(
    ({ user }) =>
      html`<option value="${user.id}"${alert.assignees.includes(user.id) && html` selected`}>@${user.username}</option>`,
  )}</select><button class="second">Assign</button></form></section>`;
}

function incidentCard(base: string, project: string, token: Html, { incident }: Alert): Html {
  return html`<section class="card"><h2>Incident</h2>${
    incident > 0
      ? html`<p><a href="/projects/${project}/incidents/${incident}">Incident #${incident}</a></p>`
      : button(`${base}/incident`, token, 'Create incident', 'Create an incident from this alert', 'second')
  }</section>`;
}

/** Notes beyond this total length are shown as plain text, because an alert can have hundreds of long notes. */
const NOTES_MARKDOWN_CHARACTERS = 100_000;

function notesCard(
  base: string,
  token: Html,
  notes: readonly Note[],
  refused: RefusedNote | undefined,
  nameOf: (id: string) => string,
): Html {
  let left = NOTES_MARKDOWN_CHARACTERS;
  const bodyOf = ({ body }: Note) => {
    left -= body.length;
    return left < 0 ? html`<p class="prose">${body}</p>` : markdown(body);
  };
  return html`<section class="card"><h2>Notes</h2>${notes.map(
    (note) =>
      html`<article class="remark"><p class="under"><b>@${nameOf(note.author_id)}</b> ${time(note.created_ms)}</p>${bodyOf(note)}</article>`,
  )}<form method="post" action="${base}/notes">${token}${textField({ name: 'body', id: 'note', label: 'Add a note', rows: 3, isProse: true, hint: 'Markdown is rendered.', value: refused?.text, fault: refused?.fault })}<button class="second">Add note</button></form></section>`;
}

/** The assignees that an action set. The alert may have others now. */
const assigneesIn = ({ assignees }: HistoryEntry['change']): string[] | null =>
  Array.isArray(assignees) ? assignees.map(String) : null;

function describe({ outcome, by, change, note }: HistoryEntry, nameOf: (id: string) => string): string {
  const changes: string[] = [];
  if (typeof change.status === 'string') changes.push(change.status);
  const assignees = assigneesIn(change);
  if (assignees) {
    const names = assignees.map((id) => `@${nameOf(id)}`).join(', ');
    changes.push(names === '' ? 'unassigned' : `assigned to ${names}`);
  }
  if (change.incident !== undefined) changes.push(`incident #${change.incident} created`);
  if (changes.length > 0) {
    const refused = outcome === 'refused' ? 'refused: ' : '';
    return `${refused}${changes.join(', ')}${by === '' ? '' : ` by @${nameOf(by)}`}`;
  }
  const labels: Readonly<Record<string, string>> = {
    created: 'first event',
    grouped: 'repeated event',
    raised: 'repeated event with a higher severity',
    resolved: 'resolved by the source',
    acknowledged: 'acknowledged by the source',
  };
  return `${labels[outcome] ?? outcome}${note === '' ? '' : `; ${note}`}`;
}
