import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import {
  type AlertRoute,
  ROUTE_DELAY_SECONDS_MAX,
  ROUTE_NAME_CHARACTERS_MAX,
  ROUTES_MAX,
} from '../oncall/routes.ts';
import type { Api } from './endpoint.ts';
import { matchersGiven, matchersJson, matchersOf } from './matchers.ts';

const routeShape = z
  .object({
    name: z.string(),
    matchers: matchersGiven.describe('all of them must match; the last route has none'),
    policy_id: z.string().nullable().describe('null if alerts that the route takes page nobody'),
    delay_seconds: z
      .int()
      .min(0)
      .max(ROUTE_DELAY_SECONDS_MAX)
      .describe('how long an alert waits before it pages: one that resolves meanwhile pages nobody'),
    continues: z.boolean().describe('whether the next routes are tried for an alert that this one takes'),
    active: z.boolean().describe('false skips the route'),
  })
  .meta({ id: 'AlertRoute' });

/** Strict, since a route with a misspelled `matchers` would be another route than its sender meant. */
const givenRoute = z.strictObject({
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
      doc: 'In order. The first active route whose matchers all match takes the alert; with `continues`, the next routes are tried, too. The last route, `default`, has no matchers and takes the rest. The header ETag has the version of the list. Routes are not applied while the integration with an on-call tool is active.',
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
      doc: 'Replaces the whole list, for alerts that are created, raised or reopened from now on. With the header If-Match, the list is replaced only if it still has that version; else the status is 412.',
      role: 'Maintainer',
      body: z.array(givenRoute).min(1).max(ROUTES_MAX),
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

/** The version that If-Match asks for: null for any; -1, which no list has, for an unknown tag. */
function versionOf(ifMatch: string | undefined): number | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  return Number(/^"(\d{1,15})"$/.exec(ifMatch.trim())?.[1] ?? -1);
}
