import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { z } from 'zod';
import { HttpError } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Option of `@fastify/under-pressure`: handles a request while the server is under pressure. */
    pressureHandler?: () => undefined;
  }
}

/** Config of routes that are answered under load. Copy it for each route: Fastify mutates the object. */
export const UNDER_LOAD = { pressureHandler: () => undefined };

/** A media type of a response body. */
export interface MediaType {
  readonly schema: z.ZodType;
  readonly example?: unknown;
}

export interface ResponseDescription {
  readonly description: string;
  /** Descriptions by header name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** By media type; absent if the response has no body. */
  readonly content?: Readonly<Record<string, MediaType>>;
}

/** A route: the same schemas validate its requests and describe it in the OpenAPI document. */
export interface RouteDefinition<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Default: derived from method and path. */
  readonly operationId?: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Whether a missing body counts as an empty object. */
  readonly isBodyOptional?: boolean;
  readonly headers?: z.ZodType;
  /** Media type of the body, if it is not JSON. */
  readonly consumes?: string;
  readonly responses: Readonly<Record<string, ResponseDescription>>;
  readonly onRequest?: onRequestHookHandler;
  /** Whether the route is answered even under load. */
  readonly isAnsweredUnderLoad?: boolean;
  /** Runs before the body is read and parameters are validated, so that callers without access cost little and learn nothing. */
  readonly authorize?: (request: FastifyRequest) => Promise<void>;
}

interface RouteCall<Params, Query, Body> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const NO_BODY = new HttpError('bad_request', 'This operation requires a request body.');

/** Registers a route. The dialect of its scope formats validation errors. */
export function route<
  Params extends z.ZodType = z.ZodType<unknown>,
  Query extends z.ZodType = z.ZodType<unknown>,
  Body extends z.ZodType = z.ZodType<unknown>,
>(
  app: FastifyInstance,
  definition: RouteDefinition<Params, Query, Body>,
  handle: (call: RouteCall<z.output<Params>, z.output<Query>, z.output<Body>>) => unknown,
): void {
  const { method, path, onRequest, authorize, body, isBodyOptional, isAnsweredUnderLoad } = definition;
  const refusesNoBody = body !== undefined && !isBodyOptional && body.safeParse({}).success;
  app.route({
    method,
    url: path,
    ...(isAnsweredUnderLoad ? { config: { ...UNDER_LOAD } } : {}),
    schema: describeRoute(definition),
    onRequest: [
      ...(onRequest === undefined ? [] : [onRequest]),
      ...(authorize === undefined ? [] : [async (request: FastifyRequest) => authorize(request)]),
    ],
    preValidation: async (request) => {
      if (refusesNoBody && (request.body ?? null) === null) throw NO_BODY;
      // Validation of an empty object names the required fields.
      if (body !== undefined) request.body ??= {};
    },
    handler: async (request, reply) =>
      handle({
        params: request.params as z.output<Params>,
        query: request.query as z.output<Query>,
        body: request.body as z.output<Body>,
        request,
        reply,
      }),
  });
}

/** The Fastify schema of a route, for handlers that parse their requests themselves. */
export function describeRoute({
  method,
  path,
  operationId = operationIdOf(method, path),
  tag,
  summary,
  description,
  security,
  params,
  query,
  body,
  isBodyOptional,
  headers,
  consumes,
  responses,
}: RouteDefinition<z.ZodType, z.ZodType, z.ZodType>): object {
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(security === undefined ? {} : { security }),
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body, isBodyOptional }),
    ...(headers === undefined ? {} : { headers }),
    ...(consumes === undefined ? {} : { consumes: [consumes] }),
    response: Object.fromEntries(
      Object.entries(responses).map(([status, { content, ...rest }]) => [
        status,
        content === undefined ? z.undefined().describe(rest.description) : { ...rest, content },
      ]),
    ),
  };
}

function operationIdOf(method: string, path: string): string {
  const words = path.split(/\W+/).filter(Boolean);
  return [method.toLowerCase(), ...words.map((word) => word[0]?.toUpperCase() + word.slice(1))].join('');
}

/**
 * Disables request validation in a scope, so that schemas only document its routes. For APIs whose standard prescribes
 * the parsing and the errors.
 */
export function disableValidation(app: FastifyInstance): void {
  app.setValidatorCompiler(() => () => true);
}
