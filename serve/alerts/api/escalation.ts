import { z } from 'zod';
import type { AlertDomain } from '../composition/domain.ts';
import {
  POLICY_DEFAULTS,
  POLICY_RANGES,
  type Policy,
  type PolicyFields,
  type PolicyStep,
  STEPS_MAX,
  TARGET_TYPES,
  TARGETS_MAX,
} from '../oncall/policies.ts';
import { type AlertRoute, ROUTE_DELAY_SECONDS_MAX } from '../oncall/routes.ts';
import { givenText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const numberOf = (name: keyof typeof POLICY_RANGES) =>
  z.int().min(POLICY_RANGES[name].min).max(POLICY_RANGES[name].max);
const numbers = {
  repeats: numberOf('repeats').describe('how often all steps run again after the first time'),
  reminder_hours: numberOf('reminder_hours').describe(
    'how long after the last step they start again; 0 = never',
  ),
  ack_timeout_minutes: numberOf('ack_timeout_minutes').describe(
    'how long after its acknowledgement a page starts again; 0 = never',
  ),
};

const stepShape = z.object({
  targets: z
    .array(
      z.object({
        type: z.enum(TARGET_TYPES),
        id: z
          .union([z.string().max(100), z.int()])
          .describe('of the schedule, the user or the channel; answered as text'),
      }),
    )
    .min(1)
    .max(TARGETS_MAX),
  delay_minutes: numberOf('delay_minutes').describe('how long the page waits before the next step'),
  important: z
    .boolean()
    .default(false)
    .describe('whether people are told by their rules for important pages'),
});
const stepsShape = z.array(stepShape).min(1).max(STEPS_MAX);

/** Ids of users are numbers in other answers. */
const stepsOf = (steps: z.output<typeof stepsShape>): readonly PolicyStep[] =>
  steps.map(({ targets, ...step }) => ({
    ...step,
    targets: targets.map(({ type, id }) => ({ type, id: String(id) })),
  }));

const policyShape = z
  .object({
    id: z.string(),
    name: z.string(),
    steps: z.array(
      stepShape.extend({
        targets: z.array(z.object({ type: z.enum(TARGET_TYPES), id: z.string() })),
        important: z.boolean(),
      }),
    ),
    ...numbers,
  })
  .meta({ id: 'EscalationPolicy' });

const policyJson = ({ project_id: _, ...policy }: Policy) => policy;

const newPolicy = z.object({
  name: givenText().max(255),
  steps: stepsShape,
  repeats: numbers.repeats.default(POLICY_DEFAULTS.repeats),
  reminder_hours: numbers.reminder_hours.default(POLICY_DEFAULTS.reminder_hours),
  ack_timeout_minutes: numbers.ack_timeout_minutes.default(POLICY_DEFAULTS.ack_timeout_minutes),
});
const policyChanges = z.object({ name: givenText().max(255), steps: stepsShape, ...numbers }).partial();

const tag = 'On call' as const;
const role = 'Maintainer' as const;
const reader = 'Reporter' as const;
const all = '/projects/:id/escalation_policies';
const one = `${all}/:policy_id`;
const params = z.object({ policy_id: z.string() });

type EscalationParts = Pick<AlertDomain, 'policies' | 'alertRoutes'>;

/** Escalation policies, and the routes that lead from alerts to them. */
export function serveEscalation(api: Api, domain: EscalationParts): void {
  servePolicies(api, domain);
  servePolicy(api, domain);
  serveRoutes(api, domain);
}

function servePolicies(api: Api, { policies }: EscalationParts): void {
  api.add(
    {
      method: 'GET',
      path: all,
      tag,
      summary: 'List escalation policies of a project',
      role: reader,
      isWholeList: true,
      answer: z.array(policyShape),
    },
    async ({ membership }) => (await policies.list(membership.project.id)).map(policyJson),
  );
  api.add(
    {
      method: 'POST',
      path: all,
      tag,
      summary: 'Create an escalation policy',
      doc: 'A page tells the targets of the first step, waits, and goes on to the next one until somebody acknowledges it. Targets are schedules and channels of the project, and its members with the role Developer or a higher one.',
      role,
      body: newPolicy,
      answer: policyShape,
      status: 201,
    },
    async ({ membership, caller, body }) =>
      policyJson(
        await policies.create(membership.project.id, caller.user.id, { ...body, steps: stepsOf(body.steps) }),
      ),
  );
}

function servePolicy(api: Api, { policies }: EscalationParts): void {
  api.add(
    {
      method: 'GET',
      path: one,
      tag,
      summary: 'Get an escalation policy',
      role: reader,
      params,
      answer: policyShape,
    },
    async ({ membership, params }) => policyJson(await policies.get(membership.project.id, params.policy_id)),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update an escalation policy',
      doc: 'Pages read their policy at every step, so a change takes effect at once.',
      role,
      params,
      body: policyChanges,
      answer: policyShape,
    },
    async ({ membership, caller, params, body }) => {
      const { steps, ...rest } = body;
      const given = Object.entries({ ...rest, steps: steps && stepsOf(steps) }).filter(
        ([, value]) => value !== undefined,
      );
      const changes = Object.fromEntries(given) as Partial<PolicyFields>;
      return policyJson(
        await policies.change(membership.project.id, params.policy_id, caller.user.id, changes),
      );
    },
  );
  api.add(
    {
      method: 'DELETE',
      path: one,
      tag,
      summary: 'Delete an escalation policy',
      doc: 'A policy that a route leads to is refused with status 409.',
      role,
      params,
      status: 204,
    },
    async ({ membership, caller, params }) =>
      policies.delete(membership.project.id, params.policy_id, caller.user.id),
  );
}

const routeShape = z
  .object({
    name: z.string(),
    policy_id: z.string().nullable().describe('null where nobody is paged'),
    delay_seconds: z
      .int()
      .min(0)
      .max(ROUTE_DELAY_SECONDS_MAX)
      .describe('how long an alert waits before it pages: one that resolves meanwhile pages nobody'),
  })
  .meta({ id: 'AlertRoute' });

/** Strict, since a route without the matchers that its sender meant would take each alert. */
const givenRoute = z.strictObject({
  ...routeShape.shape,
  name: z.string().max(255),
  delay_seconds: routeShape.shape.delay_seconds.default(0),
});

const routeJson = ({ policy_id, ...route }: AlertRoute) => ({ ...route, policy_id: policy_id || null });
const etagOf = (version: number) => `"${version}"`;

function serveRoutes(api: Api, { alertRoutes }: EscalationParts): void {
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/alert_routes',
      tag,
      summary: 'List the alert routes of a project',
      doc: 'The list has one route, `default`, which takes each alert. The header ETag has the version of the list. Routes are not applied while the integration with an on-call tool is active.',
      role: reader,
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
      path: '/projects/:id/alert_routes',
      tag,
      summary: 'Replace the alert routes of a project',
      doc: 'Replaces the whole list, for alerts that are created, raised or reopened from now on. With the header If-Match, the list is replaced only if it still has that version; else the status is 412.',
      role,
      body: z.array(givenRoute).min(1),
      answer: z.array(routeShape),
    },
    async ({ membership, caller, body, request, reply }) => {
      const given = body.map((route) => ({ ...route, policy_id: route.policy_id ?? '' }));
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

/** The version that If-Match asks for: null for any, and one that there never is for a tag that is not ours. */
function versionOf(ifMatch: string | undefined): number | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  return Number(/^"(\d{1,15})"$/.exec(ifMatch.trim())?.[1] ?? -1);
}
