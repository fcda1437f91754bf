import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { type Principal, principalOf, requireScope } from '../../accounts/principal.ts';
import { readExamples } from '../../http/examples.ts';
import type { QueryStore, Readers } from '../../http/readers.ts';
import { type RouteDefinition, route } from '../../http/route.ts';
import { type Membership, type ProjectRole, requireRole } from '../model/access.ts';
import type { Projects } from '../projects/projects.ts';
import { pageOfList, WHOLE_LIST_DOC, wholeListQuery } from './pagination.ts';

/** An endpoint of the REST API. Its access checks and its part of the OpenAPI document derive from this value. */
interface ApiEndpoint<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to `/api/v4`, with `:name` for each path parameter. */
  readonly path: string;
  readonly tag: 'Projects' | 'Alert integrations' | 'Alerts' | 'On call';
  readonly summary: string;
  readonly doc?: string;
  /** Lowest role in the project; null if the path names no project, which allows every signed-in caller. */
  readonly role: ProjectRole | null;
  readonly params?: Path;
  readonly query?: Query;
  readonly body?: Body;
  readonly isBodyOptional?: boolean;
  /** Returns a whole list, or one page if the request has `page` or `per_page`, which clients of GitLab send. */
  readonly isWholeList?: boolean;
  readonly answer?: z.ZodType;
  readonly status?: 200 | 201 | 204;
}

export interface Call<Path, Query, Body> {
  readonly caller: Principal;
  /** Membership in the project of the path. The role is already checked. */
  readonly membership: Membership;
  readonly params: Path;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Runs queries within the caller's limits. */
  readonly store: QueryStore;
}

type Nothing = z.ZodObject<Record<never, never>>;

interface ApiDependencies {
  readonly accounts: Accounts;
  readonly projects: Projects;
  readonly readers: Readers;
  readonly url: () => string;
}

/** Registers endpoints under `/api/v4`. All check in the same order: caller, project, role, parameters. */
export class Api {
  readonly #app: FastifyInstance;
  readonly #accounts: Accounts;
  readonly #projects: Projects;
  readonly #readers: Readers;
  readonly #url: () => string;

  constructor(app: FastifyInstance, { accounts, projects, readers, url }: ApiDependencies) {
    this.#app = app;
    this.#accounts = accounts;
    this.#projects = projects;
    this.#readers = readers;
    this.#url = url;
  }

  add<
    Path extends z.ZodObject = Nothing,
    Query extends z.ZodObject = Nothing,
    Body extends z.ZodType = Nothing,
  >(
    endpoint: ApiEndpoint<Path, Query, Body>,
    handle: (call: Call<z.output<Path>, z.output<Query>, z.output<Body>>) => Promise<unknown>,
  ): void {
    const { role, status = 200, isWholeList = false } = endpoint;
    const access = new WeakMap<FastifyRequest, { caller: Principal; membership: Membership }>();
    route(
      this.#app,
      {
        ...describe(endpoint as never),
        authorize: async (request) => {
          const caller = await principalOf(this.#accounts, request);
          requireScope(caller, 'api');
          request.knownAccount = caller.user.id;
          const { id = '' } = request.params as Record<string, string>;
          const membership =
            role === null ? NO_MEMBERSHIP : await this.#projects.membershipOf(id, caller.user);
          if (role !== null) requireRole(membership, role);
          access.set(request, { caller, membership });
        },
      },
      async ({ params, query, body, request, reply }) => {
        const answer = await handle({
          ...(access.get(request) as { caller: Principal; membership: Membership }),
          params: params as z.output<Path>,
          query: query as z.output<Query>,
          body: body as z.output<Body>,
          request,
          reply,
          store: this.#readers.storeOf(request, reply),
        });
        const isDryRun = (query as { dry_run?: boolean }).dry_run === true;
        reply.code(isDryRun ? 200 : status).header('cache-control', 'no-store');
        if (status === 204) return reply.send();
        const shown = isWholeList
          ? pageOfList(answer as unknown[], query as never, reply, `${this.#url()}${request.url}`)
          : answer;
        return reply.type(JSON_TYPE).send(JSON.stringify(shown));
      },
    );
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';
/** For endpoints without a project. Their handlers do not read it. */
const NO_MEMBERSHIP = { project: undefined, level: 0 } as unknown as Membership;

const examples = readExamples(new URL('examples.ndjson', import.meta.url));

function describe(
  endpoint: ApiEndpoint<z.ZodObject, z.ZodObject, z.ZodType>,
): RouteDefinition<z.ZodType, z.ZodType, z.ZodType> {
  const {
    method,
    path,
    tag,
    summary,
    doc,
    role,
    params,
    isWholeList,
    query = isWholeList ? wholeListQuery : undefined,
    body,
    isBodyOptional,
    answer,
    status = 200,
  } = endpoint;
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string);
  const needs = role === null ? 'Requires authentication.' : `Requires the ${role} role in the project.`;
  const operationId = `${method.toLowerCase()}${path.replace(/[/:]+(\w)/g, (_all, letter: string) => letter.toUpperCase())}`;
  const { request, answer: recorded } = examples.get(operationId) ?? {};
  const response =
    answer === undefined
      ? { description: 'Done' }
      : { description: summary, content: { 'application/json': { schema: answer, example: recorded } } };
  return {
    method,
    path: `/api/v4${path}`,
    operationId,
    tag,
    summary,
    description: [doc, isWholeList && WHOLE_LIST_DOC, needs].filter(Boolean).join(' '),
    security: [{ key: [] }],
    ...(names.length === 0
      ? {}
      : {
          params: z.object(
            Object.fromEntries(
              names.map((name) => [
                name,
                ((params?.shape[name] ?? z.string()) as z.ZodType).meta({
                  example: PARAMETER_EXAMPLES[name],
                }),
              ]),
            ),
          ),
        }),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined
      ? {}
      : { body: request === undefined ? body : body.meta({ examples: [request] }), isBodyOptional }),
    responses: {
      ...(query !== undefined && 'dry_run' in query.shape ? { 200: response } : {}),
      [status]: response,
      '4xx': REFUSED,
    },
  };
}

/** Example values of path parameters. */
const PARAMETER_EXAMPLES: Readonly<Record<string, string | number>> = {
  id: '1',
  user_id: 2,
  integration_id: '4f1c2a9be07d',
  heartbeat_id: 'c4e1f0a97b25d386',
  alert_iid: 42,
  note_id: '9d2e5b7c',
  incident_iid: 3,
  hook_id: '5a8e1c3f',
  policy_id: '7c41e0b2',
  schedule_id: 'jpq1Yt0o5Tz3sXw8cVb2Qg',
  rotation_id: 'b7Kd9mR2vXe4hLs6nCw1Ta',
  override_id: 'Zr5uHy8pDf3gJk1qMx7oNc',
  contact_id: 'account-1',
  channel_id: 'q0Xr5nJcT1uV8wYz3aBdEg',
  silence_id: '0d6e1f8a-52c7-4b39-9d0e-6a4b8c21f7d3',
  window_id: 'm4Xn8vTq2LcRz6pYb1Ws9K',
};

const REFUSED = {
  description: 'Refused, with the reason',
  content: {
    'application/json': {
      schema: z
        .object({
          message: z.string().optional(),
          errors: z.record(z.string(), z.array(z.string())).optional().describe('by field'),
          error: z.string().optional().describe('error code of RFC 6750, for an invalid or missing token'),
          error_description: z.string().optional(),
        })
        .meta({ id: 'ApiError' }),
      example: { message: '404 Project Not Found' },
    },
  },
};
