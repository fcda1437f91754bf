import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import { sha256 } from '../../../aggregate/alerts/formats/values.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import type { Clock } from '../../../infra/ports.ts';
import { intakeDialect } from '../../http/dialects.ts';
import { type Dialect, HttpError, handleErrors, RETRY_SOON } from '../../http/errors.ts';
import { disableValidation } from '../../http/route.ts';
import { type Beat, type BeatRecorder, beatsIn } from '../integrations/beat-recorder.ts';
import { deliveryOf } from '../integrations/delivery.ts';
import { httpIntegration } from '../integrations/http.ts';
import type { CachedIntegration, IntegrationCache } from '../integrations/integration-cache.ts';
import type { IntakeEndpoint } from '../integrations/integration-type.ts';
import { prometheusIntegration } from '../integrations/prometheus.ts';
import { snsIntegration } from '../integrations/sns.ts';
import { cloudEventsIn } from './cloud-events.ts';
import { isKeyOf, keyOf } from './credentials.ts';
import { describeHeartbeat, describeIntake, HEARTBEAT_PATH } from './openapi.ts';
import { type Refusal, type Refusals, refusalWithoutKey } from './refusals.ts';
import { type BodySignatures, isSigned } from './signed-body.ts';
import type { SnsIntake } from './sns.ts';
import type { UnauthenticatedBodies } from './unauthenticated-bodies.ts';

export interface IntakeDependencies {
  readonly pipeline: AlertPipeline;
  readonly cache: IntegrationCache;
  readonly beats: BeatRecorder;
  readonly refusals: Refusals;
  readonly signatures: BodySignatures;
  readonly sns: SnsIntake;
  readonly unauthenticated: UnauthenticatedBodies;
  readonly clock: Clock;
  readonly bodyBytesMax: number;
}

interface IntakeRequest {
  Params: { endpoint: string };
}

/** The integration in the path of a request; `hasKey`: the request has a valid key of it. */
interface Identified {
  readonly entry: CachedIntegration | undefined;
  readonly hasKey: boolean;
}

const entries = new WeakMap<FastifyRequest, CachedIntegration>();
const refused = new WeakMap<FastifyRequest, Refusal>();

/**
 * The webhook receiver. A request passes these checks in order: method and content type, credentials, whether the
 * integration is active, load, size, JSON, format. A signature is checked after the size, because it needs the body.
 * Senders do not retry after a 4xx response and do not follow redirects, so load is shed with 503 only.
 */
export async function serveIntake(app: FastifyInstance, dependencies: IntakeDependencies): Promise<void> {
  const { pipeline, beats, bodyBytesMax: bodyLimit } = dependencies;
  await app.register(async (intake) => {
    intake.removeAllContentTypeParsers();
    intake.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    );
    handleErrors(intake, dialectOf(bodyLimit));
    disableValidation(intake);
    recordRefusals(intake, dependencies);
    for (const { endpoint } of [httpIntegration, prometheusIntegration]) {
      for (const url of [endpoint.path, endpoint.path.replace('.json', '')]) {
        intake.post<IntakeRequest>(url, {
          schema: url.endsWith('.json') ? describeIntake(endpoint) : { hide: true },
          onRequest: async (request, reply) => {
            if (!isSigned(request.headers)) return admit(dependencies, request);
            requireType(request.headers, undefined);
            dependencies.unauthenticated.admit(request, reply, bodyLimit);
          },
          preHandler: async (request) => {
            if (isSigned(request.headers)) await admit(dependencies, request);
          },
          handler: async (request, reply) => {
            const entry = entries.get(request) as CachedIntegration;
            const key = request.headers['idempotency-key'];
            const body = bodyOf(request);
            const arrived = await arrival(dependencies, request, entry, { endpoint, body, key });
            const received = arrived ? await receive(pipeline, entry, arrived) : NOTHING;
            const { created, watchdogs } = received;
            beats.record(entry, watchdogs);
            return reply.type('application/json; charset=utf-8').send(JSON.stringify(created));
          },
        });
      }
    }
    serveHeartbeat(intake, dependencies);
  });
}

export const bodyOf = ({ body }: FastifyRequest): Buffer => (Buffer.isBuffer(body) ? body : Buffer.alloc(0));

/** There is no GET route, because opening the URL in a browser must not count as a beat. */
function serveHeartbeat(intake: FastifyInstance, dependencies: IntakeDependencies): void {
  intake.post<IntakeRequest>(HEARTBEAT_PATH, {
    schema: describeHeartbeat(),
    onRequest: async (request) => {
      requireActive(request, await identify(dependencies, request));
    },
    handler: async (request, reply) => {
      if (bodyOf(request).length > 0)
        throw new HttpError('invalid_payload', 'A heartbeat has no body. Send alerts to notify.json.');
      const entry = entries.get(request) as CachedIntegration;
      if (entry.integration.heartbeat_minutes === 0)
        throw new HttpError('conflict', 'The integration has no heartbeat. Set its heartbeat_minutes first.');
      await dependencies.beats.recordPosted(entry);
      return reply.type('application/json; charset=utf-8').send('[]');
    },
  });
}

/** The result of a body, and the Watchdogs in the body. */
interface IntakeResult extends EventResult {
  readonly watchdogs: readonly Beat[];
}

/** The result of a request without alerts. */
const NOTHING: Pick<IntakeResult, 'created' | 'watchdogs'> = { created: [], watchdogs: [] };

/** A body to store, with its parser and the idempotency key of its sender. */
interface Arrival {
  readonly endpoint: Pick<IntakeEndpoint, 'parser'>;
  readonly body: Buffer;
  readonly key?: string | string[] | undefined;
}

/** Converts a received body to the form that is stored. Null for a body without alerts: an SNS subscription message. */
async function arrival(
  { pipeline, sns }: IntakeDependencies,
  { headers }: FastifyRequest,
  { integration }: CachedIntegration,
  given: Arrival,
): Promise<Arrival | null> {
  if (integration.type === snsIntegration.name) {
    const notified = await sns.read(integration, pipeline.payloadIn(given.body));
    return notified && { endpoint: given.endpoint, body: notified.body, key: notified.id };
  }
  const events = cloudEventsIn(headers, given.body, (data) => pipeline.payloadIn(data));
  return events === null ? given : { endpoint: { parser: 'cloudevents' }, body: events };
}

/** Receives one body through an integration. Its result is durable when this returns. */
export async function receive(
  pipeline: AlertPipeline,
  { integration, mapping, senderRules, isPremium }: CachedIntegration,
  { endpoint, body, key }: Arrival,
): Promise<IntakeResult> {
  const head = deliveryOf(integration, endpoint, {
    mapping,
    sender_rules: senderRules,
    groups_by_payload: isPremium,
    idempotency_key: shortKey(String(key ?? '').trim()),
  });
  const parsed = pipeline.parse(head, body);
  // Check again: many requests may have passed the first check at the same time.
  if (pipeline.isOverloaded(head.project)) throw overloaded();
  return { ...(await pipeline.deliver(head, body, parsed)), watchdogs: beatsIn(parsed) };
}

const KEY_CHARACTERS_MAX = 255;

/** Replaces a longer idempotency key by its hash. */
const shortKey = (key: string): string => (key.length > KEY_CHARACTERS_MAX ? sha256(key) : key);

/**
 * Counts a refused request after its response is sent. Otherwise the response time would reveal to a sender without the
 * key whether the integration exists.
 */
function recordRefusals(intake: FastifyInstance, dependencies: IntakeDependencies): void {
  intake.addHook('onSend', async (request, { statusCode: status }, payload) => {
    if (status < 400 || status > 499 || typeof payload !== 'string') return;
    const { error: code, message } = JSON.parse(payload) as { error: string; message: string };
    refused.set(request, { status, code, message });
  });
  intake.addHook('onResponse', async (request) => {
    const refusal = refused.get(request);
    if (refusal === undefined) return;
    const { entry, hasKey } = await identify(dependencies, request as FastifyRequest<IntakeRequest>);
    if (entry) dependencies.refusals.add(entry.integration.id, hasKey ? refusal : refusalWithoutKey(refusal));
  });
}

async function identify(
  { cache, clock, signatures }: Pick<IntakeDependencies, 'cache' | 'clock' | 'signatures'>,
  request: FastifyRequest<IntakeRequest>,
): Promise<Identified> {
  const { params, headers } = request;
  const entry = await cache.find(params.endpoint);
  const hasKey = isSigned(headers)
    ? signatures.isOf(entry, headers, bodyOf(request), clock.now())
    : isKeyOf(entry, keyOf(headers.authorization), clock.now());
  return { entry, hasKey };
}

async function admit(
  dependencies: IntakeDependencies,
  request: FastifyRequest<IntakeRequest>,
): Promise<void> {
  const identified = await identify(dependencies, request);
  const { entry, hasKey } = identified;
  requireType(request.headers, hasKey ? entry : undefined);
  const { integration } = requireActive(request, identified);
  if (dependencies.pipeline.isOverloaded(Number(integration.project_id))) throw overloaded();
}

/** The integration of a request. Throws if the key is wrong or the integration is inactive. */
function requireActive(request: FastifyRequest, { entry, hasKey }: Identified): CachedIntegration {
  if (!hasKey || entry === undefined) {
    throw new HttpError('unauthorized', 'The integration does not exist or the key is wrong.', {
      // Amazon SNS reads only the first challenge, and needs Basic.
      'www-authenticate': 'Basic realm="Alerts", Bearer realm="Alerts"',
    });
  }
  if (!entry.integration.is_active) {
    throw new HttpError('forbidden', 'The integration is inactive. A Maintainer can activate it.');
  }
  entries.set(request, entry);
  return entry;
}

function isJson(contentType: string): boolean {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  const charset = parameters.map((part) => /^\s*charset="?([\w-]+)"?\s*$/.exec(part)?.[1]).find(Boolean);
  return (
    /^application\/(?:json|[\w.-]+\+json)$/.test(type.trim()) &&
    (charset === undefined || /^utf-?8$/.test(charset))
  );
}

const JSON_REQUIRED = 'Send JSON in UTF-8 with the header Content-Type: application/json.';
const SNS_HINT = 'Amazon SNS sends text. Use an integration of the type SNS instead.';

/**
 * Requires JSON, or text from Amazon SNS. `sender` is the integration, if the request has its key. Amazon SNS sends the
 * key only after a 401, so a request without a key is recognized by the header of SNS.
 */
function requireType(headers: FastifyRequest['headers'], sender: CachedIntegration | undefined): void {
  const type = headers['content-type'] ?? '';
  if (isJson(type)) return;
  const isSns = headers['x-amz-sns-message-type'] !== undefined;
  const takesText = sender ? sender.integration.type === snsIntegration.name : isSns;
  if (takesText && /^text\/plain\b/i.test(type)) return;
  throw new HttpError('unsupported_media_type', isSns ? `${JSON_REQUIRED} ${SNS_HINT}` : JSON_REQUIRED);
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
