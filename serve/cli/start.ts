import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { Lease } from '../../infra/coordination/lock.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { isEmpty } from '../../ingest/raw/is-empty.ts';
import { type Claim, startFollowing } from '../../ingest/role.ts';
import { ALL_ROLES, openPipeline, type Pipeline, PROCESS_ROLES, type ProcessRole } from '../compose.ts';
import { openControl } from '../control.ts';
import { listeningUrl } from '../http/public-url.ts';
import type { Config } from '../settings.ts';
import { openDisplay } from './display.ts';
import { EXIT, killSelf } from './failure.ts';
import { ingestInputs } from './ingest.ts';
import { findInputs } from './inputs.ts';
import { LocalOperator } from './local.ts';
import { plural } from './words.ts';

const SAMPLE = fileURLToPath(new URL('../../ingest/sample', import.meta.url));

/** Serves until it is told to stop. What is said to people goes to standard error, the log to standard output. */
export async function startCommand(
  { sample = false, role = ['all'] }: { sample?: boolean; role?: readonly string[] },
  given: Config,
  version: string,
): Promise<number> {
  const roles = rolesOf(role, given);
  const stop = onStop(given);
  try {
    // On a terminal the block below says what a person needs; the log's own lines are for machines.
    const quiet = process.stdout.isTTY && process.env.LOG_LEVEL === undefined;
    const config: Config = quiet ? { ...given, LOG_LEVEL: 'warn' } : given;
    const engine = await openPipeline(config, { roles });
    stop.first(() => engine.close());
    const operator = new LocalOperator(engine);
    const isServer = roles.has('serve');
    const server = await import('../compose-server.ts');
    const app = isServer ? await server.buildServer(engine) : await server.buildOperatorServer(engine);
    stop.first(() => app.close());
    const url = await listen(app, isServer ? config : probesAddress(config));
    stop.log = app.log;
    if (config.PROFILE === 'embedded') {
      const control = await openControl(operator, config.DATA_DIR, app.log).catch((error) => {
        app.log.warn({ err: error }, 'other processes cannot hand work to this one');
        return null;
      });
      if (control) stop.first(() => control.close());
    }
    if (sample) await loadSample(engine, operator);
    if (roles.has('ingest')) stop.first(startFollowing(operator, config, app.log, claimOf(engine)));
    say(
      isServer
        ? welcome(url, config, version)
        : `Chain Metrics ${version}, ${[...roles].join(' and ')}: ${url}/health/ready\n`,
    );
    await stop.asked;
    return EXIT.ok;
  } catch (error) {
    if (stop.isAsked) await stop.asked;
    else await stop.now();
    if (stop.isAsked) return EXIT.ok;
    throw error;
  }
}

/** The roles that the options name. All of them is what the embedded profile knows. */
function rolesOf(names: readonly string[], { PROFILE }: Config): ReadonlySet<ProcessRole> {
  if (names.includes('all')) return ALL_ROLES;
  if (PROFILE === 'embedded') {
    throw new ProductError(
      'usage',
      '--role: the embedded profile is one process with all roles; set PROFILE=distributed',
    );
  }
  return new Set(PROCESS_ROLES.filter((role) => names.includes(role)));
}

/** Of several processes that ingest, one follows a chain; when it dies another one goes on where it was. */
function claimOf({ runtime, config }: Pipeline): Claim {
  const { keyValue } = runtime;
  return async (chain, signal) => {
    for (;;) {
      const lease = await Lease.acquire(keyValue, `follow/${chain}`, config.LEASE_MS, 1);
      if (!lease) {
        await pause(CLAIM_POLL_MS, undefined, { signal });
        continue;
      }
      const release = async () => void (await lease.release().catch(() => false));
      const noted = await keyValue.get(`followed/${chain}`).catch(async (error) => {
        await release();
        throw error;
      });
      return {
        next: noted === null ? null : Number(noted),
        note: async (next) => void (await keyValue.set(`followed/${chain}`, String(next))),
        release,
      };
    }
  };
}
const CLAIM_POLL_MS = 1000;

const probesAddress = ({ OPERATOR_HOST: HOST, OPERATOR_PORT: PORT }: Config) => ({ HOST, PORT });

async function loadSample(engine: Pipeline, operator: LocalOperator): Promise<void> {
  const { DATA_DIR } = engine.config;
  if (!(await isEmpty(engine.runtime.store))) {
    say(`${DATA_DIR} holds data already: the sample is not loaded.\n`);
    return;
  }
  const inputs = await findInputs([SAMPLE]);
  say(`${DATA_DIR} is empty: loading the sample, recorded blocks of ${plural(inputs.length, 'chain')}.\n`);
  const report = await ingestInputs(operator, inputs, undefined, openDisplay(process.stderr));
  const chains = await operator.coverage({});
  const days = chains
    .flatMap(({ first_day, last_day }) => [first_day, last_day])
    .filter((day) => day !== null)
    .sort();
  say(
    `Loaded ${plural(report.blocks, 'block')} of ${chains.map(({ chain }) => chain).join(', ')}, ` +
      `from ${days[0]} to ${days.at(-1)}. They are single blocks, not whole days.\n`,
  );
}

function welcome(url: string, { PROFILE, DATA_DIR, CLICKHOUSE_URL }: Config, version: string): string {
  const lines = [
    ['plots and chains', `${url}/`],
    ['every path, to try', `${url}/docs`],
    ['an example', `${url}/api/daily-tps?relay_chain=polkadot`],
    ['heights, holes, lag', `${url}/api/status`],
    ['accounts and keys', `${url}/profile`],
    ['alerts', `${url}/projects`],
    ['health', `${url}/health/ready`],
    PROFILE === 'embedded' ? ['data directory', DATA_DIR] : ['store', CLICKHOUSE_URL],
  ];
  const width = Math.max(...lines.map(([label]) => (label as string).length));
  return [
    '',
    `Chain Metrics ${version} answers on ${url}`,
    '',
    ...lines.map(([label, value]) => `  ${(label as string).padEnd(width)}  ${value}`),
    '',
    'Load blocks with `chain-metrics ingest PATH…` from another terminal; stop with Ctrl-C.',
    '',
  ].join('\n');
}

/** Listens and returns the address that a person can open. */
async function listen(app: FastifyInstance, { HOST, PORT }: Pick<Config, 'HOST' | 'PORT'>): Promise<string> {
  try {
    await app.listen({ host: HOST, port: PORT });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      EADDRINUSE: `PORT=${PORT}: something else listens on it already; set PORT to a free one, or to 0`,
      EACCES: `PORT=${PORT}: this user may not listen on it; set PORT to one above 1023`,
      EADDRNOTAVAIL: `HOST=${HOST}: this machine does not have that address`,
      ENOTFOUND: `HOST=${HOST}: no such host`,
    };
    throw new ProductError(
      'setting_invalid',
      reasons[code ?? ''] ?? `HOST=${HOST}, PORT=${PORT}: ${reasonOf(error)}`,
    );
  }
  return listeningUrl(app, { HOST, PORT });
}

/** Everything that was opened, closed in reverse when a signal asks for it, and not waited for longer than allowed. */
function onStop({ STOP_SECONDS_MAX }: Config) {
  const closers: (() => Promise<unknown>)[] = [];
  const asked = Promise.withResolvers<void>();
  const stop = {
    isAsked: false,
    asked: asked.promise,
    log: null as FastifyInstance['log'] | null,
    first: (close: () => Promise<unknown>) => closers.unshift(close),
    now: async () => {
      for (let close = closers.shift(); close; close = closers.shift()) await close();
    },
  };
  const onSignal = (signal: string) => {
    // Ctrl-C reaches every process of a terminal, and wrappers pass it on: the same wish may come twice.
    if (stop.isAsked) return;
    stop.isAsked = true;
    stop.log?.info({ signal }, 'stopping');
    setTimeout(() => {
      say(
        `chain-metrics: did not stop within STOP_SECONDS_MAX=${STOP_SECONDS_MAX}; what was acknowledged is safe`,
      );
      killSelf();
    }, STOP_SECONDS_MAX * 1000).unref();
    stop.now().then(asked.resolve, asked.reject);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => onSignal(signal));
  return stop;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
