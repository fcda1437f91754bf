import type { FastifyInstance, FastifyRequest } from 'fastify';
import { table, time } from '../../http/pages/fields.ts';
import { formOf } from '../../http/pages/forms.ts';
import { html } from '../../http/pages/html.ts';
import { seeOther } from '../../http/pages/page.ts';
import { PROJECT_ROLES } from '../projects/access.ts';
import { changeIncident, incidentOf, incidentsOf } from '../projects/incidents.ts';
import type { AlertServices } from '../services.ts';
import { sendProjectPage, severityTag, visitOf } from './frame.ts';

const PATH = '/projects/:id/incidents';
const iidOf = (request: FastifyRequest) => Math.floor(Number((request.params as { iid: string }).iid)) || 0;

/** What is worked on because of an alert. */
export function serveIncidentPages(pages: FastifyInstance, services: AlertServices): void {
  pages.get(PATH, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Reporter');
    const found = await incidentsOf(services, visit.membership.project.id);
    const rows = found.map((incident) => [
      html`<a href="/projects/${incident.project_id}/incidents/${incident.iid}">#${incident.iid} ${incident.title}</a>`,
      severityTag(incident as never),
      incident.closed_ms === 0
        ? html`<span class="tag warn">open</span>`
        : html`<span class="tag good">closed</span>`,
      time(incident.created_ms),
    ]);
    const body = html`<h1>Incidents</h1>${table({ caption: 'Incidents', head: ['Incident', 'Severity', 'State', 'Made'], rows, empty: 'No incident was made yet. One is made from an alert, by hand or by itself.' })}`;
    return sendProjectPage(services, request, reply, visit, { tab: 'incidents', title: 'Incidents', body });
  });
  pages.get(`${PATH}/:iid`, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Reporter');
    const { project, level } = visit.membership;
    const incident = await incidentOf(services, project.id, iidOf(request));
    const isOpen = incident.closed_ms === 0;
    const base = `/projects/${project.id}/incidents/${incident.iid}`;
    const body = html`<div class="heading"><div><p class="under">Incident #${incident.iid}</p><h1>${incident.title}</h1>
<p>${severityTag(incident as never)} ${isOpen ? html`<span class="tag warn">open</span>` : html`<span class="tag good">closed ${time(incident.closed_ms)}</span>`} <a href="/projects/${project.id}/alerts/${incident.alert_iid}">Alert #${incident.alert_iid}</a></p></div>
${level >= PROJECT_ROLES.Developer && html`<form method="post" action="${base}/state">${visit.token}<input type="hidden" name="state" value="${isOpen ? 'close' : 'reopen'}"><button>${isOpen ? 'Close, and resolve the alert' : 'Reopen'}</button></form>`}</div>
<section class="card"><pre class="prose" tabindex="0">${incident.description}</pre></section>`;
    return sendProjectPage(services, request, reply, visit, {
      tab: 'incidents',
      title: incident.title,
      body,
    });
  });
  pages.post(`${PATH}/:iid/state`, async (request, reply) => {
    const visit = await visitOf(services, request, reply, 'Developer');
    const { project } = visit.membership;
    const isClosed = formOf(request).text('state') === 'close';
    await changeIncident(services, project.id, iidOf(request), visit.user, { isClosed });
    return seeOther(
      reply,
      `/projects/${project.id}/incidents/${iidOf(request)}`,
      isClosed ? 'The incident is closed and its alert resolved.' : 'The incident is open again.',
    );
  });
}
