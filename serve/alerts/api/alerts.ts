import { z } from 'zod';
import { ALERT_STATUSES, type Alert, SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { RequestRefused } from '../model/access.ts';
import type { Note } from '../model/tables.ts';
import { type AlertFilter, HISTORY_PER_PAGE, SORTS, type Sort } from '../projects/alert-reader.ts';
import { alertShape, timeText, userShape, wellFormedText } from '../projects/shapes.ts';
import { alertResponse, alertResponses, silencedAlerts } from './alert-responses.ts';
import type { Api } from './endpoint.ts';
import { PAGINATION_DOC, pageQuery, setPageHeaders } from './pagination.ts';

export const commaSeparated = <T extends string>(values: readonly [T, ...T[]]) =>
  z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat().flatMap((text) => text.split(',')))
    .pipe(z.array(z.enum(values)))
    .optional();

const filters = {
  status: commaSeparated(ALERT_STATUSES).describe('one or more, separated by commas'),
  severity: commaSeparated(SEVERITIES).describe('one or more, separated by commas'),
  search: z.string().max(500).optional().describe('words in title, description, service or monitoring tool'),
  service: z.string().max(500).optional(),
  monitoring_tool: z.string().max(500).optional(),
  environment: z.string().max(500).optional(),
  label: z.string().max(500).optional().describe('a label, as `name=value`'),
  integration_id: z.string().max(100).optional(),
  assignee_id: z.string().max(100).optional().describe('id of a user, or `none`'),
  started_after: z.iso.datetime({ offset: true }).optional(),
  started_before: z.iso.datetime({ offset: true }).optional(),
  silenced: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'whether a silence or maintenance window matches now; considers the newest 10,000 open alerts only',
    ),
};
const filterSchema = z.object(filters);

const paging = {
  order_by: z.enum(Object.keys(SORTS) as [Sort, ...Sort[]]).default('started_at'),
  sort: z.enum(['asc', 'desc']).default('desc').describe('for severity, desc starts with the most severe'),
  ...pageQuery,
};

async function filterOf(
  { suppressor, reader }: Pick<AlertParts, 'suppressor' | 'reader'>,
  projectId: string,
  query: z.output<typeof filterSchema>,
): Promise<AlertFilter> {
  const { integration_id, assignee_id, started_after, started_before, silenced, ...rest } = query;
  return {
    ...rest,
    integration: integration_id,
    assignee: assignee_id,
    started_after: started_after === undefined ? undefined : Date.parse(started_after),
    started_before: started_before === undefined ? undefined : Date.parse(started_before),
    ...(silenced === undefined
      ? {}
      : { iids: await silencedAlerts({ suppressor }, reader, projectId, silenced === 'true') }),
  };
}

const iidOf = z.object({ alert_iid: wholeNumber(1) });
const one = '/projects/:id/alerts/:alert_iid';
const tag = 'Alerts' as const;
const role = 'Developer' as const;

type AlertParts = Pick<AlertDomain, 'actions' | 'notes' | 'suppressor' | 'reader' | 'users'>;

export function serveAlertRoutes(api: Api, domain: AlertParts, url: () => string): void {
  serveList(api, domain, url);
  serveOne(api, domain, url);
  serveHistory(api, domain, url);
  serveNotes(api, domain);
}

function serveList(api: Api, domain: AlertParts, url: () => string): void {
  const { suppressor, reader } = domain;
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/alerts',
      tag,
      summary: 'List alerts of a project',
      doc: PAGINATION_DOC,
      role,
      query: filterSchema.extend(paging),
      answer: z.array(alertShape),
    },
    async ({ membership, query, request, reply, store }) => {
      const { order_by: sort, sort: direction, page: number, per_page: size, ...given } = query;
      const order = { sort, descending: direction === 'desc' };
      const { id } = membership.project;
      const own = reader.withStore(store);
      const filter = await filterOf({ suppressor, reader: own }, id, given);
      const [rows, { all: total }] = await Promise.all([
        own.list(Number(id), filter, order, { number, size }),
        own.countByStatus(Number(id), filter),
      ]);
      setPageHeaders(reply, `${url()}${request.url}`, { number, size, total });
      return alertResponses(domain, id, rows, url());
    },
  );
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/alerts/status_counts',
      tag,
      summary: 'Count alerts by status',
      role,
      query: filterSchema,
      answer: z.record(z.enum(['all', 'open', ...ALERT_STATUSES]), z.int()),
    },
    async ({ membership: { project }, query, store }) => {
      const own = reader.withStore(store);
      return own.countByStatus(
        Number(project.id),
        await filterOf({ suppressor, reader: own }, project.id, query),
      );
    },
  );
}

function serveOne(api: Api, domain: AlertParts, url: () => string): void {
  const { actions, reader } = domain;
  const json = (alert: Alert) => alertResponse(domain, alert, url());
  api.add(
    {
      method: 'GET',
      path: one,
      tag,
      summary: 'Get an alert with its payload',
      role,
      params: iidOf,
      answer: alertShape.extend({
        fingerprint: z.string(),
        y_label: z.string().nullable(),
        incident_markdown: z.string().nullable(),
        other_annotations: z.record(z.string(), z.unknown()),
        payload: z.unknown(),
      }),
    },
    async ({ membership, params, store }) => {
      const own = reader.withStore(store);
      const alert = await own.get(membership.project.id, params.alert_iid);
      const { payload, annotations } = await own.details(alert);
      return {
        ...(await json(alert)),
        fingerprint: alert.fingerprint,
        y_label: alert.y_label || null,
        incident_markdown: alert.incident_markdown || null,
        other_annotations: annotations,
        payload,
      };
    },
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update the status or the assignees of an alert',
      doc: 'A resolved alert can be reopened unless another unresolved alert has the same fingerprint.',
      role,
      params: iidOf,
      body: z.object({
        status: z.enum(ALERT_STATUSES).optional(),
        assignee_ids: z.array(z.int()).optional(),
      }),
      answer: alertShape,
    },
    async ({ caller, membership, params, body }) => {
      // Unknown fields are ignored, so a body with only misspelled fields would silently change nothing.
      if (body.status === undefined && body.assignee_ids === undefined)
        throw new RequestRefused('bad_request', 'Send status, assignee_ids or both.');
      const changed = await actions.change(membership.project.id, params.alert_iid, caller.user, {
        ...(body.status === undefined ? {} : { status: body.status }),
        ...(body.assignee_ids === undefined ? {} : { assignees: body.assignee_ids.map(String) }),
      });
      return json(changed);
    },
  );
}

function serveHistory(api: Api, { reader }: AlertParts, url: () => string): void {
  api.add(
    {
      method: 'GET',
      path: `${one}/history`,
      tag,
      summary: 'List the events of an alert, newest first',
      doc: PAGINATION_DOC,
      role,
      params: iidOf,
      query: z.object({ ...pageQuery, per_page: pageQuery.per_page.unwrap().default(HISTORY_PER_PAGE) }),
      answer: z.array(
        z.object({
          at: z.iso.datetime(),
          outcome: z.string(),
          user_id: z.int().nullable(),
          integration_id: z.string().nullable(),
          change: z.record(z.string(), z.unknown()),
          note: z.string().nullable().describe('a remark on the event, for example an invalid end time'),
        }),
      ),
    },
    async ({ membership, params, query: { page: number, per_page: size }, request, reply, store }) => {
      const own = reader.withStore(store);
      const alert = await own.get(membership.project.id, params.alert_iid);
      const { entries, total } = await own.history(alert, { number, size });
      setPageHeaders(reply, `${url()}${request.url}`, { number, size, total });
      return entries.map(({ at, outcome, by, integration, change, note }) => ({
        at: timeText(at),
        outcome,
        user_id: by === '' ? null : Number(by),
        integration_id: integration || null,
        change,
        note: note || null,
      }));
    },
  );
}

const noteShape = z.object({
  id: z.string(),
  body: z.string(),
  author: userShape.nullable(),
  created_at: z.iso.datetime(),
});

function serveNotes(api: Api, { notes: noteStore, reader, users: lookup }: AlertParts): void {
  const json = async (notes: readonly Note[]) => {
    const users = await lookup.byId(notes.map(({ author_id }) => author_id));
    return notes.map(({ id, body, author_id, created_ms }) => {
      const author = users.get(author_id);
      const { id: user = '', username = '', name = '' } = author ?? {};
      return {
        id,
        body,
        author: author ? { id: Number(user), username, name } : null,
        created_at: timeText(created_ms),
      };
    });
  };
  api.add(
    {
      method: 'GET',
      path: `${one}/notes`,
      tag,
      summary: 'List notes on an alert, oldest first',
      role,
      params: iidOf,
      isWholeList: true,
      answer: z.array(noteShape),
    },
    async ({ membership: { project }, params, store }) => {
      await reader.withStore(store).get(project.id, params.alert_iid);
      return json(await noteStore.list(project.id, params.alert_iid));
    },
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/notes`,
      tag,
      summary: 'Add a note to an alert',
      role,
      params: iidOf,
      body: z.object({ body: wellFormedText() }),
      answer: noteShape,
      status: 201,
    },
    async ({ caller, membership: { project }, params, body }) => {
      await reader.get(project.id, params.alert_iid);
      const [note] = await json([await noteStore.add(project.id, params.alert_iid, caller.user, body.body)]);
      return note;
    },
  );
  api.add(
    {
      method: 'DELETE',
      path: `${one}/notes/:note_id`,
      tag,
      summary: 'Delete a note of the caller',
      role,
      params: iidOf.extend({ note_id: z.string().max(100) }),
      status: 204,
    },
    async ({ caller, membership: { project }, params }) =>
      noteStore.delete(project.id, params.alert_iid, caller.user, params.note_id),
  );
}
