import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import {
  type AlertRoute,
  ROUTE_DELAY_SECONDS_MAX,
  ROUTE_NAME_CHARACTERS_MAX,
  ROUTES_MAX,
} from '../oncall/routes.ts';
import type { Api } from './endpoint.ts';
import { matchersInput, matchersJson, matchersOf } from './matchers.ts';

const routeShape = z
  .object({
    name: z.string(),
    matchers: matchersInput.describe('an alert must match all of them; the last route has none'),
    policy_id: z.string().nullable().describe('null: the route pages nobody'),
    delay_seconds: z
      .int()
      .min(0)
      .max(ROUTE_DELAY_SECONDS_MAX)
      .describe('seconds to wait before paging; an alert that resolves in that time pages nobody'),
    continues: z.boolean().describe('true: an alert that matches is also tried against the next routes'),
    active: z.boolean().describe('false skips the route'),
  })
  .meta({ id: 'AlertRoute' });

/** Strict: without `matchers`, for example because of a typo, the route would match every alert. */
const routeInput = z.strictObject({
  name: z.string().max(ROUTE_NAME_CHARACTERS_MAX),
  matchers: routeShape.shape.matchers.default([]),
  policy_id: routeShape.shape.policy_id,
  delay_seconds: routeShape.shape.delay_seconds.default(0),
  continues: routeShape.shape.continues.default(false),
  active: routeShape.shape.active.default(true),
});

const routeJson = ({ policy_id, matchers, is_active, ...route }: AlertRoute) => ({
  ...route,
  active: is_active,
  matchers: matchersJson(matchers),
  policy_id: policy_id || null,
});
const etagOf = (version: number) => `"${version}"`;

const tag = 'On call' as const;
const path = '/projects/:id/alert_routes';

/** The routes that lead from alerts to escalation policies. */
export function serveAlertRouteLists(api: Api, { alertRoutes }: Pick<AlertDomain, 'alertRoutes'>): void {
  api.add(
    {
      method: 'GET',
      path,
      tag,
      summary: 'List the alert routes of a project',
      doc: 'Returns the routes in order. An alert takes the first active route whose matchers all match. If that route has `continues`, the alert is also tried against the next routes. The last route, `default`, has no matchers and takes all other alerts. The ETag header has the version of the list. Routes do not apply while an on-call tool integration is active.',
      role: 'Reporter',
      answer: z.array(routeShape),
    },
    async ({ membership, reply }) => {
      const { routes, version } = await alertRoutes.get(membership.project.id);
      reply.header('etag', etagOf(version));
      return routes.map(routeJson);
    },
  );
  api.add(
    {
      method: 'PUT',
      path,
      tag,
      summary: 'Replace the alert routes of a project',
      doc: 'Replaces the whole list. The new routes apply to alerts that are created, raised or reopened from now on. With the If-Match header, the list is replaced only if its version still matches; otherwise the status is 412.',
      role: 'Maintainer',
      body: z.array(routeInput).min(1).max(ROUTES_MAX),
      answer: z.array(routeShape),
    },
    async ({ membership, caller, body, request, reply }) => {
      const given = body.map(({ active, ...route }, i) => ({
        ...route,
        is_active: active,
        matchers: matchersOf(route.matchers, `${i}.matchers`),
        policy_id: route.policy_id ?? '',
      }));
      const { routes, version } = await alertRoutes.put(
        membership.project.id,
        given,
        caller.user.id,
        versionOf(request.headers['if-match']),
      );
      reply.header('etag', etagOf(version));
      return routes.map(routeJson);
    },
  );
}

/** The version in If-Match; null accepts any. An invalid tag gives -1, which matches no list. */
function versionOf(ifMatch: string | undefined): number | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  return Number(/^"(\d{1,15})"$/.exec(ifMatch.trim())?.[1] ?? -1);
}
