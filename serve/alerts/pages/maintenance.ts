import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import type { Span } from '../oncall/time-intervals.ts';
import { nextOccurrences } from '../suppression/window-times.ts';
import type { MaintenanceWindow } from '../suppression/windows.ts';
import { serveConfirmationPage } from './confirmation-page.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import { matcherCodes } from './matcher-code.ts';
import {
  draftIn,
  draftOf,
  editDraft,
  fieldsIn,
  newDraft,
  type WindowDraft,
  windowForm,
  zoneOf,
} from './window-form.ts';
import { clocksOf, datedStretchBy, readerZoneOf } from './zone-times.ts';

const LIST = '/projects/:id/maintenance';
const NEW = `${LIST}/new`;
const ONE = `${LIST}/:window`;
const OCCURRENCES = 10;

const windowIdOf = (request: FastifyRequest) => (request.params as { window: string }).window;
const listPath = ({ membership }: Visit) => `/projects/${membership.project.id}/maintenance`;

interface MaintenanceParts extends Pick<AlertDomain, 'windows'> {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
}

/** The maintenance windows of a project with their occurrences. */
export function serveMaintenancePages(pages: FastifyInstance, parts: MaintenanceParts): void {
  const { frame } = parts;
  pages.get(LIST, async (request, reply) =>
    sendList(parts, reply, await frame.visit(request, reply, 'Reporter')),
  );
  serveNew(pages, parts);
  servePages(pages, parts);
  serveDeletion(pages, parts);
}

function serveNew(pages: FastifyInstance, parts: MaintenanceParts): void {
  const { frame, windows } = parts;
  const page = { title: 'New maintenance window', submit: 'Add window' };
  pages.get(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    const draft = newDraft(readerZoneOf(request));
    return sendForm(parts, reply, visit, { ...page, draft, error: null });
  });
  pages.post(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Maintainer');
    return save(parts, reply, visit, page, (draft) =>
      windows.create(visit.membership.project.id, visit.user.id, fieldsIn(draft)),
    );
  });
}

function servePages(pages: FastifyInstance, parts: MaintenanceParts): void {
  const { frame, windows } = parts;
  const found = async (request: FastifyRequest, reply: FastifyReply, role: 'Reporter' | 'Maintainer') => {
    const visit = await frame.visit(request, reply, role);
    return { visit, window: await windows.get(visit.membership.project.id, windowIdOf(request)) };
  };
  pages.get(ONE, async (request, reply) => {
    const { visit, window } = await found(request, reply, 'Reporter');
    return sendOne(parts, reply, visit, window);
  });
  pages.get(`${ONE}/edit`, async (request, reply) => {
    const { visit, window } = await found(request, reply, 'Maintainer');
    const page = { title: window.name, submit: 'Save window', draft: draftOf(window), error: null };
    return sendForm(parts, reply, visit, page);
  });
  pages.post(`${ONE}/edit`, async (request, reply) => {
    const { visit, window } = await found(request, reply, 'Maintainer');
    return save(parts, reply, visit, { title: window.name, submit: 'Save window' }, (draft) =>
      windows.change(visit.membership.project.id, window.id, visit.user.id, fieldsIn(draft)),
    );
  });
}

async function save(
  parts: MaintenanceParts,
  reply: FastifyReply,
  visit: Visit,
  page: Pick<FormPage, 'title' | 'submit'>,
  store: (draft: WindowDraft) => Promise<MaintenanceWindow>,
): Promise<FastifyReply> {
  const form = formOf(reply.request);
  const draft = draftIn(form);
  const changed = editDraft(draft, form.text('do'));
  if (changed !== null) return sendForm(parts, reply, visit, { ...page, draft: changed, error: null });
  try {
    const window = await store(draft);
    return await seeOther(reply, `${listPath(visit)}/${window.id}`, 'Window saved.');
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.status === 404) throw error;
    return sendForm(parts, reply, visit, { ...page, draft, error });
  }
}

const serveDeletion = (pages: FastifyInstance, { frame, windows }: MaintenanceParts): void =>
  serveConfirmationPage(pages, frame, {
    path: `${ONE}/delete`,
    tab: 'maintenance',
    find: (request, visit) => windows.get(visit.membership.project.id, windowIdOf(request)),
    questionOf: (window, visit) => ({
      question: `Delete the window ${window.name}?`,
      facts: [['Matchers', matcherList(window)]],
      consequence:
        'If the window is on now, people are paged at once for the suppressed alerts that are still triggered.',
      submit: 'Delete window',
      back: `${listPath(visit)}/${window.id}`,
    }),
    execute: async ({ id }, visit, reply) => {
      await windows.delete(visit.membership.project.id, id, visit.user.id);
      return seeOther(reply, listPath(visit), 'Window deleted.');
    },
  });

interface FormPage {
  readonly title: string;
  readonly submit: string;
  readonly draft: WindowDraft;
  readonly error: RequestRefused | null;
}

function sendForm(
  { frame }: MaintenanceParts,
  reply: FastifyReply,
  visit: Visit,
  { title, ...form }: FormPage,
): Promise<FastifyReply> {
  const { error } = form;
  const action = reply.request.url.split('?')[0] ?? '';
  const body = html`<h1>${title}</h1><p class="lead">While the window is on, matching alerts are recorded, but nobody is paged. When the window ends, people are paged at once for alerts that are still triggered.</p>
${error && error.field === null && html`<p class="note bad" role="alert">${error.message}</p>`}
${windowForm({ ...form, action, token: visit.token })}`;
  const status = error === null ? 200 : 422;
  return frame.send(reply, visit, { tab: 'maintenance', title, body, status, script: 'alerts.js' });
}

async function sendList(
  { frame, windows, clock }: MaintenanceParts,
  reply: FastifyReply,
  visit: Visit,
): Promise<FastifyReply> {
  const { project, level } = visit.membership;
  const now = clock.now();
  const path = listPath(visit);
  const items: Html[] = [];
  for (const window of await windows.list(project.id)) {
    const [next] = window.is_active ? await nextOccurrences(window, now, 1) : [];
    items.push(
      html`<li><a href="${path}/${window.id}"><b>${window.name}</b></a> ${stateTag(window, next, now)} ${next && html`<br>${occurrence(reply.request, window, next)}`}<br>${matcherList(window)}</li>`,
    );
  }
  const mayChange = level >= PROJECT_ROLES.Maintainer;
  const body = html`<div class="heading"><div><h1>Maintenance</h1><p class="lead">While a window is on, nobody is paged for alerts that match it.</p></div>${mayChange && html`<a class="button" href="${path}/new">Add window</a>`}</div>
${items.length === 0 ? html`<p class="empty">No maintenance windows yet.</p>` : html`<section class="card"><ul class="steps">${items}</ul></section>`}`;
  return frame.send(reply, visit, { tab: 'maintenance', title: 'Maintenance', body, script: 'alerts.js' });
}

async function sendOne(
  { frame, clock }: MaintenanceParts,
  reply: FastifyReply,
  visit: Visit,
  window: MaintenanceWindow,
): Promise<FastifyReply> {
  const now = clock.now();
  const path = `${listPath(visit)}/${window.id}`;
  const next = await nextOccurrences(window, now, OCCURRENCES);
  const { name, comment, is_active } = window;
  const buttons = html`<div class="actions"><a class="button second" href="${path}/edit" aria-label="Edit window ${name}">Edit</a> <a class="button danger" href="${path}/delete" aria-label="Delete window ${name}">Delete</a></div>`;
  const body = html`<div class="heading"><div><h1>${name}</h1><p class="lead">${stateTag(window, next[0], now)} ${comment}</p></div>${visit.membership.level >= PROJECT_ROLES.Maintainer && buttons}</div>
<section class="card"><dl class="facts"><dt>Matchers</dt><dd>${matcherList(window)}</dd><dt>Time zone</dt><dd>${zoneOf(window.time_intervals)}</dd></dl></section>
<section class="card plain"><h2>Next occurrences</h2>${!is_active && html`<p class="hint">The window is not active, so these do not apply.</p>`}${
    next.length === 0
      ? html`<p class="empty">None in the next 11 years.</p>`
      : html`<ol class="steps">${next.map((span) => html`<li>${occurrence(reply.request, window, span)}</li>`)}</ol>`
  }</section>`;
  return frame.send(reply, visit, { tab: 'maintenance', title: name, body, script: 'alerts.js' });
}

function stateTag({ is_active }: MaintenanceWindow, next: Span | undefined, now: number): Html {
  if (!is_active) return html`<span class="tag">not active</span>`;
  if (next === undefined) return html`<span class="tag">over</span>`;
  return next.from === now ? html`<span class="tag warn">on</span>` : html`<span class="tag">off</span>`;
}

const occurrence = (request: FastifyRequest, { time_intervals }: MaintenanceWindow, span: Span): Html =>
  datedStretchBy(span, clocksOf(request, zoneOf(time_intervals), span));

const matcherList = ({ matchers }: MaintenanceWindow): Html => matcherCodes(matchers);
