import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { HttpError } from '../../http/errors.ts';
import type { Accounts } from '../../identity/accounts/accounts.ts';
import { type Principal, principalOf, requireScope } from '../../identity/accounts/principal.ts';
import { type Membership, type ProjectRole, requireRole } from '../projects/access.ts';
import type { Projects } from '../projects/projects.ts';

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

/** One endpoint of the REST API: its checks and its part of the OpenAPI document come from this one value. */
export interface ApiEndpoint<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly method: keyof typeof METHODS;
  /** Behind `/api/v4`, with `:name` for each of the path's parameters. */
  readonly path: string;
  readonly tag: 'Projects' | 'Alert integrations' | 'Alerts';
  readonly summary: string;
  readonly doc?: string;
  /** Least role in the project; null for anybody who is signed in, where no project is named. */
  readonly role: ProjectRole | null;
  readonly params?: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly answer?: z.ZodType;
  readonly status?: 200 | 201 | 204;
}

export interface Call<Path, Query, Body> {
  readonly caller: Principal;
  /** Of the project that the path names; the caller has the role that the endpoint asks for. */
  readonly membership: Membership;
  readonly params: Path;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

const NOTHING = z.object({});
type Nothing = typeof NOTHING;

/** Registers endpoints under `/api/v4` with the same order of checks for all: caller, project, role, parameters. */
export class Api {
  readonly #app: FastifyInstance;
  readonly #accounts: Accounts;
  readonly #projects: Projects;

  constructor(app: FastifyInstance, accounts: Accounts, projects: Projects) {
    this.#app = app;
    this.#accounts = accounts;
    this.#projects = projects;
  }

  add<
    Path extends z.ZodObject = Nothing,
    Query extends z.ZodObject = Nothing,
    Body extends z.ZodType = Nothing,
  >(
    endpoint: ApiEndpoint<Path, Query, Body>,
    handle: (call: Call<z.output<Path>, z.output<Query>, z.output<Body>>) => Promise<unknown>,
  ): void {
    const { method, path, role, status = 200 } = endpoint;
    this.#app[METHODS[method]](`/api/v4${path}`, {
      schema: openApi(endpoint as never),
      handler: async (request, reply) => {
        const caller = await principalOf(this.#accounts, request);
        requireScope(caller, 'api');
        const given = request.params as Record<string, string>;
        const membership =
          role === null ? NOWHERE : await this.#projects.membershipOf(given.id ?? '', caller.user);
        if (role !== null) requireRole(membership, role);
        const answer = await handle({
          caller,
          membership,
          params: parsed(endpoint.params ?? NOTHING, given) as z.output<Path>,
          query: parsed(endpoint.query ?? NOTHING, request.query) as z.output<Query>,
          body: parsed(endpoint.body ?? NOTHING, request.body ?? {}) as z.output<Body>,
          request,
          reply,
        });
        reply.code(status).header('cache-control', 'no-store');
        return status === 204 ? reply.send() : reply.type(JSON_TYPE).send(JSON.stringify(answer));
      },
    });
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** Stands where no project is named; nobody looks at it. */
const NOWHERE = { project: undefined, level: 0 } as unknown as Membership;

/** Everything that is wrong with the parameters of a request, by field. */
function invalidFields(errors: Readonly<Record<string, string[]>>): HttpError {
  const texts = Object.entries(errors).map(([name, messages]) => `${name} ${messages.join(', ')}`);
  return new HttpError('bad_request', `Bad request: ${texts.join('; ')}`, {}, undefined, errors);
}

function parsed(schema: z.ZodType, given: unknown): unknown {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const faults: Record<string, string[]> = {};
  for (const { path, message } of read.error.issues) {
    const name = path.join('.') || 'body';
    faults[name] = [...(faults[name] ?? []), message];
  }
  throw invalidFields(faults);
}

function openApi(endpoint: ApiEndpoint<z.ZodObject, z.ZodObject, z.ZodType>): object {
  const { method, path, tag, summary, doc, role, params, query, body, answer, status = 200 } = endpoint;
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  const needs = role === null ? 'Needs a signed-in caller.' : `Needs the role ${role} in the project.`;
  return {
    operationId: `${method.toLowerCase()}${path.replace(/[/:]+(\w)/g, (_all, letter: string) => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    description: doc === undefined ? needs : `${doc} ${needs}`,
    security: [{ key: [] }],
    params: {
      type: 'object',
      properties: Object.fromEntries(
        names.map((name) => [name, params?.shape[name] ? json(params.shape[name]) : { type: 'string' }]),
      ),
      required: names,
    },
    ...(query === undefined ? {} : { querystring: json(query) }),
    ...(body === undefined ? {} : { body: json(body) }),
    response: {
      [status]:
        answer === undefined
          ? { description: 'Done', type: 'null' }
          : { description: summary, ...json(answer, 'output') },
      '4xx': {
        description: 'Refused, with the reason',
        type: 'object',
        properties: { message: { type: 'string' } },
      },
    },
  };
}

function json(schema: z.ZodType, io: 'input' | 'output' = 'input'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
