import { z } from 'zod';
import { describeRoute, type ResponseDescription } from '../../http/route.ts';
import type { IntakeEndpoint } from '../integrations/integration-type.ts';

const error = z.object({ error: z.string(), message: z.string() }).meta({ id: 'IntakeError' });

const refused = (description: string, code: string, message: string): ResponseDescription => ({
  description,
  content: { 'application/json': { schema: error, example: { error: code, message } } },
});

const RESPONSES = {
  200: {
    description: 'Accepted and durable. Lists only the alerts that this request created.',
    content: {
      'application/json': {
        schema: z.array(z.object({ iid: z.int(), title: z.string() })),
        example: [{ iid: 42, title: 'Node is out of disk space' }],
      },
    },
  },
  400: refused('Not JSON, or not UTF-8', 'invalid_json', 'The body is not JSON.'),
  401: refused(
    'The integration does not exist or the key is wrong',
    'unauthorized',
    'The integration does not exist or the key is wrong.',
  ),
  403: refused(
    'The integration is inactive, or a message of Amazon SNS has a wrong signature or a topic that is not accepted',
    'forbidden',
    'The integration is inactive. A Maintainer can activate it.',
  ),
  413: refused(
    'Larger than ALERT_BODY_BYTES_MAX',
    'payload_too_large',
    "The body is larger than 1048576 bytes (ALERT_BODY_BYTES_MAX). In Alertmanager set max_alerts of the webhook, or group_by: ['...'], which sends each alert alone.",
  ),
  414: refused('The id of the integration is too long', 'bad_request', 'A part of the path is too long.'),
  415: refused(
    'Not application/json, or compressed',
    'unsupported_media_type',
    'Send JSON in UTF-8 with the header Content-Type: application/json.',
  ),
  422: refused('The body contains no valid alert', 'invalid_payload', 'The body must be a JSON object.'),
  503: refused(
    'Not accepted. Retry after the number of seconds in Retry-After.',
    'unavailable',
    'The event may not have been stored. Retry the request.',
  ),
};

const ENDPOINT = {
  description: 'Id of the integration, as in its webhook URL',
  example: '4f1c2a9be07d',
};

const event = z.object({ status: z.string(), message: z.string() });

const invalid = (description: string, reason: string): ResponseDescription => ({
  description,
  content: {
    'application/json': {
      schema: event.extend({ errors: z.array(z.string()) }).meta({ id: 'InvalidEvent' }),
      example: { status: 'invalid event', message: 'Event object is invalid', errors: [reason] },
    },
  },
});

/** Describes the Events API v2, whose responses have the format of PagerDuty. */
export function describePagerduty({ path, summary, description, example }: IntakeEndpoint): object {
  return describeRoute({
    method: 'POST',
    path,
    tag: 'Alert intake',
    summary,
    description,
    security: [],
    body: z.looseObject({}).meta({ examples: [example] }),
    responses: {
      202: {
        description: 'Accepted and durable',
        content: {
          'application/json': {
            schema: event.extend({ dedup_key: z.string() }),
            example: { status: 'success', message: 'Event processed', dedup_key: 'disk/node-7' },
          },
        },
      },
      400: invalid('No valid event, an unknown key, or an inactive integration', 'payload.summary: required'),
      413: invalid('Larger than 512 KiB', 'The event is larger than 524288 bytes.'),
      415: invalid('Compressed', 'Send the body without Content-Encoding.'),
      503: {
        description: 'Not accepted. Retry after the number of seconds in Retry-After.',
        content: {
          'application/json': {
            schema: event,
            example: {
              status: 'unavailable',
              message: 'The event may not have been stored. Retry the request.',
            },
          },
        },
      },
    },
  });
}

/** Path for a beat without an alert. */
export const HEARTBEAT_PATH = '/alerts/:endpoint/heartbeat';

const SECURITY = [{ integrationKey: [] }, { integrationKeyBasic: [] }];
const PARAMS = z.object({ endpoint: z.string().meta(ENDPOINT) });

export function describeHeartbeat(): object {
  const { 401: noKey, 403: inactive, 414: tooLong, 503: later } = RESPONSES;
  return describeRoute({
    method: 'POST',
    path: HEARTBEAT_PATH,
    tag: 'Alert intake',
    summary: 'Send a heartbeat',
    description:
      'Records a beat, for jobs that send no alerts. The request has no body. An alert is created after `heartbeat_minutes` without a beat, and the next beat resolves it.',
    security: SECURITY,
    params: PARAMS,
    responses: {
      ...{ 401: noKey, 403: inactive, 414: tooLong, 503: later },
      200: {
        description: 'The beat is recorded and durable',
        content: { 'application/json': { schema: z.array(z.never()), example: [] } },
      },
      409: refused(
        'The integration has no heartbeat',
        'conflict',
        'The integration has no heartbeat. Set its heartbeat_minutes first.',
      ),
      422: refused(
        'The request has a body',
        'invalid_payload',
        'A heartbeat has no body. Send alerts to notify.json.',
      ),
    },
  });
}

/** The intake's part of the OpenAPI document. */
export function describeIntake({ path, summary, description, example }: IntakeEndpoint): object {
  return describeRoute({
    method: 'POST',
    path,
    tag: 'Alert intake',
    summary,
    description,
    security: SECURITY,
    params: PARAMS,
    headers: z.object({
      'idempotency-key': z
        .string()
        .optional()
        .describe(
          'Identifies the delivery. A repeated request with the same key and body is not counted again.',
        ),
    }),
    body: z.looseObject({}).meta({ examples: [example] }),
    responses: RESPONSES,
  });
}
