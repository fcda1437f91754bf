import { z } from 'zod';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { incidentJson, incidentShape, wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';
import { PAGINATION_DOC, pageQuery, setPageHeaders } from './pagination.ts';

const iid = z.object({ incident_iid: wholeNumber(1) });

const tag = 'Alerts' as const;

export function serveIncidents(
  api: Api,
  { incidents, reader }: Pick<AlertDomain, 'incidents' | 'reader'>,
  url: () => string,
): void {
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/alerts/:alert_iid/incident',
      tag,
      summary: 'Create an incident from an alert, or return the existing one',
      role: 'Developer',
      params: z.object({ alert_iid: wholeNumber(1) }),
      answer: incidentShape,
      status: 201,
    },
    async ({ caller, membership: { project }, params }) => {
      const alert = await reader.get(project.id, params.alert_iid);
      return incidentJson(await incidents.createFrom(project.id, alert, caller.user));
    },
  );
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/incidents',
      tag,
      summary: 'List incidents of a project, newest first',
      doc: PAGINATION_DOC,
      role: 'Reporter',
      query: z.object(pageQuery),
      answer: z.array(incidentShape),
    },
    async ({ membership, query: { page: number, per_page: size }, request, reply, store }) => {
      const { rows, total } = await incidents.list(store, membership.project.id, { number, size });
      setPageHeaders(reply, `${url()}${request.url}`, { number, size, total });
      return rows.map(incidentJson);
    },
  );
  serveIncident(api, incidents);
}

function serveIncident(api: Api, incidents: AlertDomain['incidents']): void {
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/incidents/:incident_iid',
      tag,
      summary: 'Get an incident',
      role: 'Reporter',
      params: iid,
      answer: incidentShape,
    },
    async ({ membership, params }) =>
      incidentJson(await incidents.get(membership.project.id, params.incident_iid)),
  );
  api.add(
    {
      method: 'PUT',
      path: '/projects/:id/incidents/:incident_iid',
      tag,
      summary: 'Update, close or reopen an incident',
      doc: 'Closing an incident resolves its alert.',
      role: 'Developer',
      params: iid,
      body: z.object({
        title: wellFormedText().max(255).optional(),
        description: wellFormedText().max(100_000).optional(),
        state_event: z.enum(['close', 'reopen']).optional(),
      }),
      answer: incidentShape,
    },
    async ({ caller, membership, params, body: { title, description, state_event } }) =>
      incidentJson(
        await incidents.change(membership.project.id, params.incident_iid, caller.user, {
          ...(title === undefined ? {} : { title }),
          ...(description === undefined ? {} : { description }),
          ...(state_event === undefined ? {} : { isClosed: state_event === 'close' }),
        }),
      ),
  );
}
