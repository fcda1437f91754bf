import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type Alert,
  type AlertStatus,
  SEVERITIES,
  type Severity,
} from '../../../aggregate/alerts/model/alert.ts';
import type { Clock } from '../../../infra/ports.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../domain.ts';
import { PROJECT_ROLES } from '../projects/access.ts';
import type { AlertFilter, SORTS, Sort, StatusCounts } from '../projects/alert-reader.ts';
import type { UserLookup } from '../projects/users.ts';
import { ago, type ProjectFrame, select, severityTag, statusTag } from './frame.ts';
import { pageOf, pager } from './pager.ts';

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
  ['last_seen_at-desc', 'Last seen'],
  ['event_count-desc', 'Most events'],
  ['severity-desc', 'Most severe'],
  ['status-desc', 'By status'],
];

const PAGE_SIZE = 20;

interface ListQuery {
  readonly tab: (typeof STATUS_TABS)[number];
  readonly filter: AlertFilter;
  readonly sort: string;
  readonly page: number;
  /** The parameters of the URL, as they were given. */
  readonly given: Readonly<Record<string, string>>;
}

function queryOf(request: FastifyRequest): ListQuery {
  const parameters = request.query as Record<string, unknown>;
  const text = (name: string) =>
    typeof parameters[name] === 'string' ? (parameters[name] as string).slice(0, 500) : '';
  const tab = STATUS_TABS.find(([name]) => name === text('status')) ?? STATUS_TABS[0];
  const severity = SEVERITIES.find((name) => name === text('severity'));
  const sort = SORT_LABELS.find(([name]) => name === text('sort'))?.[0] ?? 'started_at-desc';
  const page = pageOf(text('page'));
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
  return { tab: tab as ListQuery['tab'], filter, sort, page, given };
}

/** The alerts of a project. The URL contains the status, the filters and the order. */
export function serveList(
  pages: FastifyInstance,
  frame: ProjectFrame,
  { integrations, reader, users }: Pick<AlertDomain, 'integrations' | 'reader' | 'users'>,
  clock: Clock,
): void {
  pages.get('/projects/:id/alerts', async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const { project, level } = visit.membership;
    const query = queryOf(request);
    const [, , statuses] = query.tab;
    const [sort = 'started_at', direction] = query.sort.split('-') as [keyof typeof SORTS, string];
    const number = Number(project.id);
    const [rows, counts, sources] = await Promise.all([
      reader
        .as(visit.store)
        .list(
          number,
          { ...query.filter, status: statuses },
          { sort, descending: direction === 'desc' },
          { number: query.page, size: PAGE_SIZE },
        ),
      reader.as(visit.store).countByStatus(number, query.filter),
      integrations.list(project.id),
    ]);
    const now = clock.now();
    const body = html`<h1>Alerts</h1>
${statusTabs(project.id, query, counts)}
${filterForm(
  project.id,
  query,
  await assigneesOf(users, rows),
  sources.map(({ id, name }): Option => [id, name]),
)}
${rows.length === 0 ? emptyList(project.id, query, counts, level) : alertTable(rows, await namesOf(users, rows), now)}
${pager({ page: query.page, size: PAGE_SIZE, total: counts[query.tab[0]], of: 'alerts' }, (page) =>
  urlOf(project.id, query, { page: String(page) }),
)}`;
    return frame.send(request, reply, visit, { tab: 'alerts', title: 'Alerts', body });
  });
}

function urlOf(id: string, { tab: [status], given }: ListQuery, changes: Record<string, string>): string {
  const all = { status: status === 'open' ? '' : status, ...given, ...changes };
  const search = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''));
  return `/projects/${id}/alerts${search.size > 0 ? `?${search}` : ''}`;
}

function statusTabs(id: string, query: ListQuery, counts: StatusCounts): Html {
  return html`<nav class="tabs sub" aria-label="Status"><ul>${STATUS_TABS.map(
    ([name, label]) =>
      html`<li><a href="${urlOf(id, query, { status: name === 'open' ? '' : name })}"${name === query.tab[0] && html` aria-current="page"`}>${label} <span class="count">${counts[name]}</span></a></li>`,
  )}</ul></nav>`;
}

type Option = [value: string, label: string];

async function assigneesOf(users: UserLookup, rows: readonly Alert[]): Promise<Option[]> {
  const found = await users.byId(rows.flatMap(({ assignees }) => assignees));
  return [...found.values()].map(({ id, username }) => [id, `@${username}`]);
}

function filterForm(
  id: string,
  { tab: [status], filter, sort, given }: ListQuery,
  assignees: readonly Option[],
  sources: readonly Option[],
): Html {
  const severities = SEVERITIES.map((name): Option => [name, name[0]?.toUpperCase() + name.slice(1)]);
  const own = given.assignee ?? '';
  const known = assignees.some(([value]) => value === own) || own === '' || own === 'none';
  return html`<form class="picker" method="get" action="/projects/${id}/alerts" role="search">
${status !== 'open' && html`<input type="hidden" name="status" value="${status}">`}
<label class="wide">Search<input type="search" name="search" value="${filter.search}" placeholder="Search by title, description, service or tool"></label>
${select('severity', 'Severity', [['', 'Any'], ...severities], given.severity ?? '')}
${select('assignee', 'Assignee', [['', 'Any'], ['none', 'Unassigned'], ...assignees, ...(known ? [] : [[own, `User ${own}`] as Option])], own)}
${sources.length > 1 && select('integration', 'Integration', [['', 'Any'], ...sources], given.integration ?? '')}
${select('sort', 'Sort by', SORT_LABELS, sort)}
<button class="second">Apply filters</button></form>`;
}

const namesOf = async (users: UserLookup, rows: readonly Alert[]) => new Map(await assigneesOf(users, rows));

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

function emptyList(id: string, { given }: ListQuery, counts: StatusCounts, level: number): Html {
  if (counts.all > 0 || Object.values(given).some((value) => value !== ''))
    return html`<p class="empty">No alerts match. Try another status or search.</p>`;
  const next =
    level >= PROJECT_ROLES.Maintainer
      ? html`<a href="/projects/${id}/integrations">Add an integration</a> and send a test alert.`
      : html`A Maintainer of the project can add an integration.`;
  return html`<p class="empty">No alerts yet. ${next}</p>`;
}
