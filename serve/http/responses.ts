import { z } from 'zod';
import { ISSUE_TYPES } from './errors.ts';
import type { ResponseDescription } from './route.ts';

/** The error answers of the metrics API, as the OpenAPI document describes them. */

const problem = z
  .object({ type: z.string(), title: z.string(), status: z.int(), detail: z.string() })
  .meta({ id: 'Problem', description: 'Problem details (RFC 9457)' });

/** The path of an unreadable request is unknown, so the body has the error fields of every API. */
const unreadable = problem
  .extend({ error: z.string().optional(), message: z.string().optional() })
  .meta({ id: 'UnreadableRequest', description: 'A request that cannot be read' });

const validationError = z
  .object({
    detail: z.array(
      z.object({
        type: z.enum(ISSUE_TYPES),
        loc: z.array(z.string()),
        msg: z.string(),
        input: z.unknown().optional(),
      }),
    ),
  })
  .meta({ id: 'ValidationError', description: 'All invalid parameters' });

export const problemResponse = (description: string): ResponseDescription => ({
  description,
  content: { 'application/problem+json': { schema: problem } },
});

/** Error responses that every route of the metrics API has. */
export const callerResponses = {
  400: {
    description:
      'The request cannot be parsed: its request line contains non-ASCII bytes, or its path is not percent-encoded UTF-8',
    content: { 'application/problem+json': { schema: unreadable } },
  },
  401: problemResponse('The API key or access token is not valid'),
  429: problemResponse('Rate limit of anonymous callers exceeded'),
};

export const NOT_MODIFIED: ResponseDescription = { description: 'Not modified since the given ETag' };

export const validationResponse: ResponseDescription = {
  description: 'Invalid parameters',
  content: {
    'application/json': {
      schema: validationError,
      example: {
        detail: [
          {
            type: 'enum',
            loc: ['query', 'relay_chain'],
            msg: 'one of polkadot, kusama',
            input: 'mars',
          },
        ],
      },
    },
  },
};

/** Query schema of a path without parameters; it rejects unknown ones as every path does. */
export const noParameters = z.strictObject({}, { error: 'unknown parameter; this path takes none' });
