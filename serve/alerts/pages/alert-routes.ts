import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { Policy } from '../oncall/policies.ts';
import { type AlertRoute, ROUTES_MAX } from '../oncall/routes.ts';
import { draftIn, draftOf, newDraft, type RouteDraft, routeFields, routeOf } from './alert-route-form.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import { matcherCodes } from './matcher-code.ts';
import { previewForm } from './route-preview.ts';

const LIST = '/projects/:id/routes';
const NEW = `${LIST}/new`;
const ONE = `${LIST}/:position`;

/** From 1. Any other number or text matches no route. */
const positionOf = (request: FastifyRequest) => Number((request.params as { position: string }).position);
const listPath = ({ membership }: Visit) => `/projects/${membership.project.id}/routes`;

interface RoutePageParts extends Pick<AlertDomain, 'alertRoutes' | 'policies'> {
  readonly frame: ProjectFrame;
}

/** The routes of a project: they choose the policies of an alert. */
export function serveAlertRoutePages(pages: FastifyInstance, parts: RoutePageParts): void {
  const { frame } = parts;
  pages.get(LIST, async (request, reply) =>
    sendList(parts, reply, await frame.visit(request, reply, 'Reporter')),
  );
  serveNew(pages, parts);
  serveOne(pages, parts);
  serveDeletion(pages, parts);
}

function serveNew(pages: FastifyInstance, parts: RoutePageParts): void {
  const { frame, alertRoutes } = parts;
  const page = { title: 'New route', submit: 'Add route', isDefault: false };
  pages.get(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const { routes, version } = await alertRoutes.get(visit.membership.project.id);
    return sendForm(parts, reply, visit, { ...page, version, draft: newDraft(routes.length), error: null });
  });
  pages.post(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const change = (routes: readonly AlertRoute[], draft: RouteDraft) =>
      insertRoute(routes, routeOf(draft), draft.position);
    return save(parts, reply, visit, { ...page, change });
  });
}

function serveOne(pages: FastifyInstance, parts: RoutePageParts): void {
  const { frame, alertRoutes } = parts;
  const pageOf = async (visit: Visit, position: number) => {
    const { routes, version } = await alertRoutes.get(visit.membership.project.id);
    const route = routes[position - 1];
    if (route === undefined) throw new RequestRefused('not_found', 'Route Not Found');
    const isDefault = position === routes.length;
    return { title: route.name, submit: 'Save route', isDefault, route, version };
  };
  pages.get(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const position = positionOf(request);
    const { route, ...page } = await pageOf(visit, position);
    const path = `${listPath(visit)}/${position}`;
    const after = html`<section class="card"><h2>Delete route</h2><p>Its alerts go on to the next routes.</p><a class="button danger" href="${path}/delete" aria-label="Delete route ${route.name}">Delete route</a></section>`;
    return sendForm(parts, reply, visit, {
      ...{ ...page, draft: draftOf(route, position), error: null },
      after: page.isDefault ? null : after,
    });
  });
  pages.post(ONE, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const position = positionOf(request);
    const { route, ...page } = await pageOf(visit, position);
    const change = (routes: readonly AlertRoute[], draft: RouteDraft) => {
      if (page.isDefault) {
        const { policy_id, delay_seconds } = routeOf(draft);
        return routes.map((other) =>
          other === routes.at(-1) ? { ...other, policy_id, delay_seconds } : other,
        );
      }
      return insertRoute(routes.toSpliced(position - 1, 1), routeOf(draft), draft.position);
    };
    return save(parts, reply, visit, { ...page, change });
  });
}

/** Inserts a route at a position, before the default route. */
function insertRoute(
  routes: readonly AlertRoute[],
  route: AlertRoute,
  position: string,
): readonly AlertRoute[] {
  const index = Number(position) - 1;
  if (!Number.isInteger(index) || index < 0 || index >= ROUTES_MAX)
    throw new RequestRefused('bad_request', `Enter a whole number from 1 to ${ROUTES_MAX}.`, 'position');
  return routes.toSpliced(Math.min(index, routes.length - 1), 0, route);
}

interface Save {
  readonly title: string;
  readonly submit: string;
  readonly isDefault: boolean;
  readonly change: (routes: readonly AlertRoute[], draft: RouteDraft) => readonly AlertRoute[];
}

async function save(
  parts: RoutePageParts,
  reply: FastifyReply,
  visit: Visit,
  { change, ...page }: Save,
): Promise<FastifyReply> {
  const form = formOf(reply.request);
  const draft = draftIn(form);
  const version = Number(form.text('version'));
  return changeList(parts, reply, visit, version, {
    change: (routes) => change(routes, draft),
    refuse: (error) => sendForm(parts, reply, visit, { ...page, version, draft, error }),
  });
}

interface ListChange {
  readonly change: (routes: readonly AlertRoute[]) => readonly AlertRoute[];
  readonly refuse: (error: RequestRefused) => Promise<FastifyReply>;
}

/** Saves a changed list, unless somebody else changed it since the form was shown. */
async function changeList(
  { alertRoutes }: RoutePageParts,
  reply: FastifyReply,
  visit: Visit,
  version: number,
  { change, refuse }: ListChange,
): Promise<FastifyReply> {
  const { id } = visit.membership.project;
  try {
    const { routes } = await alertRoutes.get(id);
    await alertRoutes.put(id, change(routes), visit.user.id, version);
  } catch (error) {
    if (error instanceof RequestRefused) return refuse(error);
    if (!(error instanceof HttpError) || error.code !== 'precondition_failed') throw error;
    return seeOther(reply, listPath(visit), error.message, 'bad');
  }
  return seeOther(reply, listPath(visit), 'Changes saved. They apply to new alerts.');
}

function serveDeletion(pages: FastifyInstance, parts: RoutePageParts): void {
  const { frame, alertRoutes } = parts;
  serveConfirmationPage(pages, frame, {
    path: `${ONE}/delete`,
    tab: 'routes',
    find: async (request, visit) => {
      const position = positionOf(request);
      const { routes, version } = await alertRoutes.get(visit.membership.project.id);
      const route = routes[position - 1];
      if (route === undefined || position === routes.length)
        throw new RequestRefused('not_found', 'Route Not Found');
      return { position, route, version };
    },
    questionOf: ({ position, route, version }, visit) => ({
      question: `Delete the route ${route.name}?`,
      facts: [['Matchers', matcherList(route)]],
      consequence: 'Its alerts go on to the next routes. This cannot be undone.',
      submit: 'Delete route',
      back: `${listPath(visit)}/${position}`,
      fields: html`<input type="hidden" name="version" value="${version}">`,
    }),
    execute: ({ position }, visit, reply) =>
      changeList(parts, reply, visit, Number(formOf(reply.request).text('version')), {
        change: (routes) => routes.toSpliced(position - 1, 1),
        refuse: (error) => {
          throw error;
        },
      }),
  });
}

interface FormPage {
  readonly title: string;
  readonly submit: string;
  readonly isDefault: boolean;
  readonly version: number;
  readonly draft: RouteDraft;
  readonly error: RequestRefused | null;
  readonly after?: Html | null;
}

async function sendForm(
  { frame, policies }: RoutePageParts,
  reply: FastifyReply,
  visit: Visit,
  { title, submit, version, after, ...form }: FormPage,
): Promise<FastifyReply> {
  const { error, isDefault } = form;
  const action = reply.request.url.split('?')[0];
  const list = await policies.list(visit.membership.project.id);
  const body = html`<h1>${title}</h1><p class="lead">${isDefault ? 'The default route takes every alert that no other route takes.' : 'A route takes the alerts that match all of its matchers.'}</p>
${error && error.field === 'routes' && html`<p class="note bad" role="alert">${error.message}</p>`}
<section class="card"><form method="post" action="${action}">${visit.token}<input type="hidden" name="version" value="${version}">
${routeFields({ ...form, policies: list })}<button>${submit}</button></form></section>
${after}`;
  const status = error === null ? 200 : 422;
  return frame.send(reply, visit, { tab: 'routes', title, body, status });
}

async function sendList(
  { frame, alertRoutes, policies }: RoutePageParts,
  reply: FastifyReply,
  visit: Visit,
): Promise<FastifyReply> {
  const { project, level } = visit.membership;
  const mayChange = level >= PROJECT_ROLES.Maintainer;
  const [{ routes }, list, isApplied] = await Promise.all([
    alertRoutes.get(project.id),
    policies.list(project.id),
    alertRoutes.isApplied(project.id),
  ]);
  const path = listPath(visit);
  const isUnrouted = routes.at(-1)?.policy_id === '';
  const body = html`<div class="heading"><div><h1>Routes</h1><p class="lead">The first route that matches a new alert decides its policy.</p></div>${mayChange && html`<a class="button" href="${path}/new">Add route</a>`}</div>
${!isApplied && html`<p class="note warn">The <a href="/projects/${project.id}/integrations">integration with an on-call tool</a> is active and receives all alerts. Routes are not applied until you deactivate the integration.</p>`}
${isApplied && isUnrouted && html`<p class="note warn">Nobody is paged for alerts that only the default route matches. ${list.length === 0 ? html`<a href="/projects/${project.id}/escalation">Add an escalation policy</a> first.` : 'Give it a policy.'}</p>`}
<section class="card"><ol class="steps">${routes.map((route, i) => routeItem(route, list, mayChange ? `${path}/${i + 1}` : null))}</ol></section>
${previewForm(visit, {})}`;
  return frame.send(reply, visit, { tab: 'routes', title: 'Routes', body });
}

const routeItem = (route: AlertRoute, policies: readonly Policy[], path: string | null): Html =>
  html`<li><b>${route.name}</b> ${!route.is_active && html`<span class="tag">not active</span> `}${route.continues && html`<span class="tag">continues</span> `}<br>${matcherList(route)}<br>${policyText(route, policies)} ${path && html`<a class="button second small" href="${path}" aria-label="Edit route ${route.name}">Edit</a>`}</li>`;

const matcherList = ({ matchers }: AlertRoute): Html =>
  matchers.length === 0 ? html`every other alert` : matcherCodes(matchers);

function policyText({ policy_id, delay_seconds }: AlertRoute, policies: readonly Policy[]): Html {
  const policy = policies.find(({ id }) => id === policy_id);
  if (policy === undefined) return html`<span class="tag">nobody is paged</span>`;
  return html`${policy.name}${delay_seconds > 0 && html` <span class="under">after ${delay_seconds} s</span>`}`;
}
