import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../../infra/ports.ts';
import type { Accounts } from '../../../serve/accounts/accounts.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import type { User } from '../../../serve/accounts/tables.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { PATIENT, readyDirectory } from '../../support/pipeline.ts';
import { testConfig } from '../../support/test-config.ts';

/** A user of the service and the token that acts for them. */
export interface Person {
  readonly user: User;
  readonly token: string;
}

export interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each endpoint has its own type of response
  readonly body: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** An integration to which tests send alerts. */
export interface Source {
  readonly project: number;
  readonly id: string;
  /** Path of its webhook. */
  readonly path: string;
  readonly key: string;
}

/** A whole server with its own data directory; requests are injected unless `listen` is called. */
export class Service {
  readonly pipeline: Pipeline;
  readonly app: FastifyInstance;
  readonly accounts: Accounts;
  readonly #close: () => Promise<void>;

  private constructor(
    pipeline: Pipeline,
    app: FastifyInstance,
    accounts: Accounts,
    close: () => Promise<void>,
  ) {
    this.pipeline = pipeline;
    this.app = app;
    this.accounts = accounts;
    this.#close = close;
  }

  static async open(settings: Record<string, string> = {}, clock?: Clock): Promise<Service> {
    const directory = await readyDirectory();
    const env = {
      DATA_DIR: directory.path,
      LOG_LEVEL: 'error',
      ANONYMOUS_PER_MINUTE: '0',
      ANONYMOUS_PER_DAY: '0',
      ...PATIENT,
      ...settings,
    };
    const pipeline = await openPipeline(testConfig(env), clock ? { clock } : {});
    const app = await buildServer(pipeline);
    await app.ready();
    return new Service(pipeline, app, pipeline.accounts(), async () => {
      await app.close();
      await pipeline.close();
      directory[Symbol.dispose]();
    });
  }

  async person(username: string, password: string | null = null): Promise<Person> {
    const email = `${username}@example.org`;
    const user = await createUser(this.accounts, { username, email, password });
    const { text } = await createKey(this.accounts, user, 'personal', {
      name: 'test',
      scopes: ['api'],
      expires_ms: 0,
    });
    return { user, token: text };
  }

  /** Calls the REST API; `path` is the path after `/api/v4`. */
  async api(
    person: Person | null,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    payload?: object,
  ): Promise<Answered> {
    const reply = await this.app.inject({
      method,
      url: `/api/v4${path}`,
      headers: person ? { authorization: `Bearer ${person.token}` } : {},
      ...(payload === undefined ? {} : { payload }),
    });
    return answered(reply);
  }

  async project(owner: Person, fields: object = {}): Promise<number> {
    const { status, body } = await this.api(owner, 'POST', '/projects', { name: 'Watch', ...fields });
    if (status !== 201) throw new Error(`no project: ${JSON.stringify(body)}`);
    return body.id;
  }

  async source(owner: Person, project: number, fields: object = {}): Promise<Source> {
    const path = `/projects/${project}/integrations`;
    const { status, body } = await this.api(owner, 'POST', path, { type: 'HTTP', name: 'Tool', ...fields });
    if (status !== 201) throw new Error(`no integration: ${JSON.stringify(body)}`);
    return { project, id: body.id, path: new URL(body.url).pathname, key: body.authorization_key };
  }

  /** Sends a payload to a webhook as a monitoring tool does; strings and buffers are sent unchanged. */
  async send(
    { path, key }: Pick<Source, 'path' | 'key'>,
    payload: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answered> {
    const isRaw = typeof payload === 'string' || Buffer.isBuffer(payload);
    const reply = await this.app.inject({
      method: 'POST',
      url: path,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      payload: isRaw ? payload : JSON.stringify(payload),
    });
    return answered(reply);
  }

  close(): Promise<void> {
    return this.#close();
  }
}

function answered(reply: { statusCode: number; body: string; headers: object }): Answered {
  const isJson = String((reply.headers as Record<string, unknown>)['content-type']).includes('json');
  return {
    status: reply.statusCode,
    body: isJson && reply.body !== '' ? JSON.parse(reply.body) : reply.body,
    headers: reply.headers as Record<string, unknown>,
  };
}
