import { z } from 'zod';
import {
  changeIntegration,
  createIntegration,
  deleteIntegration,
  endOldKey,
  type IntegrationChanges,
  integrationOf,
  integrationsOf,
  resetKey,
  rotateKey,
  sampleFields,
  type WithKey,
} from '../integrations/integrations.ts';
import { sendTest } from '../integrations/test-alert.ts';
import type { AlertServices } from '../services.ts';
import type { Api } from './endpoint.ts';
import {
  integrationJson,
  integrationShape,
  keyedIntegrationShape,
  mappingOf,
  mappingSchema,
  TYPE_NAMES,
} from './shapes.ts';

const fields = {
  name: z.string().max(255).optional().describe('required for every HTTP endpoint after the first'),
  active: z.boolean().optional(),
  payload_example: z.string().optional().describe('a JSON text; another one asks for the mapping again'),
  payload_attribute_mappings: mappingSchema.optional(),
  api_url: z.string().max(2000).optional().describe('of the metrics server or the on-call tool'),
  heartbeat_minutes: z
    .int()
    .min(0)
    .max(10_080)
    .optional()
    .describe('silence after which the source is reported as lost; 0 = never'),
};
const changesSchema = z.object(fields);
const params = z.object({ integration_id: z.string() });
const one = '/projects/:id/integrations/:integration_id';

function changesOf(body: z.output<typeof changesSchema>): IntegrationChanges {
  const { active, payload_example, payload_attribute_mappings, ...rest } = body;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return {
    ...given,
    ...(active === undefined ? {} : { is_active: active }),
    ...(payload_example === undefined ? {} : { sample: payload_example }),
    ...(payload_attribute_mappings === undefined ? {} : { mapping: mappingOf(payload_attribute_mappings) }),
  };
}

export function serveIntegrations(api: Api, services: AlertServices, url: () => string): void {
  const tag = 'Alert integrations' as const;
  const role = 'Maintainer' as const;
  const now = () => services.engine.runtime.clock.now();
  const keyed = ({ integration, key }: WithKey) => ({
    ...integrationJson(integration, url(), now()),
    authorization_key: key,
  });
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/integrations',
      tag,
      summary: 'Where alerts come from',
      role,
      answer: z.array(integrationShape),
    },
    async ({ membership }) =>
      (await integrationsOf(services, membership.project.id)).map((of) => integrationJson(of, url(), now())),
  );
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/integrations',
      tag,
      summary: 'Make an integration',
      doc: 'The answer is the only place that shows its key.',
      role,
      body: changesSchema.extend({ type: z.enum(['HTTP', 'PROMETHEUS', 'ONCALL']) }),
      answer: keyedIntegrationShape,
      status: 201,
    },
    async ({ membership, body: { type: named, ...body } }) => {
      const [type] = Object.entries(TYPE_NAMES).find(([, name]) => name === named) ?? ['http'];
      return keyed(
        await createIntegration(
          services,
          membership.project,
          type as keyof typeof TYPE_NAMES,
          changesOf(body),
        ),
      );
    },
  );
  api.add(
    { method: 'GET', path: one, tag, summary: 'One integration', role, params, answer: integrationShape },
    async ({ membership, params }) =>
      integrationJson(await integrationOf(services, membership.project, params.integration_id), url(), now()),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      params,
      tag,
      summary: 'Change an integration',
      role,
      body: changesSchema,
      answer: integrationShape,
    },
    async ({ membership, params, body }) => {
      const { integration_id } = params;
      const changed = await changeIntegration(services, membership.project, integration_id, changesOf(body));
      return integrationJson(changed, url(), now());
    },
  );
  api.add(
    { method: 'DELETE', path: one, tag, summary: 'Delete an integration', role, params, status: 204 },
    async ({ membership, params }) => deleteIntegration(services, membership.project, params.integration_id),
  );
  serveKeys(api, services, keyed, (of) => integrationJson(of, url(), now()));
  serveSamples(api, services);
}

function serveKeys(
  api: Api,
  services: AlertServices,
  keyed: (of: WithKey) => object,
  shown: (of: WithKey['integration']) => object,
): void {
  const tag = 'Alert integrations' as const;
  const role = 'Maintainer' as const;
  api.add(
    {
      method: 'POST',
      path: `${one}/reset_key`,
      params,
      tag,
      summary: 'Make a new key; every key before is dead at once',
      role,
      answer: keyedIntegrationShape,
    },
    async ({ membership, params }) =>
      keyed(await resetKey(services, membership.project, params.integration_id)),
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/rotate_key`,
      params,
      tag,
      summary: 'Make a new key, and honour the one before for some hours',
      role,
      body: z.object({ hours: z.number().default(24) }),
      answer: keyedIntegrationShape,
    },
    async ({ membership, params, body }) =>
      keyed(await rotateKey(services, membership.project, params.integration_id, body.hours)),
  );
  api.add(
    {
      method: 'DELETE',
      path: `${one}/old_key`,
      params,
      tag,
      summary: 'End the key before at once',
      role,
      answer: integrationShape,
    },
    async ({ membership, params }) =>
      shown(await endOldKey(services, membership.project, params.integration_id)),
  );
}

function serveSamples(api: Api, services: AlertServices): void {
  const tag = 'Alert integrations' as const;
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/integrations/payload_fields',
      tag,
      summary: 'What of a sample payload can be mapped',
      role: 'Maintainer',
      body: z.object({ payload_example: z.string() }),
      answer: z.array(
        z.object({
          path: z.array(z.union([z.string(), z.int()])),
          label: z.string(),
          type: z.enum(['string', 'datetime', 'array', 'number']),
        }),
      ),
    },
    async ({ body }) => sampleFields(services, body.payload_example),
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/test_alert`,
      params,
      tag,
      summary: 'Send a test alert',
      doc: 'The payload goes the way of every alert and makes a real one.',
      role: 'Developer',
      body: z.object({ payload: z.string().describe('a JSON text') }),
      answer: z.array(z.object({ iid: z.int(), title: z.string() })),
    },
    async ({ membership, params, body }) => {
      const { created } = await sendTest(services, membership.project, params.integration_id, body.payload);
      return created;
    },
  );
}
