import { z } from 'zod';
import { wholeNumber } from '../../../aggregate/metrics/shared/filters.ts';
import type { AlertDomain } from '../composition/domain.ts';
import type { Progress } from '../events/consumer-progress.ts';
import type { Webhook } from '../model/tables.ts';
import type { DeliveryAttempt } from '../notifications/webhook-sender.ts';
import { WEBHOOK_EVENTS } from '../notifications/webhooks.ts';
import { timeText, wellFormedText } from '../projects/shapes.ts';
import type { Api } from './endpoint.ts';

const shape = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENTS)),
  active: z.boolean(),
  created_at: z.iso.datetime(),
  last_told_at: z.iso.datetime().nullable(),
  last_status: z.int().nullable(),
  last_fault: z.string().nullable(),
  next_attempt_at: z.iso
    .datetime()
    .nullable()
    .describe('time of the next retry; null while the webhook accepts requests'),
});

const fields = {
  name: wellFormedText().max(255).optional(),
  url: wellFormedText().max(2000).optional(),
  events: z.array(z.enum(WEBHOOK_EVENTS)).optional(),
  active: z.boolean().optional(),
};

const changesOf = ({ active, ...rest }: { active?: boolean | undefined }) => ({
  ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
  ...(active === undefined ? {} : { is_active: active }),
});

const tag = 'Alert integrations' as const;
const role = 'Maintainer' as const;
const one = '/projects/:id/hooks/:hook_id';
const params = z.object({ hook_id: z.string() });

type WebhookParts = Pick<AlertDomain, 'webhooks' | 'progress' | 'webhookSender'>;

export function serveWebhooks(api: Api, domain: WebhookParts): void {
  const { webhooks, progress } = domain;
  const json = async (webhook: Webhook) =>
    webhookJson(webhook, await progress.get(Number(webhook.project_id), webhook.id));
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/hooks',
      tag,
      summary: 'List webhooks of a project',
      role,
      isWholeList: true,
      answer: z.array(shape),
    },
    async ({ membership }) => Promise.all((await webhooks.list(membership.project.id)).map(json)),
  );
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/hooks',
      tag,
      summary: 'Create a webhook',
      doc: 'Requests to the webhook have the header `X-Chain-Metrics-Signature: t=SECONDS,v1=HEX`. HEX is the HMAC-SHA256 of the seconds, a dot and the body, with the secret as its key. The secret is returned only in this response.',
      role,
      body: z.object({ ...fields, url: wellFormedText().max(2000) }),
      answer: shape.extend({ secret: z.string() }),
      status: 201,
    },
    async ({ membership, body }) => {
      const { webhook, secret } = await webhooks.create(membership.project, changesOf(body));
      return { ...(await json(webhook)), secret };
    },
  );
  api.add(
    { method: 'GET', path: one, tag, summary: 'Get a webhook', role, params, answer: shape },
    async ({ membership, params }) => json(await webhooks.get(membership.project, params.hook_id)),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Update a webhook',
      role,
      params,
      body: z.object(fields),
      answer: shape,
    },
    async ({ membership, params, body }) =>
      json(await webhooks.change(membership.project, params.hook_id, changesOf(body))),
  );
  api.add(
    { method: 'DELETE', path: one, tag, summary: 'Delete a webhook', role, params, status: 204 },
    async ({ membership, params }) => webhooks.delete(membership.project, params.hook_id),
  );
  serveDeliveries(api, domain);
}

const attemptShape = {
  status: z.int().nullable().describe('HTTP status of the response; null: no response'),
  fault: z.string().nullable().describe('reason of the failure; null: the request succeeded'),
  milliseconds: z.int(),
};

function serveDeliveries(api: Api, { webhooks, webhookSender }: WebhookParts): void {
  api.add(
    {
      method: 'POST',
      path: `${one}/test`,
      tag,
      summary: 'Send a test request to a webhook',
      doc: 'Sends an example alert with the event `test`, and returns the result.',
      role,
      params,
      answer: z.object(attemptShape),
    },
    async ({ membership, params }) => {
      const webhook = await webhooks.get(membership.project, params.hook_id);
      const { status, fault, milliseconds } = await webhookSender.sendTest(webhook);
      return { status: status || null, fault: fault || null, milliseconds };
    },
  );
  api.add(
    {
      method: 'GET',
      path: `${one}/deliveries`,
      tag,
      summary: 'List recent deliveries of a webhook',
      doc: 'Returns all attempts of the last 7 days, newest first. The last entry of an event that is not sent again has `given_up` and the reason.',
      role,
      params,
      query: z.object({ limit: wholeNumber(1, 500).default(50) }),
      answer: z.array(
        z.object({
          id: z.string().describe('id of the event; the same for all attempts to send it'),
          at: z.iso.datetime(),
          event: z.enum([...WEBHOOK_EVENTS, 'test']),
          alert_iid: z.int().nullable(),
          ...attemptShape,
          given_up: z.boolean().describe('true: the event is not sent again'),
        }),
      ),
    },
    async ({ membership, params, query }) => {
      const { id } = await webhooks.get(membership.project, params.hook_id);
      return (await webhookSender.attempts(id, query.limit)).map(deliveryJson);
    },
  );
}

const deliveryJson = ({
  delivery,
  at,
  event,
  iid,
  status,
  fault,
  milliseconds,
  given_up,
}: DeliveryAttempt) => ({
  id: delivery,
  at: timeText(at),
  event,
  alert_iid: iid || null,
  status: status || null,
  fault: fault || null,
  milliseconds,
  given_up,
});

const webhookJson = (webhook: Webhook, progress: Progress | undefined) => ({
  id: webhook.id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  active: webhook.is_active,
  created_at: timeText(webhook.created_ms),
  last_told_at: progress && progress.status > 0 ? timeText(progress.at) : null,
  last_status: progress?.status || null,
  last_fault: progress?.fault || null,
  next_attempt_at: progress ? timeText(progress.retry_ms) : null,
});
