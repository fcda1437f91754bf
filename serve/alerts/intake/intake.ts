import { timingSafeEqual } from 'node:crypto';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import { sha256 } from '../../../aggregate/alerts/formats/values.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import type { Clock } from '../../../infra/ports.ts';
import { intakeDialect } from '../../http/dialects.ts';
import { type Dialect, HttpError, handleErrors, RETRY_SOON } from '../../http/errors.ts';
import { describeOnly } from '../../http/route.ts';
import { hashSecret } from '../../identity/accounts/secrets.ts';
import type { Heartbeats } from '../integrations/heartbeats.ts';
import { type CachedIntegration, type IntegrationCache, NO_KEYS } from '../integrations/integration-cache.ts';
import type { IntakeEndpoint } from '../integrations/integration-type.ts';
import { INTEGRATION_TYPES } from '../integrations/types.ts';
import { deliveryOf } from './delivery.ts';
import { describeIntake } from './openapi.ts';

interface IntakeDependencies {
  readonly pipeline: AlertPipeline;
  readonly cache: IntegrationCache;
  readonly heartbeats: Heartbeats;
  readonly clock: Clock;
  readonly bodyBytesMax: number;
}

interface IntakeRequest {
  Params: { endpoint: string };
}

const entries = new WeakMap<FastifyRequest, CachedIntegration>();

/**
 * The webhook receiver. A request passes these checks in order: method and content type, credentials, whether the
 * integration is active, load, size, JSON, format. Senders do not retry after a 4xx response and do not follow
 * redirects, so load is shed with 503 only.
 */
export async function serveIntake(app: FastifyInstance, dependencies: IntakeDependencies): Promise<void> {
  const { pipeline, heartbeats, bodyBytesMax: bodyLimit } = dependencies;
  await app.register(async (intake) => {
    intake.removeAllContentTypeParsers();
    intake.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    );
    handleErrors(intake, dialectOf(bodyLimit));
    describeOnly(intake);
    for (const { endpoint } of INTEGRATION_TYPES) {
      for (const url of [endpoint.path, endpoint.path.replace('.json', '')]) {
        intake.post<IntakeRequest>(url, {
          schema: url.endsWith('.json') ? describeIntake(endpoint) : { hide: true },
          onRequest: (request) => admit(dependencies, request),
          handler: async (request, reply) => {
            const entry = entries.get(request) as CachedIntegration;
            const key = request.headers['idempotency-key'];
            const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
            const { created } = await receive(pipeline, entry, endpoint, body, key);
            heartbeats.heard(entry);
            return reply.type('application/json; charset=utf-8').send(JSON.stringify(created));
          },
        });
      }
    }
  });
}

/** Receives one body through an integration. Its result is durable when this returns. */
export async function receive(
  pipeline: AlertPipeline,
  { integration, mapping, isPremium }: CachedIntegration,
  endpoint: IntakeEndpoint,
  body: Buffer,
  idempotencyKey: string | string[] | undefined,
): Promise<EventResult> {
  const head = deliveryOf(integration, endpoint, {
    mapping,
    groups_by_payload: isPremium,
    idempotency_key: shortKey(String(idempotencyKey ?? '').trim()),
  });
  const parsed = pipeline.parse(head, body);
  // Checked again, because many requests may have been admitted at the same time.
  if (pipeline.isOverloaded(head.project)) throw overloaded();
  return pipeline.deliver(head, body, parsed);
}

const KEY_CHARACTERS_MAX = 255;

/** A longer idempotency key is stored as its hash, which is as unique. */
const shortKey = (key: string): string => (key.length > KEY_CHARACTERS_MAX ? sha256(key) : key);

async function admit(
  { pipeline, cache, clock }: IntakeDependencies,
  request: FastifyRequest<IntakeRequest>,
): Promise<void> {
  requireJson(request.headers['content-type']);
  const entry = await cache.find(request.params.endpoint);
  if (!isKeyOf(entry, keyOf(request.headers.authorization), clock.now()) || entry === undefined) {
    throw new HttpError('unauthorized', 'The integration does not exist or the key is wrong.', {
      'www-authenticate': 'Bearer realm="Alerts", Basic realm="Alerts"',
    });
  }
  if (!entry.integration.is_active) {
    throw new HttpError('forbidden', 'The integration is inactive. A Maintainer can activate it.');
  }
  if (pipeline.isOverloaded(Number(entry.integration.project_id))) throw overloaded();
  entries.set(request, entry);
}

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((part) => /^\s*charset="?([\w-]+)"?\s*$/.exec(part)?.[1]).find(Boolean);
  return (
    /^application\/(?:json|[\w.-]+\+json)$/.test(type.trim()) &&
    (charset === undefined || /^utf-?8$/.test(charset))
  );
}

function requireJson(contentType = ''): void {
  if (!isJson(contentType)) {
    throw new HttpError(
      'unsupported_media_type',
      'Send JSON in UTF-8 with the header Content-Type: application/json.',
    );
  }
}

/** The key: a bearer token, or the password of HTTP Basic, whose username is ignored. */
function keyOf(authorization: string | undefined): string {
  const [, scheme = '', credentials = ''] = /^\s*(\w+)\s+(\S+)\s*$/.exec(authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return credentials;
  if (scheme.toLowerCase() !== 'basic') return '';
  const [, key = ''] = /^[^:]*:([\s\S]*)$/.exec(Buffer.from(credentials, 'base64').toString('utf8')) ?? [];
  return key;
}

/** Takes the same time for an unknown integration as for a wrong key. */
function isKeyOf(entry: CachedIntegration | undefined, key: string, now: number): boolean {
  const { current, old } = entry?.keys ?? NO_KEYS;
  const given = Buffer.from(hashSecret(key));
  const isCurrent = timingSafeEqual(given, current);
  const isOld = timingSafeEqual(given, old);
  return isCurrent || (isOld && now < (entry?.integration.old_key_ends_ms ?? 0));
}

const overloaded = () =>
  new HttpError('overloaded', 'Too many events wait to be written. Retry the request.', RETRY_SOON);

const tooLarge = (bytesMax: number): string =>
  `The body is larger than ${bytesMax} bytes (ALERT_BODY_BYTES_MAX). In Alertmanager set max_alerts of the webhook, or group_by: ['...'], which sends each alert alone.`;

const dialectOf = (bodyLimit: number): Dialect => ({
  ...intakeDialect,
  translate: (error) => {
    if (error instanceof BodyError) {
      return new HttpError(error.status === 400 ? 'invalid_json' : 'invalid_payload', error.message);
    }
    if ((error as FastifyError).statusCode === 413) {
      return new HttpError('payload_too_large', tooLarge(bodyLimit));
    }
    return intakeDialect.translate?.(error);
  },
});
