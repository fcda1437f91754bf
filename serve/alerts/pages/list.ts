import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type Alert,
  type AlertStatus,
  SEVERITIES,
  type Severity,
} from '../../../aggregate/alerts/model/alert.ts';
import { type Html, html } from '../../http/pages/html.ts';
import { integrationsOf } from '../integrations/integrations.ts';
import { PROJECT_ROLES } from '../projects/access.ts';
import { usersById } from '../projects/projects.ts';
import {
  type AlertFilter,
  countAlerts,
  listAlerts,
  type SORTS,
  type Sort,
  type StatusCounts,
} from '../projects/reading.ts';
import type { AlertServices } from '../services.ts';
import { ago, select, sendProjectPage, severityTag, statusTag, visitOf } from './frame.ts';

const STATUS_TABS: readonly (readonly [
  name: keyof StatusCounts,
  label: string,
  statuses: readonly AlertStatus[],
])[] = [
  ['open', 'Open', ['triggered', 'acknowledged']],
  ['triggered', 'Triggered', ['triggered']],
  ['acknowledged', 'Acknowledged', ['acknowledged']],
  ['resolved', 'Resolved', ['resolved']],
  ['ignored', 'Ignored', ['ignored']],
  ['all', 'All', []],
];

const SORT_LABELS: readonly (readonly [`${Sort}-${'asc' | 'desc'}`, string])[] = [
  ['started_at-desc', 'Newest first'],
  ['started_at-asc', 'Oldest first'],
  ['last_seen_at-desc', 'Seen last'],
  ['event_count-desc', 'Most events'],
  ['severity-desc', 'Most severe'],
  ['status-desc', 'By status'],
];

const PAGE_SIZE = 20;

interface Asked {
  readonly tab: (typeof STATUS_TABS)[number];
  readonly filter: AlertFilter;
  readonly sort: string;
  readonly page: number;
  /** As they stand in the address. */
  readonly given: Readonly<Record<string, string>>;
}

function askedOf(request: FastifyRequest): Asked {
  const query = request.query as Record<string, unknown>;
  const text = (name: string) =>
    typeof query[name] === 'string' ? (query[name] as string).slice(0, 500) : '';
  const tab = STATUS_TABS.find(([name]) => name === text('status')) ?? STATUS_TABS[0];
  const severity = SEVERITIES.find((name) => name === text('severity'));
  const sort = SORT_LABELS.find(([name]) => name === text('sort'))?.[0] ?? 'started_at-desc';
  const page = Math.max(1, Math.min(100_000, Math.floor(Number(text('page'))) || 1));
  const filter: AlertFilter = {
    severity: severity === undefined ? undefined : [severity as Severity],
    search: text('search'),
    assignee: text('assignee') || undefined,
    integration: text('integration') || undefined,
  };
  const given = {
    search: text('search'),
    severity: severity ?? '',
    assignee: text('assignee'),
    integration: text('integration'),
    sort: sort === 'started_at-desc' ? '' : sort,
  };
  return { tab: tab as Asked['tab'], filter, sort, page, given };
}

/** The list of a project's alerts: counters, filters, search, order. All of it is in the address. */
export function serveList(pages: FastifyInstance, services: AlertServices): void {
  pages.get('/projects/:id/alerts', async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Developer');
    const { project, level } = visit.membership;
    const asked = askedOf(request);
    const [, , statuses] = asked.tab;
    const [sort = 'started_at', direction] = asked.sort.split('-') as [keyof typeof SORTS, string];
    const number = Number(project.id);
    const [rows, counts, integrations] = await Promise.all([
      listAlerts(
        services,
        number,
        { ...asked.filter, status: statuses },
        { sort, descending: direction === 'desc' },
        { number: asked.page, size: PAGE_SIZE },
      ),
      countAlerts(services, number, asked.filter),
      integrationsOf(services, project.id),
    ]);
    const sources = integrations.map(({ id, name }): Option => [id, name]);
    const now = services.accounts.clock.now();
    const body = html`<h1>Alerts</h1>
${statusTabs(project.id, asked, counts)}
${filterForm(project.id, asked, await assigneesOf(services, rows), sources)}
${rows.length === 0 ? emptyList(project.id, asked, counts, level) : alertTable(rows, await namesOf(services, rows), now)}
${pager(project.id, asked, counts[asked.tab[0]])}`;
    return sendProjectPage(services, request, reply, visit, { tab: 'alerts', title: 'Alerts', body });
  });
}

function addressOf(id: string, { tab: [status], given }: Asked, changes: Record<string, string>): string {
  const all = { status: status === 'open' ? '' : status, ...given, ...changes };
  const query = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''));
  return `/projects/${id}/alerts${query.size > 0 ? `?${query}` : ''}`;
}

function statusTabs(id: string, asked: Asked, counts: StatusCounts): Html {
  return html`<nav class="tabs sub" aria-label="Status"><ul>${STATUS_TABS.map(
    ([name, label]) =>
      html`<li><a href="${addressOf(id, asked, { status: name === 'open' ? '' : name })}"${name === asked.tab[0] && html` aria-current="page"`}>${label} <span class="count">${counts[name]}</span></a></li>`,
  )}</ul></nav>`;
}

type Option = [value: string, label: string];

async function assigneesOf(services: AlertServices, rows: readonly Alert[]): Promise<Option[]> {
  const users = await usersById(
    services,
    rows.flatMap(({ assignees }) => assignees),
  );
  return [...users.values()].map(({ id, username }) => [id, `@${username}`]);
}

function filterForm(
  id: string,
  { tab: [status], filter, sort, given }: Asked,
  assignees: readonly Option[],
  sources: readonly Option[],
): Html {
  const severities = SEVERITIES.map((name): Option => [name, name[0]?.toUpperCase() + name.slice(1)]);
  const own = given.assignee ?? '';
  const known = assignees.some(([value]) => value === own) || own === '' || own === 'none';
  return html`<form class="picker" method="get" action="/projects/${id}/alerts" role="search">
${status !== 'open' && html`<input type="hidden" name="status" value="${status}">`}
<label class="wide">Search<input type="search" name="search" value="${filter.search}" placeholder="Title, description, service or tool"></label>
${select('severity', 'Severity', [['', 'Any'], ...severities], given.severity ?? '')}
${select('assignee', 'Assignee', [['', 'Anybody'], ['none', 'Nobody'], ...assignees, ...(known ? [] : [[own, `User ${own}`] as Option])], own)}
${sources.length > 1 && select('integration', 'Source', [['', 'Any'], ...sources], given.integration ?? '')}
${select('sort', 'Order', SORT_LABELS, sort)}
<button class="second">Apply</button></form>`;
}

const namesOf = async (services: AlertServices, rows: readonly Alert[]) =>
  new Map(await assigneesOf(services, rows));

function alertTable(rows: readonly Alert[], names: ReadonlyMap<string, string>, now: number): Html {
  return html`<div class="table" role="region" aria-label="Alerts" tabindex="0"><table class="alerts">
<thead><tr><th scope="col">Severity</th><th scope="col">Alert</th><th scope="col">Status</th><th scope="col" class="number">Events</th><th scope="col">Started</th><th scope="col">Last seen</th><th scope="col">Assignee</th></tr></thead>
<tbody>${rows.map(
    (alert) => html`<tr><td>${severityTag(alert)}</td>
<th scope="row"><a href="/projects/${alert.project}/alerts/${alert.iid}">${alert.title}</a>
<span class="under">#${alert.iid}${[alert.service, alert.tool, alert.environment].filter(Boolean).map((text) => ` · ${text}`)}</span></th>
<td>${statusTag(alert)}</td><td class="number">${alert.events}</td><td>${ago(alert.started_ms, now)}</td>
<td>${ago(alert.seen_ms, now)}</td><td>${alert.assignees.map((id) => names.get(id) ?? '').join(' ') || '–'}</td></tr>`,
  )}</tbody></table></div>`;
}

function emptyList(id: string, { given }: Asked, counts: StatusCounts, level: number): Html {
  if (counts.all > 0 || Object.values(given).some((value) => value !== ''))
    return html`<p class="empty">No alert is like this. Another status or search may have some.</p>`;
  const next =
    level >= PROJECT_ROLES.Maintainer
      ? html`<a href="/projects/${id}/integrations">Make an integration</a> and send a test alert to see the first one.`
      : html`A Maintainer of the project connects the monitoring tools.`;
  return html`<p class="empty">No alerts yet. ${next}</p>`;
}

function pager(id: string, asked: Asked, total: number): Html | null {
  const last = Math.ceil(total / PAGE_SIZE);
  if (last < 2) return null;
  const link = (page: number, label: string) =>
    html`<a class="button second small" href="${addressOf(id, asked, { page: String(page) })}">${label}</a>`;
  return html`<nav class="pager" aria-label="Pages">${asked.page > 1 && link(asked.page - 1, 'Newer')}
<span>Page ${asked.page} of ${last}, ${total} alerts</span>${asked.page < last && link(asked.page + 1, 'Next')}</nav>`;
}
