/**
 * The life of a token: a code becomes a pair, the access token is looked up, the pair is revoked. The product keeps
 * each step durably before it answers; oidc-provider keeps it in its memory adapter. Processor time counts, also that of
 * the engine's threads.
 */
import { fork } from 'node:child_process';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import Provider from 'oidc-provider';
import { CALLBACK } from '../serve/accounts/world.ts';
import { mintCode } from '../serve/identity/oauth/mint-code.ts';
import { compare, readSizes, report } from './measure.ts';

const GOAL = 1;
/** Not more than the peer's memory holds. */
const CYCLES = 240;
const CONNECTIONS = 64;

interface Step {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Fields of the body; `$token` stands for the access token of the cycle. */
  readonly fields: Readonly<Record<string, string>>;
  readonly bearer?: boolean;
}

interface Work {
  readonly port: number;
  readonly codes: readonly string[];
  readonly exchange: Step;
  readonly lookUp: Step;
  readonly revoke: Step;
}

/** Runs a cycle for each code, in a process that does nothing else. */
async function cycles({ port, codes, exchange, lookUp, revoke }: Work): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const send = (step: Step, token: string, code = '') =>
    new Promise<string>((done, failed) => {
      const body = new URLSearchParams(step.fields)
        .toString()
        .replace('%24token', token)
        .replace('%24code', code);
      const headers: Record<string, string> = step.bearer ? { authorization: `Bearer ${token}` } : {};
      if (step.method === 'POST') {
        headers['content-type'] = 'application/x-www-form-urlencoded';
        headers['content-length'] = String(Buffer.byteLength(body));
      }
      const sent = request(
        { port, host: '127.0.0.1', method: step.method, path: step.path, agent, headers },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8');
          answer.on('data', (piece) => {
            text += piece;
          });
          answer.on('end', () =>
            answer.statusCode === 200
              ? done(text)
              : failed(new Error(`${step.path}: ${answer.statusCode} ${text}`)),
          );
        },
      );
      sent.on('error', failed);
      sent.end(step.method === 'POST' ? body : undefined);
    });
  const left = [...codes];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (let code = left.pop(); code !== undefined; code = left.pop()) {
        const { access_token } = JSON.parse(await send(exchange, '', code)) as { access_token: string };
        const told = JSON.parse(await send(lookUp, access_token)) as { active?: boolean };
        if (told.active === false) throw new Error('a live token was not found');
        await send(revoke, access_token);
      }
    }),
  );
  agent.destroy();
}

async function measure(): Promise<void> {
  const { openWorld, aUser, anApplication } = await import('../serve/accounts/world.ts');
  const world = await openWorld();
  await world.app.listen({ host: '127.0.0.1', port: 0 });
  const user = await aUser(world);
  const { application, secret } = await anApplication(world, user);
  const portOf = (server: { address(): AddressInfo | string | null }) =>
    (server.address() as AddressInfo).port;
  const client = { client_id: application.id, client_secret: secret };
  const exchange = { grant_type: 'authorization_code', code: '$code', redirect_uri: CALLBACK };

  const provider = new Provider('http://127.0.0.1', {
    clients: [
      {
        ...client,
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    features: {
      introspection: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: false },
    },
    scopes: ['api'],
    pkce: { required: () => false },
    issueRefreshToken: async () => true,
    findAccount: async (_: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  });
  const peer = createServer(provider.callback());
  await new Promise<void>((done) => peer.listen(0, '127.0.0.1', done));

  async function peerCode(): Promise<string> {
    const found = await provider.Client.find(application.id);
    const grant = new provider.Grant({ accountId: user.id, clientId: application.id });
    grant.addOIDCScope('api');
    const grantId = await grant.save();
    return new provider.AuthorizationCode({
      accountId: user.id,
      client: found,
      grantId,
      redirectUri: CALLBACK,
      scope: 'api',
      gty: 'authorization_code',
    }).save();
  }
  const many = (make: () => Promise<string>) => Promise.all(Array.from({ length: CYCLES }, make));

  const load = fork(fileURLToPath(import.meta.url), ['--load']);
  /** Cycles for each second of processor time that this process, which is the server, takes for them. */
  const ask = async (work: Work) => {
    const before = process.cpuUsage();
    await new Promise<void>((done, failed) => {
      load.once('message', ({ error }: { error?: string }) =>
        error === undefined ? done() : failed(new Error(error)),
      );
      load.send(work);
    });
    const { user, system } = process.cpuUsage(before);
    return work.codes.length / ((user + system) / 1e6);
  };

  const sizes = readSizes();
  const measured = await compare(
    sizes.rounds,
    async () =>
      ask({
        port: portOf(world.app.server),
        codes: await many(async () => (await mintCode(world.accounts, user, application)).code),
        exchange: { method: 'POST', path: '/oauth/token', fields: { ...exchange, ...client } },
        lookUp: { method: 'GET', path: '/oauth/token/info', fields: {}, bearer: true },
        revoke: { method: 'POST', path: '/oauth/revoke', fields: { token: '$token', ...client } },
      }),
    async () =>
      ask({
        port: portOf(peer),
        codes: await many(peerCode),
        exchange: { method: 'POST', path: '/token', fields: { ...exchange, ...client } },
        lookUp: { method: 'POST', path: '/token/introspection', fields: { token: '$token', ...client } },
        revoke: { method: 'POST', path: '/token/revocation', fields: { token: '$token', ...client } },
      }),
  );
  load.kill();
  peer.close();
  await world.close();
  report([
    {
      work: `token issued, looked up and revoked, durably, ${CONNECTIONS} at a time`,
      peer: 'oidc-provider, memory adapter',
      figure: `${Math.round(measured.product)} against ${Math.round(measured.peer)} cycles for a second of processor time`,
      ratio: measured.ratio,
      goal: `>= ${GOAL}`,
      met: measured.ratio >= GOAL,
    },
  ]);
}

if (process.argv.includes('--load')) {
  process.on('message', (work: Work) => {
    cycles(work).then(
      () => process.send?.({}),
      (error: Error) => process.send?.({ error: error.message }),
    );
  });
} else {
  await measure();
  process.exit();
}
