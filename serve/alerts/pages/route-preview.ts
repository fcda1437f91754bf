import type { FastifyInstance, FastifyReply } from 'fastify';
import type { MatchLabels } from '../../../aggregate/alerts/matchers/matcher.ts';
import { formatMatchers } from '../../../aggregate/alerts/matchers/parse.ts';
import { textField, time } from '../../pages/fields.ts';
import { type Html, html } from '../../pages/html.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused, requireRole } from '../model/access.ts';
import { previewRoutes, type RoutePreview, type RoutePreviewDependencies } from '../preview/route-preview.ts';
import type { ProjectFrame, Visit } from './frame.ts';
import { matcherCodes } from './matcher-code.ts';
import { matchersIn } from './matcher-lines.ts';
import { type PreviewPageParts, pageCards } from './preview-steps.ts';

type PreviewParts = RoutePreviewDependencies &
  PreviewPageParts &
  Pick<AlertDomain, 'reader' | 'suppressor' | 'silences' | 'windows'> & { readonly frame: ProjectFrame };

/** Matching silences listed on the page. */
const SILENCES_SHOWN = 10;

interface PreviewInput {
  readonly labels?: string;
  /** The number of an alert. */
  readonly alert?: string;
  readonly error?: RequestRefused;
}

/** A form for labels or the number of an alert. */
export function previewForm({ membership }: Visit, { labels, alert, error }: PreviewInput): Html {
  const faultOf = (field: string) => (error?.field === field ? error.message : null);
  return html`<section class="card"><h2>Preview</h2><p>Shows whom an alert would page now. Nothing is sent.</p><form method="get" action="/projects/${membership.project.id}/routes/preview">
${textField({ name: 'labels', label: 'Labels', value: labels, rows: 4, required: false, hint: 'One per line, such as severity="critical".', fault: faultOf('labels') })}
${textField({ name: 'alert', label: 'Or the number of an alert', type: 'number', value: alert, required: false, fault: faultOf('alert') })}
<button class="second">Show preview</button></form></section>`;
}

/** A preview of the pages of an alert. */
export function serveRoutePreviewPage(pages: FastifyInstance, parts: PreviewParts): void {
  const { frame } = parts;
  pages.get('/projects/:id/routes/preview', async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Reporter');
    const { labels = '', alert = '' } = request.query as PreviewInput;
    const input = { labels: String(labels), alert: String(alert) };
    try {
      const found = await labelsOf(parts, visit, input);
      return await send(parts, reply, visit, input, found);
    } catch (error) {
      if (!(error instanceof RequestRefused) || error.field === null) throw error;
      return sendPage(parts, reply, visit, { ...input, error }, null);
    }
  });
}

async function labelsOf(
  { reader, suppressor }: PreviewParts,
  { membership }: Visit,
  { labels, alert }: { readonly labels: string; readonly alert: string },
): Promise<MatchLabels> {
  if (alert !== '') {
    requireRole(membership, 'Developer');
    const found = await reader.find(Number(membership.project.id), Math.floor(Number(alert)) || 0);
    if (found === null)
      throw new RequestRefused('bad_request', 'The project has no alert of this number.', 'alert');
    return suppressor.labelsOf(found);
  }
  const list = matchersIn(labels, 'labels');
  if (list.some(({ isRegex, isEqual }) => isRegex || !isEqual)) {
    const text = 'Enter each label as name="value". Other operators have no value to preview.';
    throw new RequestRefused('bad_request', text, 'labels');
  }
  return { values: new Map(list.map(({ name, value }) => [name, value])), isCut: false };
}

async function send(
  parts: PreviewParts,
  reply: FastifyReply,
  visit: Visit,
  input: PreviewInput,
  labels: MatchLabels,
): Promise<FastifyReply> {
  const { project } = visit.membership;
  const preview = await previewRoutes(parts, project.id, labels);
  const body = html`${summary(preview)}
${await suppressionNote(parts, project.id, preview)}
<section class="card"><h2>Routes</h2>${routeList(preview)}</section>
${await pageCards(parts, reply.request, project.id, preview.pages)}
<section class="card"><h2>Labels</h2><p>${[...labels.values].map(([name, value]) => html`<code>${formatMatchers([{ name, value, isRegex: false, isEqual: true }])}</code> `)}${labels.values.size === 0 && 'None.'}</p></section>`;
  return sendPage(parts, reply, visit, input, body);
}

function sendPage(
  { frame }: PreviewParts,
  reply: FastifyReply,
  visit: Visit,
  input: PreviewInput,
  result: Html | null,
): Promise<FastifyReply> {
  const path = `/projects/${visit.membership.project.id}/routes`;
  const body = html`<h1>Preview of the routes</h1><p class="lead"><a href="${path}">Routes</a></p>
${result}
${previewForm(visit, input)}`;
  const status = input.error === undefined ? 200 : 422;
  return frame.send(reply, visit, {
    ...{ tab: 'routes', title: 'Preview of the routes', body, status, script: 'alerts.js' },
  });
}

function summary({ isApplied, pages, suppression }: RoutePreview): Html {
  if (!isApplied)
    return html`<p class="note warn">An integration with an on-call tool is active and receives all alerts, so nobody is paged.</p>`;
  if (pages.length === 0)
    return html`<p class="note bad">Nobody would be paged: no route with a policy takes this alert.</p>`;
  if (suppression.until > 0)
    return html`<p class="note warn">Nobody would be paged now: the alert is suppressed until a silence or a maintenance window ends.</p>`;
  const names = pages.map(({ policy }) => policy.name).join(', ');
  const reaches = pages.some(({ steps }) => steps.some(({ reachesNobody }) => !reachesNobody));
  return reaches
    ? html`<p class="note good">This alert would page by ${names}.</p>`
    : html`<p class="note bad">This alert would page by ${names}, but none of its steps reaches anybody now.</p>`;
}

async function suppressionNote(
  { silences, windows }: PreviewParts,
  projectId: string,
  { suppression: { silencedBy, mutedBy } }: RoutePreview,
): Promise<Html | null> {
  if (silencedBy.length + mutedBy.length === 0) return null;
  const all = await windows.list(projectId);
  const matching = await Promise.all(
    silencedBy.slice(0, SILENCES_SHOWN).map((id) => silences.get(projectId, id)),
  );
  const more = silencedBy.length - matching.length;
  return html`<section class="card"><h2>Suppressed by</h2><ul>${matching.map(
    ({ matchers, created_by, ends_ms }) =>
      html`<li>Silence of ${created_by} until ${time(ends_ms)}: <code>${formatMatchers(matchers)}</code></li>`,
  )}${more > 0 && html`<li>${more} more silences</li>`}${all
    .filter(({ id }) => mutedBy.includes(id))
    .map(
      ({ id, name }) =>
        html`<li>Maintenance window <a href="/projects/${projectId}/maintenance/${id}">${name}</a></li>`,
    )}</ul></section>`;
}

const routeList = ({ routes }: RoutePreview): Html =>
  html`<ol class="steps">${routes.map(
    ({ matchers, ...result }) =>
      html`<li><b>${result.route.name}</b> ${resultTag({ ...result, matchers })}<br>${matchers.map(
        ({ matcher, isMatch }) =>
          html`${matcherCodes([matcher])}<span class="tag ${isMatch ? 'good' : 'bad'}">${isMatch ? 'matches' : 'does not match'}</span> `,
      )}${matchers.length === 0 && 'every other alert'}</li>`,
  )}</ol>`;

function resultTag({ takes, route, matchers }: RoutePreview['routes'][number]): Html {
  if (takes) return html`<span class="tag good">takes it${route.continues && ' and continues'}</span>`;
  if (!route.is_active) return html`<span class="tag">not active</span>`;
  if (matchers.some(({ isMatch }) => !isMatch)) return html`<span class="tag">does not match</span>`;
  return html`<span class="tag">not reached</span>`;
}
