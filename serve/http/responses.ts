import { z } from 'zod';
import { ISSUE_TYPES } from './errors.ts';
import type { ResponseDescription } from './route.ts';

/** The error answers of the metrics API, as the OpenAPI document describes them. */

const problem = z
  .object({ type: z.string(), title: z.string(), status: z.int(), detail: z.string() })
  .meta({ id: 'Problem', description: 'An error as of RFC 9457' });

/** What refuses a request before its path is known has the members of every API. */
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
  .meta({ id: 'ValidationError', description: 'Everything that is wrong with the parameters' });

export const problemResponse = (description: string): ResponseDescription => ({
  description,
  content: { 'application/problem+json': { schema: problem } },
});

/** What every route of the metrics API may answer to a caller. */
export const callerResponses = {
  400: {
    description:
      'The request cannot be read: raw bytes that are not ASCII in its line, or a path that is not percent-encoded UTF-8',
    content: { 'application/problem+json': { schema: unreadable } },
  },
  401: problemResponse('The API key or access token is not valid'),
  429: problemResponse('More requests than an anonymous caller may send'),
};

export const NOT_MODIFIED: ResponseDescription = { description: 'Not modified since the given ETag' };

export const validationResponse: ResponseDescription = {
  description: 'Everything that is wrong with the parameters',
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

/** The query of a path that takes no parameters: an unknown one is refused here as on every other path. */
export const noParameters = z.strictObject({}, { error: 'unknown parameter; this path takes none' });
