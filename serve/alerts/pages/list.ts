import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { QueryStore } from '../../http/readers.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { UserLookup } from '../projects/users.ts';
import { type ListedAlerts, liveParts, PAGE_SIZE } from './alert-table.ts';
import { bulkBar } from './bulk.ts';
import { type ProjectFrame, select } from './frame.ts';
import {
  CHIP_NAMES,
  CHIPS,
  filterOf,
  type ListQuery,
  listQueryOf,
  orderOf,
  SORT_LABELS,
  searchOf,
} from './list-query.ts';
import { type LiveParts, liveBar } from './live.ts';
import { filterBar, type SendList } from './saved-filters.ts';
import { unroutedNote } from './unrouted-note.ts';

const PATH = '/projects/:id/alerts';

interface ListParts
  extends Pick<
    AlertDomain,
    'alertRoutes' | 'integrations' | 'policies' | 'reader' | 'savedFilters' | 'users'
  > {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
  readonly live: LiveParts;
}

/** The alerts of a project. The URL contains the status, the filters and the order. Returns the function that sends the list. */
export function serveList(pages: FastifyInstance, parts: ListParts): SendList {
  const { frame, integrations, reader, savedFilters, users, clock, live } = parts;
  const read = async (store: QueryStore, project: string, query: ListQuery): Promise<ListedAlerts> => {
    const own = reader.withStore(store);
    const [, , status] = query.tab;
    const filter = { ...filterOf(query), status };
    const page = { number: query.page, size: PAGE_SIZE };
    const [rows, counts] = await Promise.all([
      own.list(Number(project), filter, orderOf(query), page),
      own.count(Number(project), filter),
    ]);
    return { rows, counts, names: new Map(await assigneesOf(users, rows)) };
  };
  const send: SendList = async (reply, visit, { query, refused }) => {
    const { id } = visit.membership.project;
    const [listed, sources, saved, unrouted] = await Promise.all([
      read(visit.store, id, query),
      integrations.list(id),
      savedFilters.list({ project: id, user: visit.user.id }),
      unroutedNote(parts, id),
    ]);
    const shown = liveParts(id, query, listed, clock.now());
    const here = searchOf(query, { page: String(query.page) });
    const body = html`<div class="heading"><h1>Alerts</h1>${liveBar(`/projects/${id}/alerts/live?${here}`, `/projects/${id}/alerts?${here}`)}</div>
${unrouted}
${filterBar(id, { query, saved, token: visit.token, refused })}
${shown.tabs}
${filterForm(
  id,
  query,
  [...listed.names],
  sources.map(({ id, name }): Option => [id, name]),
)}
${activeChips(id, query)}
${shown.severities}
${bulkBar(id, query, visit.token)}
${shown.table}`;
    const status = refused ? 422 : 200;
    return frame.send(reply, visit, {
      tab: 'alerts',
      title: 'Alerts',
      body,
      status,
      script: 'alerts.js',
    });
  };
  pages.get(PATH, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const { id } = visit.membership.project;
    if (searchIn(request) === '') {
      const saved = await savedFilters.list({ project: id, user: visit.user.id });
      const first = saved.find(({ is_default }) => is_default);
      if (first) return seeOther(reply, `/projects/${id}/alerts?${first.search}`);
    }
    return send(reply, visit, { query: listQueryOf(searchIn(request)) });
  });
  pages.get(`${PATH}/live`, async (request, reply) => {
    const { membership, store } = await frame.visit(request, reply, 'Developer');
    const { id } = membership.project;
    const query = listQueryOf(searchIn(request));
    const render = async (by: QueryStore, now: number) => {
      const { tabs, severities, table } = liveParts(id, query, await read(by, id, query), now);
      return html`${tabs}${severities}${table}`;
    };
    const name = `alerts ${searchOf(query, { page: String(query.page) })}`;
    return live.send(request, reply, { project: id, name, store, render });
  });
  return send;
}

const searchIn = (request: FastifyRequest): string => request.url.split('?')[1] ?? '';

type Option = [value: string, label: string];

async function assigneesOf(users: UserLookup, rows: readonly Alert[]): Promise<Option[]> {
  const found = await users.byId(rows.flatMap(({ assignees }) => assignees));
  return [...found.values()].map(({ id, username }) => [id, `@${username}`]);
}

function filterForm(
  id: string,
  { tab: [status], sort, filters }: ListQuery,
  assignees: readonly Option[],
  sources: readonly Option[],
): Html {
  const own = filters.assignee;
  const isListed = assignees.some(([value]) => value === own) || own === '' || own === 'none';
  return html`<form class="picker" method="get" action="/projects/${id}/alerts" role="search">
<input type="hidden" name="status" value="${status}">${(['severity', ...CHIP_NAMES] as const).map((name) => filters[name] !== '' && html`<input type="hidden" name="${name}" value="${filters[name]}">`)}
<label class="wide">Search<input type="search" name="search" value="${filters.search}" placeholder="Title, description, service or tool"></label>
${select('assignee', 'Assignee', [['', 'Any'], ['none', 'Unassigned'], ...assignees, ...(isListed ? [] : [[own, `User ${own}`] as Option])], own)}
${sources.length > 1 && select('integration', 'Integration', [['', 'Any'], ...sources], filters.integration)}
${select('sort', 'Sort by', SORT_LABELS, sort)}
<button class="second">Apply filters</button></form>`;
}

/** The active filters, each with a link that removes it. */
function activeChips(id: string, query: ListQuery): Html | null {
  const active = CHIP_NAMES.filter((name) => query.filters[name] !== '');
  if (active.length === 0) return null;
  return html`<ul class="chips" aria-label="Chosen labels">${active.map(
    (name) =>
      html`<li><a class="chip set" href="/projects/${id}/alerts?${searchOf(query, { [name]: '' })}" aria-label="Remove ${CHIPS[name]}: ${query.filters[name]}">${CHIPS[name]}: ${query.filters[name]} <span aria-hidden="true">✕</span></a></li>`,
  )}</ul>`;
}
