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
import { wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const numberOf = (name: keyof typeof POLICY_RANGES) =>
  z.int().min(POLICY_RANGES[name].min).max(POLICY_RANGES[name].max);
const numbers = {
  repeats: numberOf('repeats').describe('number of times that all steps run again after the first time'),
  reminder_hours: numberOf('reminder_hours').describe(
    'hours after the end of the last step until the steps start again; 0: never',
  ),
  ack_timeout_minutes: numberOf('ack_timeout_minutes').describe(
    'minutes after an acknowledgement until the page starts again; 0: never',
  ),
};

const stepShape = z.object({
  targets: z
    .array(
      z.object({
        type: z.enum(TARGET_TYPES),
        id: z
          .union([z.string().max(100), z.int()])
          .describe('id of the schedule, user or channel; responses return it as a string'),
      }),
    )
    .min(1)
    .max(TARGETS_MAX),
  delay_minutes: numberOf('delay_minutes').describe('minutes to wait before the next step'),
  important: z
    .boolean()
    .default(false)
    .describe("true: the users' notification rules for important steps apply"),
});
const stepsShape = z.array(stepShape).min(1).max(STEPS_MAX);

/** Callers may send ids of users as numbers, because other responses have them as numbers. */
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
  name: wellFormedText().max(255),
  steps: stepsShape,
  repeats: numbers.repeats.default(POLICY_DEFAULTS.repeats),
  reminder_hours: numbers.reminder_hours.default(POLICY_DEFAULTS.reminder_hours),
  ack_timeout_minutes: numbers.ack_timeout_minutes.default(POLICY_DEFAULTS.ack_timeout_minutes),
});
const policyChanges = z.object({ name: wellFormedText().max(255), steps: stepsShape, ...numbers }).partial();

const tag = 'On call' as const;
const role = 'Maintainer' as const;
const reader = 'Reporter' as const;
const all = '/projects/:id/escalation_policies';
const one = `${all}/:policy_id`;
const params = z.object({ policy_id: z.string() });

type EscalationParts = Pick<AlertDomain, 'policies'>;

export function serveEscalation(api: Api, domain: EscalationParts): void {
  servePolicies(api, domain);
  servePolicy(api, domain);
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
      doc: 'A page notifies the targets of the first step, waits for its delay, and continues with the next step until somebody acknowledges the page. Targets are schedules and channels of the project, and its members with the Developer role or higher.',
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
      doc: 'A change takes effect at the next step of each open page.',
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
      doc: 'Fails with 409 while an alert route uses the policy.',
      role,
      params,
      status: 204,
    },
    async ({ membership, caller, params }) =>
      policies.delete(membership.project.id, params.policy_id, caller.user.id),
  );
}
