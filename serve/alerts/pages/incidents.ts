import type { FastifyInstance } from 'fastify';
import { table, time } from '../../pages/fields.ts';
import { formOf } from '../../pages/forms.ts';
import { html } from '../../pages/html.ts';
import { markdown } from '../../pages/markdown.ts';
import { seeOther } from '../../pages/page.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { PROJECT_ROLES } from '../model/access.ts';
import { iidOf, type ProjectFrame, severityTag } from './frame.ts';
import { pageNumber, pagination } from './pagination.ts';

const PAGE_SIZE = 20;
const PATH = '/projects/:id/incidents';

export function serveIncidentPages(
  pages: FastifyInstance,
  frame: ProjectFrame,
  { incidents }: Pick<AlertDomain, 'incidents'>,
): void {
  pages.get(PATH, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Reporter');
    const { project } = visit.membership;
    const page = pageNumber((request.query as { page?: unknown }).page);
    const found = await incidents.list(visit.store, project.id, { number: page, size: PAGE_SIZE });
    const rows = found.rows.map((incident) => [
      html`<a href="/projects/${incident.project_id}/incidents/${incident.iid}">#${incident.iid} ${incident.title}</a>`,
      severityTag(incident as never),
      incident.closed_ms === 0
        ? html`<span class="tag warn">open</span>`
        : html`<span class="tag good">closed</span>`,
      time(incident.created_ms),
    ]);
    const body = html`<h1>Incidents</h1>${table({ caption: 'Incidents', head: ['Incident', 'Severity', 'Status', 'Created'], rows, empty: 'No incidents yet. Create one from an alert, or let the project settings create them automatically.' })}
${pagination({ page, size: PAGE_SIZE, total: found.total, noun: 'incidents' }, (to) => `/projects/${project.id}/incidents?page=${to}`)}`;
    return frame.send(reply, visit, { tab: 'incidents', title: 'Incidents', body });
  });
  pages.get(`${PATH}/:iid`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Reporter');
    const { project, level } = visit.membership;
    const incident = await incidents.get(project.id, iidOf(request));
    const isOpen = incident.closed_ms === 0;
    const base = `/projects/${project.id}/incidents/${incident.iid}`;
    const body = html`<div class="heading"><div><p class="under">Incident #${incident.iid}</p><h1>${incident.title}</h1>
<p>${severityTag(incident as never)} ${isOpen ? html`<span class="tag warn">open</span>` : html`<span class="tag good">closed ${time(incident.closed_ms)}</span>`} <a href="/projects/${project.id}/alerts/${incident.alert_iid}">Alert #${incident.alert_iid}</a></p></div>
${level >= PROJECT_ROLES.Developer && html`<form method="post" action="${base}/state">${visit.token}<input type="hidden" name="state" value="${isOpen ? 'close' : 'reopen'}"><button>${isOpen ? 'Close incident and resolve alert' : 'Reopen incident'}</button></form>`}</div>
<section class="card">${incident.description === '' ? html`<p class="hint">No description.</p>` : markdown(incident.description)}</section>`;
    return frame.send(reply, visit, {
      tab: 'incidents',
      title: incident.title,
      body,
    });
  });
  pages.post(`${PATH}/:iid/state`, async (request, reply) => {
    const visit = await frame.visit(request, reply, 'Developer');
    const { project } = visit.membership;
    const isClosed = formOf(request).text('state') === 'close';
    await incidents.change(project.id, iidOf(request), visit.user, { isClosed });
    return seeOther(
      reply,
      `/projects/${project.id}/incidents/${iidOf(request)}`,
      isClosed ? 'Incident closed and alert resolved.' : 'Incident reopened.',
    );
  });
}
