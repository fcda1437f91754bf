import { randomUUID } from 'node:crypto';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { BodyError } from '../../../aggregate/alerts/formats/delivery.ts';
import { storedEvent } from '../../../aggregate/alerts/formats/pagerduty.ts';
import { isObject } from '../../../aggregate/alerts/formats/values.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { intakeDialect } from '../../http/dialects.ts';
import { type Dialect, HttpError, handleErrors } from '../../http/errors.ts';
import { disableValidation } from '../../http/route.ts';
import type { CachedIntegration } from '../integrations/integration-cache.ts';
import { pagerdutyIntegration } from '../integrations/pagerduty.ts';
import { isKeyOf } from './credentials.ts';
import { bodyOf, type IntakeDependencies, receive } from './intake.ts';
import { describePagerduty } from './openapi.ts';

const EVENT_BYTES_MAX = 512 * 1024;

const senders = new WeakMap<FastifyRequest, CachedIntegration>();

/**
 * The Events API v2 of PagerDuty. The key is in the body, so the body is read before the sender is authenticated. As at
 * PagerDuty, an unknown key makes the event invalid.
 */
export async function servePagerduty(app: FastifyInstance, dependencies: IntakeDependencies): Promise<void> {
  const { pipeline, beats, bodyBytesMax } = dependencies;
  const bodyLimit = Math.min(EVENT_BYTES_MAX, bodyBytesMax);
  await app.register(async (intake) => {
    intake.removeAllContentTypeParsers();
    // Accepts any content type, because `curl -d` sends the content type of a form.
    intake.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
      done(null, body),
    );
    handleErrors(intake, dialectOf(dependencies, bodyLimit));
    disableValidation(intake);
    intake.post(pagerdutyIntegration.endpoint.path, {
      schema: describePagerduty(pagerdutyIntegration.endpoint),
      onRequest: async (request, reply) => dependencies.unauthenticated.admit(request, reply, bodyLimit),
      handler: async (request, reply) => {
        const { routingKey, dedupKey, body } = readEvent(pipeline, bodyOf(request));
        const sender = await senderOf(dependencies, request, routingKey);
        const { endpoint } = pagerdutyIntegration;
        const { watchdogs } = await receive(pipeline, sender, { endpoint, body });
        beats.record(sender, watchdogs);
        return reply.code(202).send({ status: 'success', message: 'Event processed', dedup_key: dedupKey });
      },
    });
  });
}

/** Parses an event; returns its keys and the body to store. */
export function readEvent(pipeline: AlertPipeline, received: Buffer) {
  const event = pipeline.payloadIn(received);
  if (!isObject(event)) throw new BodyError(400, 'The event must be a JSON object.');
  const stored = storedEvent(event, () => randomUUID().replaceAll('-', ''));
  return { routingKey: event.routing_key, ...stored };
}

async function senderOf(
  { cache, clock }: IntakeDependencies,
  request: FastifyRequest,
  routingKey: unknown,
): Promise<CachedIntegration> {
  const key = typeof routingKey === 'string' ? routingKey : '';
  const entry = await cache.findByKey(key);
  const isSender = isKeyOf(entry, key, clock.now()) && entry?.integration.type === pagerdutyIntegration.name;
  if (entry === undefined || !isSender) throw new BodyError(400, NO_SENDER);
  senders.set(request, entry);
  if (!entry.integration.is_active) throw new BodyError(400, NO_SENDER);
  return entry;
}

const NO_SENDER = 'routing_key: no active integration of the type PAGERDUTY has this key';

/** Counts refusals only for a valid key. */
const dialectOf = ({ refusals }: IntakeDependencies, bodyLimit: number): Dialect => ({
  ...intakeDialect,
  translate: (error) => {
    if (error instanceof BodyError) return new HttpError('invalid_json', error.message);
    if ((error as FastifyError).statusCode === 413) {
      return new HttpError('payload_too_large', `The event is larger than ${bodyLimit} bytes.`);
    }
    return intakeDialect.translate?.(error);
  },
  send: ({ status, code, message }, request, reply) => {
    if (status === 503) return reply.send({ status: 'unavailable', message });
    const sender = senders.get(request);
    if (sender) refusals.add(sender.integration.id, { status, code, message });
    return reply.send({ status: 'invalid event', message: 'Event object is invalid', errors: [message] });
  },
});
