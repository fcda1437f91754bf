import type { FastifyInstance } from 'fastify';
import type { KeyValue } from '../../../infra/ports.ts';
import { type Accounts, openAccounts } from '../../../serve/accounts/accounts.ts';
import { createKey } from '../../../serve/accounts/keys.ts';
import type { Application, User } from '../../../serve/accounts/tables.ts';
import { createUser } from '../../../serve/accounts/users.ts';
import { openPipeline, type Pipeline } from '../../../serve/application/compose/compose.ts';
import { buildServer } from '../../../serve/application/compose/compose-server.ts';
import { createApplication } from '../../../serve/identity/oauth/applications.ts';
import { PATIENT, readyDirectory } from '../../support/pipeline.ts';
import { testConfig } from '../../support/test-config.ts';
import { Browser } from './browser.ts';

/** The limits of failed attempts count by quarters of an hour. */
const WINDOW_MS = 15 * 60_000;

export const PASSWORD = 'four quiet words suffice';
export const CALLBACK = 'https://client.example/callback';

const ENVIRONMENT = {
  OAUTH_PER_MINUTE: '0',
  WALLET_CHALLENGES_PER_MINUTE: '0',
  FAILED_KEYS_PER_MINUTE: '0',
  ANONYMOUS_PER_MINUTE: '0',
  ANONYMOUS_PER_DAY: '0',
  ...PATIENT,
  LOG_LEVEL: 'error',
};

/** A complete service on its own data directory, with a clock that tests can advance. */
export interface World extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly pipeline: Pipeline;
  /** The tables of the service, as another process would open them. */
  readonly accounts: Accounts;
  readonly directory: string;
  /** Milliseconds since the epoch. */
  now(): number;
  advance(ms: number): void;
  /** Another server on the same data, with other settings, as another process would be. */
  beside(settings: Record<string, string>, keyValue?: KeyValue): Promise<World>;
  close(): Promise<void>;
}

export async function openWorld(settings: Record<string, string> = {}): Promise<World> {
  const directory = await readyDirectory();
  // Begins with a window of the limits, so that none ends in the middle of a test.
  let ahead = WINDOW_MS - (Date.now() % WINDOW_MS);
  const now = () => Date.now() + ahead;
  const pipeline = await openPipeline(testConfig({ DATA_DIR: directory.path, ...ENVIRONMENT, ...settings }), {
    clock: { now },
  });
  const world = await serve(pipeline, now, directory.path, (ms) => {
    ahead += ms;
  });
  const close = async () => {
    await world.close();
    await pipeline.close();
    directory[Symbol.dispose]();
  };
  return { ...world, close, [Symbol.asyncDispose]: close };
}

async function serve(
  pipeline: Pipeline,
  now: () => number,
  directory: string,
  advance: (ms: number) => void,
): Promise<World> {
  const app = await buildServer(pipeline);
  const close = () => app.close();
  const beside = (settings: Record<string, string>, keyValue = pipeline.runtime.keyValue) => {
    // A process holds one engine, so servers share it; all else they have for themselves.
    const env = { ...ENVIRONMENT, DATA_DIR: directory, ...settings };
    const config = testConfig(env);
    const runtime = { ...pipeline.runtime, keyValue };
    const accounts = openAccounts({ ...runtime, settings: config });
    return serve({ ...pipeline, config, runtime, accounts: () => accounts }, now, directory, advance);
  };
  const accounts = pipeline.accounts();
  return { app, pipeline, accounts, directory, now, advance, beside, close, [Symbol.asyncDispose]: close };
}

let made = 0;

export function aUser({ accounts }: World, username = `user-${++made}`): Promise<User> {
  return createUser(accounts, { username, email: `${username}@example.org`, password: PASSWORD });
}

export async function anApplication(
  { accounts }: Pick<World, 'accounts'>,
  owner: User,
  more: Partial<Parameters<typeof createApplication>[2]> = {},
): Promise<{ application: Application; secret: string }> {
  const { application, secret } = await createApplication(accounts, owner, {
    name: `Client ${++made}`,
    redirect_uris: CALLBACK,
    post_logout_redirect_uris: '',
    id_token_alg: 'RS256',
    scopes: ['api', 'read_user', 'openid', 'email'],
    is_confidential: true,
    ...more,
  });
  return { application, secret: secret ?? '' };
}

export async function aKey({ accounts }: World, user: User): Promise<{ text: string; id: string }> {
  const { text, grant } = await createKey(accounts, user, 'key', {
    name: `key ${++made}`,
    scopes: [],
    expires_ms: 0,
  });
  return { text, id: grant.id };
}

/** A browser with a session of the user. */
export async function signedIn(
  { app }: Pick<World, 'app'>,
  user: User,
  password = PASSWORD,
): Promise<Browser> {
  const browser = new Browser(app);
  const answer = await browser.submit('/sign-in', '/sign-in', { login: user.username, password });
  if (answer.statusCode !== 303) throw new Error(`no sign-in: ${answer.statusCode} ${answer.body}`);
  return browser;
}
