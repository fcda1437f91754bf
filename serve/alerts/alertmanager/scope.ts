import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { type Principal, principalOf, requireScope } from '../../accounts/principal.ts';
import type { QueryStore, Readers } from '../../http/readers.ts';
import { keyOf } from '../intake/credentials.ts';
import { type Membership, type ProjectRole, requireRole } from '../model/access.ts';
import type { Projects } from '../projects/projects.ts';

/** Base URL for clients, which append `/api/v2`. */
const BASE = '/alertmanager/:project';

/** A query parameter that may be repeated. */
export const texts = z
  .union([z.string(), z.array(z.string())])
  .default([])
  .transform((given) => [given].flat());
/** A boolean parameter, true by default. */
export const flag = z
  .enum(['true', 'false'])
  .default('true')
  .transform((text) => text === 'true');

interface AlertmanagerCall<Query, Body> {
  readonly caller: Principal;
  readonly projectId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Runs queries within the caller's limits. */
  readonly store: QueryStore;
}

interface AlertmanagerOperation<Query extends z.ZodType, Body extends z.ZodType> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Path below `/api/v2`. The response has no body if the operation returns nothing. */
  readonly path: string;
  readonly role: ProjectRole;
  readonly query?: Query;
  readonly body?: Body;
}

interface ScopeDependencies {
  readonly accounts: Accounts;
  readonly projects: Projects;
  readonly readers: Readers;
}

/** Registers operations of Alertmanager's API. Callers send a token as bearer or as the password of HTTP Basic. */
export class AlertmanagerScope {
  readonly #app: FastifyInstance;
  readonly #deps: ScopeDependencies;

  constructor(app: FastifyInstance, dependencies: ScopeDependencies) {
    this.#app = app;
    this.#deps = dependencies;
    app.addHook('onRequest', async ({ headers }) => {
      const { authorization } = headers;
      if (authorization !== undefined) headers.authorization = `Bearer ${keyOf(authorization)}`;
    });
  }

  add<Query extends z.ZodType, Body extends z.ZodType>(
    { method, path, role, query, body }: AlertmanagerOperation<Query, Body>,
    handle: (call: AlertmanagerCall<z.output<Query>, z.output<Body>>) => Promise<unknown>,
  ): void {
    const { accounts, projects, readers } = this.#deps;
    const access = new WeakMap<FastifyRequest, { caller: Principal; membership: Membership }>();
    this.#app.route({
      method,
      url: `${BASE}/api/v2${path}`,
      schema: {
        hide: true,
        ...(query === undefined ? {} : { querystring: query }),
        ...(body === undefined ? {} : { body }),
      },
      // Check access before the body is read.
      onRequest: async (request) => {
        const caller = await principalOf(accounts, request);
        requireScope(caller, 'api');
        request.knownAccount = caller.user.id;
        const { project = '' } = request.params as Record<string, string>;
        const membership = await projects.membershipOf(project, caller.user);
        requireRole(membership, role);
        access.set(request, { caller, membership });
      },
      handler: async (request, reply) => {
        const { caller, membership } = access.get(request) as { caller: Principal; membership: Membership };
        reply.header('cache-control', 'no-store').type('application/json');
        const answer = await handle({
          caller,
          projectId: membership.project.id,
          params: request.params as Record<string, string>,
          query: request.query as z.output<Query>,
          body: request.body as z.output<Body>,
          store: readers.storeOf(request, reply),
        });
        return reply.send(answer instanceof Readable ? answer : JSON.stringify(answer));
      },
    });
  }
}
