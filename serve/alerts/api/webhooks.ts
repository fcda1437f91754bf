import { z } from 'zod';
import { type OutboxProgress, outboxProgressOf } from '../notifications/webhook-outbox.ts';
import { type DeliveryAttempt, deliveriesOf, sendTestWebhook } from '../notifications/webhook-sender.ts';
import {
  changeHook,
  createHook,
  deleteHook,
  HOOK_EVENTS,
  hookOf,
  hooksOf,
} from '../notifications/webhooks.ts';
import type { Hook } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import type { Api } from './endpoint.ts';
import { timeText } from './shapes.ts';

const shape = z.object({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.enum(HOOK_EVENTS)),
  active: z.boolean(),
  created_at: z.iso.datetime(),
  last_told_at: z.iso.datetime().nullable(),
  last_status: z.int().nullable(),
  last_fault: z.string().nullable(),
});

const fields = {
  name: z.string().max(255).optional(),
  url: z.string().max(2000).optional(),
  events: z.array(z.enum(HOOK_EVENTS)).optional(),
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

/** Signed outgoing webhooks. */
export function serveHooks(api: Api, services: AlertServices, url: () => string): void {
  const shown = async (hook: Hook) => {
    const [progress] = await outboxProgressOf(services, Number(hook.project_id), hook.id);
    return hookJson(hook, progress);
  };
  api.add(
    {
      method: 'GET',
      path: '/projects/:id/hooks',
      tag,
      summary: 'Outgoing webhooks',
      role,
      answer: z.array(shape),
    },
    async ({ membership }) => Promise.all((await hooksOf(services, membership.project.id)).map(shown)),
  );
  api.add(
    {
      method: 'POST',
      path: '/projects/:id/hooks',
      tag,
      summary: 'Tell an address of alerts',
      doc: 'Requests carry X-Chain-Metrics-Signature: t=SECONDS,v1=HEX, the HMAC-SHA256 of the seconds, a dot and the body. The secret is shown only here.',
      role,
      body: z.object({ ...fields, url: z.string().max(2000) }),
      answer: shape.extend({ secret: z.string() }),
      status: 201,
    },
    async ({ membership, body }) => {
      const { hook, secret } = await createHook(services, membership.project, changesOf(body));
      return { ...(await shown(hook)), secret };
    },
  );
  api.add(
    { method: 'GET', path: one, tag, summary: 'One outgoing webhook', role, params, answer: shape },
    async ({ membership, params }) => shown(await hookOf(services, membership.project, params.hook_id)),
  );
  api.add(
    {
      method: 'PUT',
      path: one,
      tag,
      summary: 'Change an outgoing webhook',
      role,
      params,
      body: z.object(fields),
      answer: shape,
    },
    async ({ membership, params, body }) =>
      shown(await changeHook(services, membership.project, params.hook_id, changesOf(body))),
  );
  api.add(
    { method: 'DELETE', path: one, tag, summary: 'Delete an outgoing webhook', role, params, status: 204 },
    async ({ membership, params }) => deleteHook(services, membership.project, params.hook_id),
  );
  serveDeliveries(api, services, url);
}

const toldShape = {
  status: z.int().nullable().describe('of the answer; null when there was none'),
  fault: z.string().nullable().describe('null when it was taken'),
  milliseconds: z.int(),
};

function serveDeliveries(api: Api, services: AlertServices, url: () => string): void {
  api.add(
    {
      method: 'POST',
      path: `${one}/test`,
      tag,
      summary: 'Tell a webhook of an alert that does not exist',
      doc: 'The event is `test`, the alert an example. The answer tells how it went.',
      role,
      params,
      answer: z.object(toldShape),
    },
    async ({ membership, params }) => {
      const { status, fault, milliseconds } = await sendTestWebhook(
        services,
        url(),
        membership.project,
        params.hook_id,
      );
      return { status: status || null, fault: fault || null, milliseconds };
    },
  );
  api.add(
    {
      method: 'GET',
      path: `${one}/deliveries`,
      tag,
      summary: 'What a webhook was told lately',
      doc: 'Every attempt of the last week, newest first.',
      role,
      params,
      query: z.object({ limit: z.coerce.number().int().min(1).max(500).default(50) }),
      answer: z.array(
        z.object({
          id: z.string().describe('equal for attempts to tell the same'),
          at: z.iso.datetime(),
          event: z.enum([...HOOK_EVENTS, 'test']),
          alert_iid: z.int().nullable(),
          ...toldShape,
        }),
      ),
    },
    async ({ membership, params, query }) => {
      const hook = await hookOf(services, membership.project, params.hook_id);
      return (await deliveriesOf(services, hook.id, query.limit)).map(deliveryJson);
    },
  );
}

const deliveryJson = ({ delivery, at, event, iid, status, fault, milliseconds }: DeliveryAttempt) => ({
  id: delivery,
  at: timeText(at),
  event,
  alert_iid: iid || null,
  status: status || null,
  fault: fault || null,
  milliseconds,
});

const hookJson = (hook: Hook, progress: OutboxProgress | undefined) => ({
  id: hook.id,
  name: hook.name,
  url: hook.url,
  events: hook.events,
  active: hook.is_active,
  created_at: timeText(hook.created_ms),
  last_told_at: progress && progress.status > 0 ? timeText(progress.at) : null,
  last_status: progress?.status || null,
  last_fault: progress?.fault || null,
});
