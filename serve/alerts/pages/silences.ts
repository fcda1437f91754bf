import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import type { Clock } from '../../../infra/ports.ts';
import { button, table, time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES, RequestRefused } from '../model/access.ts';
import { countMatching, proposedMatchers } from '../suppression/matching-alerts.ts';
import { SILENCE_STATES, type Silence, type SilenceState, silenceState } from '../suppression/silence.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import { pageNumber, pagination } from './pagination.ts';
import { draftIn, fieldsIn, newDraft, type SilenceDraft, silenceForm } from './silence-form.ts';

const LIST = '/projects/:id/silences';
const NEW = `${LIST}/new`;
const PER_PAGE = 50;

const TAG_CLASSES: Readonly<Record<SilenceState, string>> = { active: 'good', pending: '', expired: '' };

interface SilencePageParts extends Pick<AlertDomain, 'suppressor' | 'reader' | 'silences' | 'users'> {
  readonly frame: ProjectFrame;
  readonly clock: Clock;
}

const listPath = ({ membership }: Visit) => `/projects/${membership.project.id}/silences`;

/** The silences of a project, and the form for another one. */
export function serveSilencePages(pages: FastifyInstance, parts: SilencePageParts): void {
  const { frame, silences } = parts;
  pages.get(LIST, async (request, reply) =>
    sendList(parts, reply, await frame.visit(request, reply, 'Reporter')),
  );
  pages.post(`${LIST}/:silence/end`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const { silence } = request.params as { silence: string };
    await silences.end(visit.membership.project.id, silence, visit.user.id);
    return seeOther(reply, listPath(visit), 'Silence ended.');
  });
  serveNew(pages, parts);
}

function serveNew(pages: FastifyInstance, parts: SilencePageParts): void {
  const { frame, silences, clock } = parts;
  pages.get(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const matchers = await matchersFor(parts, request, visit);
    const draft = newDraft(request, matchers, clock.now());
    const count =
      matchers.length === 0 ? null : await countMatching(readable(parts, visit), projectOf(visit), matchers);
    return sendForm(parts, reply, visit, { draft, count, error: null });
  });
  pages.post(NEW, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const form = formOf(request);
    const draft = draftIn(form);
    try {
      const fields = fieldsIn(draft, clock.now(), visit.user.username);
      if (form.text('do') === 'count') {
        const count = await countMatching(readable(parts, visit), projectOf(visit), fields.matchers);
        return await sendForm(parts, reply, visit, { draft, count, error: null });
      }
      await silences.create(projectOf(visit), visit.user.id, fields);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
      return sendForm(parts, reply, visit, { draft, count: null, error });
    }
    return seeOther(reply, listPath(visit), 'Silence created.');
  });
}

const projectOf = ({ membership }: Visit) => membership.project.id;

/** Reads alerts with the access of the visitor. */
const readable = ({ suppressor, reader }: SilencePageParts, { store }: Visit) => ({
  suppressor,
  reader: reader.withStore(store),
});

/** Matchers that `?alert=` proposes; none without it. */
async function matchersFor({ suppressor, reader }: SilencePageParts, request: FastifyRequest, visit: Visit) {
  const { alert: text } = request.query as { readonly alert?: unknown };
  if (text === undefined) return [];
  const alert = await reader.withStore(visit.store).get(projectOf(visit), Math.floor(Number(text)) || 0);
  return proposedMatchers(alert, await suppressor.labelsOf(alert));
}

interface FormState {
  readonly draft: SilenceDraft;
  readonly count: { readonly matching: number; readonly open: number } | null;
  readonly error: RequestRefused | null;
}

function sendForm(
  { frame }: SilencePageParts,
  reply: FastifyReply,
  visit: Visit,
  state: FormState,
): Promise<FastifyReply> {
  const title = 'New silence';
  const form = silenceForm({ ...state, action: `${listPath(visit)}/new`, token: visit.token });
  const body = html`<h1>${title}</h1><p class="lead">Matching alerts are recorded and listed as usual, but nobody is paged while the silence lasts. When it ends, people are paged at once for alerts that are still triggered.</p>
<section class="card">${form}</section>`;
  const status = state.error === null ? 200 : 422;
  return frame.send(reply, visit, { tab: 'silences', title, body, status });
}

/** The states in the URL; active and pending by default. */
function statesIn(request: FastifyRequest): readonly SilenceState[] {
  const { state } = request.query as { readonly state?: unknown };
  const chosen = SILENCE_STATES.filter((name) => name === state);
  return chosen.length > 0 ? chosen : ['active', 'pending'];
}

async function sendList(parts: SilencePageParts, reply: FastifyReply, visit: Visit): Promise<FastifyReply> {
  const { frame, silences, users, clock } = parts;
  const { request } = reply;
  const states = statesIn(request);
  const page = pageNumber((request.query as { page?: unknown }).page);
  const listed = await silences.list(projectOf(visit), states, { number: page, size: PER_PAGE });
  const people = await users.byId(listed.silences.map(({ author_id }) => author_id));
  const now = clock.now();
  const rows = listed.silences.map((silence) =>
    rowOf(silence, visit, now, people.get(silence.author_id)?.username ?? 'deleted-user'),
  );
  const mayChange = visit.membership.level >= PROJECT_ROLES.Developer;
  const chosen = states.length === 1 ? (states[0] ?? '') : '';
  const body = html`<div class="heading"><div><h1>Silences</h1><p class="lead">Nobody is paged for an alert while a silence matches it.</p></div>
${mayChange && html`<a class="button" href="${listPath(visit)}/new">New silence</a>`}</div>
<nav class="tabs" aria-label="States"><ul>${STATE_LINKS.map(
    ([state, label]) =>
      html`<li><a href="${listPath(visit)}${state && `?state=${state}`}"${state === chosen && html` aria-current="page"`}>${label}</a></li>`,
  )}</ul></nav>
${table({ caption: 'Silences', head: ['Silence', ''], rows, empty: 'No silences.' })}
${pagination({ page, size: PER_PAGE, total: listed.total, noun: 'silences' }, (to) => `${listPath(visit)}?${new URLSearchParams({ ...(chosen === '' ? {} : { state: chosen }), page: String(to) })}`)}`;
  return frame.send(reply, visit, { tab: 'silences', title: 'Silences', body });
}

const STATE_LINKS: readonly (readonly [state: SilenceState | '', label: string])[] = [
  ['', 'Active and pending'],
  ['expired', 'Expired'],
];

function rowOf(silence: Silence, visit: Visit, now: number, author: string): readonly Html[] {
  const { id, matchers, comment, starts_ms, ends_ms, created_by } = silence;
  const state = silenceState(silence, now);
  const mayEnd = state !== 'expired' && visit.membership.level >= PROJECT_ROLES.Developer;
  const text = formatMatchers(matchers);
  const by = created_by === author ? `@${author}` : `${created_by}, @${author}`;
  return [
    html`<code>${text}</code> <span class="tag ${TAG_CLASSES[state]}">${state}</span>
<span class="under other-clock">${time(starts_ms)} to\u00a0${time(ends_ms)}</span>${comment && html` <span class="under other-clock">${comment}</span>`} <span class="under other-clock">by ${by}</span>`,
    mayEnd ? button(`${listPath(visit)}/${id}/end`, visit.token, 'End', `End the silence ${text}`) : html``,
  ];
}
