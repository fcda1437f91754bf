import { timingSafeEqual } from 'node:crypto';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import { Memo } from '../../../aggregate/alerts/formats/memo.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import { intakeDialect } from '../../http/dialects.ts';
import { type Dialect, HttpError, handleErrors, RETRY_SOON } from '../../http/errors.ts';
import { hashSecret } from '../../identity/accounts/secrets.ts';
import type { Heartbeat } from '../integrations/heartbeat.ts';
import { type CachedIntegration, NO_KEYS } from '../integrations/integration-cache.ts';
import type { AlertServices } from '../services.ts';

export type IntegrationEndpoint = 'http' | 'prometheus';

/** Where an integration takes alerts in; both addresses take both formats. */
export const ENDPOINT_PATHS: Readonly<Record<IntegrationEndpoint, string>> = {
  http: '/alerts/:endpoint/notify.json',
  prometheus: '/alerts/:endpoint/prometheus/alerts/notify.json',
};

export function addressOf(door: IntegrationEndpoint, endpoint: string): string {
  return ENDPOINT_PATHS[door].replace(':endpoint', endpoint);
}

interface IntakeRequest {
  Params: { endpoint: string };
}

const entries = new WeakMap<FastifyRequest, CachedIntegration>();

/**
 * The webhook receiver. A request passes one check after the other: method and content type, credentials, whether
 * the integration is active, load, size, JSON, shape. Senders give up on every 4xx and follow redirects into the
 * void, so load is shed with 503 only.
 */
export async function serveIntake(
  app: FastifyInstance,
  services: AlertServices,
  heartbeat: Heartbeat,
): Promise<void> {
  const { ALERT_BODY_BYTES_MAX: bodyLimit } = services.engine.config;
  await app.register(async (intake) => {
    intake.removeAllContentTypeParsers();
    intake.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    );
    handleErrors(intake, dialectOf(bodyLimit));
    for (const door of ['http', 'prometheus'] as const) {
      for (const url of [ENDPOINT_PATHS[door], ENDPOINT_PATHS[door].replace('.json', '')]) {
        intake.post<IntakeRequest>(url, {
          schema: url.endsWith('.json') ? OPEN_API[door] : { hide: true },
          onRequest: (request) => admit(services, request),
          handler: async (request, reply) => {
            const entry = entries.get(request) as CachedIntegration;
            const key = request.headers['idempotency-key'];
            const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
            const { created } = await receive(services, entry, door, body, key);
            heartbeat.heard(entry);
            return reply.type('application/json; charset=utf-8').send(JSON.stringify(created));
          },
        });
        intake.route({
          method: ['GET', 'PUT', 'PATCH', 'DELETE'],
          url,
          schema: { hide: true },
          handler: async () => {
            throw new HttpError('method_not_allowed', 'Send alerts with POST.', { allow: 'POST' });
          },
        });
      }
    }
  });
}

/** Takes one body in through an integration; what it did is durable when this returns. */
export async function receive(
  { alerts }: AlertServices,
  { integration, mapping, isPremium }: CachedIntegration,
  door: IntegrationEndpoint,
  body: Buffer,
  idempotencyKey: string | string[] | undefined,
): Promise<EventResult> {
  const head = {
    project: Number(integration.project_id),
    integration: integration.id,
    endpoint: door,
    mapping,
    groups_by_payload: isPremium,
    idempotency_key: String(idempotencyKey ?? '').trim(),
  };
  const read = alerts.parse(head, body);
  // Asked again, since many may have been admitted at the same time.
  if (alerts.isOverloaded) throw overloaded();
  return alerts.deliver(head, body, read);
}

async function admit(services: AlertServices, request: FastifyRequest<IntakeRequest>): Promise<void> {
  requireJson(request.headers['content-type']);
  const entry = await services.integrationCache.find(request.params.endpoint);
  const now = services.engine.runtime.clock.now();
  if (!isKeyOf(entry, keyOf(request.headers.authorization), now) || entry === undefined) {
    throw new HttpError('unauthorized', 'The integration is unknown or its key is wrong.', {
      'www-authenticate': 'Bearer realm="Alerts", Basic realm="Alerts"',
    });
  }
  if (!entry.integration.is_active) {
    throw new HttpError('forbidden', 'This integration is switched off; a Maintainer can activate it.');
  }
  if (services.alerts.isOverloaded) throw overloaded();
  entries.set(request, entry);
}

/** Senders write it in the same few ways. */
const contentTypes = new Memo<boolean>(100);

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((part) => /^\s*charset="?([\w-]+)"?\s*$/.exec(part)?.[1]).find(Boolean);
  return (
    /^application\/(?:json|[\w.-]+\+json)$/.test(type.trim()) &&
    (charset === undefined || /^utf-?8$/.test(charset))
  );
}

function requireJson(contentType = ''): void {
  if (!contentTypes.of(contentType, () => isJson(contentType))) {
    throw new HttpError(
      'unsupported_media_type',
      'Send JSON in UTF-8 with the header Content-Type: application/json.',
    );
  }
}

/** The key of either form: a bearer token, or the password of a user whose name does not matter. */
function keyOf(authorization: string | undefined): string {
  const [, scheme = '', credentials = ''] = /^\s*(\w+)\s+(\S+)\s*$/.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return credentials;
  if (scheme.toLowerCase() !== 'basic') return '';
  const [, key = ''] = /^[^:]*:([\s\S]*)$/.exec(Buffer.from(credentials, 'base64').toString('utf8')) ?? [];
  return key;
}

/** Takes as long for an integration that is not there as for a key that is wrong. */
function isKeyOf(entry: CachedIntegration | undefined, key: string, now: number): boolean {
  const { current, old } = entry?.keys ?? NO_KEYS;
  const given = Buffer.from(hashSecret(key));
  const isCurrent = timingSafeEqual(given, current);
  const isOld = timingSafeEqual(given, old);
  return isCurrent || (isOld && now < (entry?.integration.old_key_ends_ms ?? 0));
}

const overloaded = () =>
  new HttpError('overloaded', 'Too much waits to be written; send it again.', RETRY_SOON);

const dialectOf = (bodyLimit: number): Dialect => ({
  ...intakeDialect,
  translate: (error) => {
    if (error instanceof BodyError) {
      return new HttpError(error.status === 400 ? 'invalid_json' : 'invalid_payload', error.message);
    }
    if ((error as FastifyError).statusCode === 413) {
      return new HttpError('payload_too_large', `A body may have ${bodyLimit} bytes at most.`);
    }
    return intakeDialect.translate?.(error);
  },
});

const CREATED = {
  description: 'Taken in and durable. The alerts that this request created, and no others.',
  type: 'array',
  items: {
    type: 'object',
    properties: { iid: { type: 'integer' }, title: { type: 'string' } },
    required: ['iid', 'title'],
  },
};
const FAULT = (description: string) => ({
  description,
  type: 'object',
  properties: { error: { type: 'string' }, message: { type: 'string' } },
});

const described = (summary: string, description: string) => ({
  tags: ['Alert intake'],
  summary,
  description,
  security: [{ integrationKey: [] }, { integrationKeyBasic: [] }],
  params: {
    type: 'object',
    properties: { endpoint: { type: 'string', description: 'From the credentials of the integration' } },
    required: ['endpoint'],
  },
  headers: {
    type: 'object',
    properties: {
      'idempotency-key': {
        type: 'string',
        description: 'A name for this delivery: sent again with the same body it does not count again',
      },
    },
  },
  body: { type: 'object', additionalProperties: true },
  response: {
    200: CREATED,
    400: FAULT('Not JSON, or not UTF-8'),
    401: FAULT('The integration is unknown or its key is wrong'),
    403: FAULT('The integration is switched off'),
    413: FAULT('Larger than ALERT_BODY_BYTES_MAX'),
    415: FAULT('Not application/json'),
    422: FAULT('No alert can be taken from it'),
    503: FAULT('Not taken in; send it again after Retry-After seconds'),
  },
});

const OPEN_API: Readonly<Record<IntegrationEndpoint, object>> = {
  http: described(
    'Send a generic alert',
    'Every field is optional: title, description, start_time, end_time (its presence resolves the alert), service, monitoring_tool, hosts, severity, fingerprint, platform_environment_name; anything else is kept. Default limits: 1 MiB, 100 levels, title 200 and description 1,000 characters, which are cut.',
  ),
  prometheus: described(
    'Send alerts in the Prometheus format',
    'The webhook body of Alertmanager (version 4) or Grafana (version 1). Each item is an alert; its own status decides. An item without title or startsAt is refused alone.',
  ),
};
