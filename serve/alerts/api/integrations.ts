import { z } from 'zod';
import { OUTCOMES } from '../../../aggregate/alerts/model/alert.ts';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { AlertDomain } from '../composition/domain.ts';
import { HEARTBEAT_HELP } from '../integrations/heartbeat-settings.ts';
import type { IntegrationChanges, IntegrationWithKey } from '../integrations/integrations.ts';
import { PRESET_NAMES, presetOf } from '../integrations/presets/presets.ts';
import { rulesSchema } from '../integrations/rules-schema.ts';
import { type PayloadSizes, requireSize, sampleFields } from '../integrations/samples.ts';
import { API_TYPE_NAMES, OFFERED_TYPES } from '../integrations/types.ts';
import type { Integration } from '../model/tables.ts';
import {
  integrationJson,
  integrationShape,
  keyedIntegrationShape,
  mappingOf,
  mappingSchema,
  timeText,
  wellFormedText,
} from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const fields = {
  name: wellFormedText().max(255).optional().describe('required for every HTTP endpoint after the first'),
  active: z.boolean().optional(),
  payload_example: wellFormedText().optional().describe('JSON text; changing it removes the mapping'),
  payload_attribute_mappings: mappingSchema.optional(),
  rules: rulesSchema.nullable().optional(),
  api_url: wellFormedText().max(2000).optional().describe('URL of the Prometheus server or the on-call tool'),
  topics: z
    .array(wellFormedText().max(400))
    .optional()
    .describe('ARNs of the accepted Amazon SNS topics; empty: the first topic that sends a message'),
  heartbeat_minutes: z.int().min(0).max(10_080).optional().describe(`${HEARTBEAT_HELP} 0: never`),
  heartbeat_matchers: wellFormedText()
    .max(2000)
    .optional()
    .describe(
      'a firing alert that matches is a Watchdog: it counts as a beat and creates no alert. Empty: no alert is a Watchdog',
    ),
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

type IntegrationParts = Pick<AlertDomain, 'integrations' | 'receivedDeliveries' | 'testAlerts'>;

interface IntegrationApiOptions {
  readonly clock: Clock;
  readonly payloadSizes: PayloadSizes;
  readonly url: () => string;
}

export function serveIntegrations(api: Api, domain: IntegrationParts, options: IntegrationApiOptions): void {
  const { integrations } = domain;
  const { clock, payloadSizes, url } = options;
  const tag = 'Alert integrations' as const;
  const role = 'Maintainer' as const;
  const json = (integration: Integration) => integrationJson(integration, url(), clock.now());
  const withKey = ({ integration, key }: IntegrationWithKey) => ({
    ...json(integration),
    authorization_key: key,
  });
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/integrations',
      tag,
      summary: 'List integrations of a project',
      role,
      isWholeList: true,
      answer: z.array(integrationShape),
    },
    async ({ membership }) => (await integrations.listWithSamples(membership.project.id)).map(json),
  );
  serveCreation(api, integrations, withKey);
  api.add(
    { method: 'GET', path: one, tag, summary: 'Get an integration', role, params, answer: integrationShape },
    async ({ membership, params }) => json(await integrations.get(membership.project, params.integration_id)),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      params,
      tag,
      summary: 'Update an integration',
      role,
      body: changesSchema,
      answer: integrationShape,
    },
    async ({ membership, params, body }) => {
      const { integration_id } = params;
      const changed = await integrations.change(membership.project, integration_id, changesOf(body));
      return json(changed);
    },
  );
  api.add(
    { method: 'DELETE', path: one, tag, summary: 'Delete an integration', role, params, status: 204 },
    async ({ membership, params }) => integrations.delete(membership.project, params.integration_id),
  );
  serveDeliveries(api, domain);
  serveKeys(api, integrations, withKey, json);
  serveSamples(api, domain, payloadSizes);
}

function serveCreation(
  api: Api,
  integrations: AlertDomain['integrations'],
  withKey: (of: IntegrationWithKey) => object,
): void {
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/integrations',
      tag: 'Alert integrations',
      summary: 'Create an integration',
      doc: 'The key is returned only in this response.',
      role: 'Maintainer',
      body: changesSchema.extend({
        type: z.enum(API_TYPE_NAMES),
        preset: z
          .enum(PRESET_NAMES)
          .optional()
          .describe('preset of a tool; adds its rules and a sample payload'),
      }),
      answer: keyedIntegrationShape,
      status: 201,
    },
    async ({ membership, body: { type: apiName, preset = '', ...body } }) => {
      const type = OFFERED_TYPES.find((offered) => offered.apiName === apiName);
      if (type === undefined) throw new Error(`no integration type ${apiName}`);
      const { project } = membership;
      return withKey(await integrations.create(project, type, changesOf(body), presetOf({ preset })));
    },
  );
}

function serveDeliveries(api: Api, { integrations, receivedDeliveries }: IntegrationParts): void {
  api.add(
    {
      method: 'GET',
      path: `${one}/deliveries`,
      params,
      tag: 'Alert integrations',
      summary: 'List recent deliveries of an integration',
      doc: 'Newest first, with the outcomes of their alerts. `unmatched` counts resolving events without an open alert of the same fingerprint.',
      role: 'Maintainer',
      query: z.object({ limit: wholeNumber(1, 500).default(50) }),
      answer: z.array(
        z.object({
          id: z.string(),
          at: z.iso.datetime(),
          outcomes: z.partialRecord(z.enum(OUTCOMES), z.int()).describe('number of alerts by outcome'),
          alert_iids: z
            .array(z.int())
            .describe('numbers of the alerts that it created or changed, at most 20'),
          truncated_alerts: z
            .int()
            .describe(
              'number of alerts that the sender left out; Alertmanager omits those beyond max_alerts',
            ),
        }),
      ),
    },
    async ({ membership, params, query, store }) => {
      const integration = await integrations.get(membership.project, params.integration_id);
      const found = await receivedDeliveries.withStore(store).latest(integration, query.limit);
      return found.map(({ id, at, counts, iids, truncated }) => ({
        id,
        at: timeText(at),
        outcomes: Object.fromEntries(counts),
        alert_iids: iids,
        truncated_alerts: truncated,
      }));
    },
  );
}

function serveKeys(
  api: Api,
  integrations: AlertDomain['integrations'],
  withKey: (of: IntegrationWithKey) => object,
  json: (of: Integration) => object,
): void {
  const tag = 'Alert integrations' as const;
  const role = 'Maintainer' as const;
  api.add(
    {
      method: 'POST',
      path: `${one}/reset_key`,
      params,
      tag,
      summary: 'Create a new key and revoke all others',
      role,
      body: z.object({
        key: wellFormedText()
          .optional()
          .describe('client secret that Sentry signs requests with; only for the Sentry preset'),
      }),
      isBodyOptional: true,
      answer: keyedIntegrationShape,
    },
    async ({ membership, params, body }) =>
      withKey(await integrations.resetKey(membership.project, params.integration_id, body.key)),
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/rotate_key`,
      params,
      tag,
      summary: 'Create a new key and keep the previous one for some hours',
      role,
      body: z.object({ hours: z.number().default(24) }),
      isBodyOptional: true,
      answer: keyedIntegrationShape,
    },
    async ({ membership, params, body }) =>
      withKey(await integrations.rotateKey(membership.project, params.integration_id, body.hours)),
  );
  api.add(
    {
      method: 'DELETE',
      path: `${one}/old_key`,
      params,
      tag,
      summary: 'Revoke the previous key',
      role,
      answer: integrationShape,
    },
    async ({ membership, params }) =>
      json(await integrations.revokeOldKey(membership.project, params.integration_id)),
  );
}

function serveSamples(api: Api, { testAlerts }: IntegrationParts, payloadSizes: PayloadSizes): void {
  const tag = 'Alert integrations' as const;
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/integrations/payload_fields',
      tag,
      summary: 'List the fields of a sample payload that can be mapped',
      role: 'Maintainer',
      body: z.object({ payload_example: wellFormedText() }),
      answer: z.array(
        z.object({
          path: z.array(z.union([z.string(), z.int()])),
          label: z.string(),
          type: z.enum(['string', 'datetime', 'array', 'number']),
        }),
      ),
    },
    async ({ body: { payload_example } }) => {
      requireSize(payload_example, payloadSizes);
      return sampleFields(payload_example, payloadSizes);
    },
  );
  api.add(
    {
      method: 'POST',
      path: `${one}/test_alert`,
      params,
      tag,
      summary: 'Send a test alert',
      doc: 'Processes the payload like a request of the sender, so it creates a real alert.',
      role: 'Developer',
      body: z.object({ payload: z.string().describe('JSON text') }),
      answer: z.array(z.object({ iid: z.int(), title: z.string() })),
    },
    async ({ membership, params, body }) => {
      const { created } = await testAlerts.send(membership.project, params.integration_id, body.payload);
      return created;
    },
  );
}
