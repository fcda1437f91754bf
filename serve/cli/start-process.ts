import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { isEmpty } from '../../ingest/raw/is-empty.ts';
import { startIngestRole } from '../../ingest/role.ts';
import { openPipeline, type Pipeline } from '../compose.ts';
import { buildOperatorServer, buildServer } from '../compose-server.ts';
import { listeningUrl } from '../http/public-url.ts';
import { LocalClient, type OperationClient } from '../operations/client.ts';
import { openOperationSocket } from '../operations/socket-server.ts';
import type { ProcessRole } from '../process-roles.ts';
import type { Config } from '../settings.ts';
import { openDisplay } from './display.ts';
import { EXIT, killSelf } from './failure.ts';
import { ingestInputs } from './ingest-inputs.ts';
import { ingestTarget } from './ingest-target.ts';
import { findInputs } from './inputs.ts';
import { plural } from './words.ts';

const SAMPLE = fileURLToPath(new URL('../../ingest/sample', import.meta.url));

export interface StartOptions {
  readonly config: Config;
  readonly roles: ReadonlySet<ProcessRole>;
  /** Whether an empty store gets the recorded sample first. */
  readonly loadsSample: boolean;
  readonly version: string;
}

/** Runs a process with its roles until a signal stops it. Texts for people go to standard error, the log to standard output. */
export async function startProcess(options: StartOptions): Promise<number> {
  const { roles, loadsSample, version } = options;
  const stop = onStop(options.config);
  try {
    // On a terminal the welcome says what a person needs; the lines of the log are for machines.
    const quiet = process.stdout.isTTY && process.env.LOG_LEVEL === undefined;
    const config: Config = quiet ? { ...options.config, LOG_LEVEL: 'warn' } : options.config;
    const pipeline = await openPipeline(config, { roles });
    stop.first(() => pipeline.close());
    const client = new LocalClient(pipeline);
    const isServer = roles.has('serve');
    const app = await (isServer ? buildServer(pipeline) : buildOperatorServer(pipeline));
    stop.first(() => app.close());
    const url = await listen(app, isServer ? config : operatorAddress(config));
    stop.log = app.log;
    for (const warning of pipeline.runtime.warnings) app.log.warn(warning);
    for (const damage of pipeline.runtime.damage.list()) app.log.error({ damage }, 'stored data are damaged');
    if (!pipeline.runtime.isShared) {
      const socket = await openOperationSocket(client, config.DATA_DIR, app.log).catch((error) => {
        app.log.warn({ err: error }, 'commands of other processes cannot reach this one');
        return null;
      });
      if (socket) stop.first(() => socket.close());
    }
    if (loadsSample) await loadSample(pipeline, client);
    if (roles.has('ingest')) {
      stop.first(
        startIngestRole({
          target: ingestTarget(client),
          settings: config,
          keyValue: pipeline.runtime.keyValue,
          log: app.log,
        }),
      );
    }
    say(
      isServer
        ? welcome(url, pipeline, version)
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

const operatorAddress = ({ OPERATOR_HOST: HOST, OPERATOR_PORT: PORT }: Config) => ({ HOST, PORT });

async function loadSample({ runtime }: Pipeline, client: OperationClient): Promise<void> {
  if (!(await isEmpty(runtime.store))) {
    say(`${runtime.location} holds data already: the sample is not loaded.\n`);
    return;
  }
  const inputs = await findInputs([SAMPLE]);
  say(
    `${runtime.location} is empty: loading the sample, recorded blocks of ${plural(inputs.length, 'chain')}.\n`,
  );
  const report = await ingestInputs(client, inputs, undefined, openDisplay(process.stderr));
  const chains = await client.call('coverage', {});
  const days = chains
    .flatMap(({ first_day, last_day }) => [first_day, last_day])
    .filter((day) => day !== null)
    .sort();
  say(
    `Loaded ${plural(report.blocks, 'block')} of ${chains.map(({ chain }) => chain).join(', ')}, ` +
      `from ${days[0]} to ${days.at(-1)}. They are single blocks, not whole days.\n`,
  );
}

function welcome(url: string, { runtime }: Pipeline, version: string): string {
  const lines: [label: string, value: string][] = [
    ['plots and chains', `${url}/`],
    ['every path, to try', `${url}/docs`],
    ['an example', `${url}/api/daily-tps?relay_chain=polkadot`],
    ['heights, holes, lag', `${url}/api/status`],
    ['accounts and keys', `${url}/profile`],
    ['alerts', `${url}/projects`],
    ['health', `${url}/health/ready`],
    [runtime.isShared ? 'store' : 'data directory', runtime.location],
  ];
  const width = Math.max(...lines.map(([label]) => label.length));
  return [
    '',
    `Chain Metrics ${version} answers on ${url}`,
    '',
    ...lines.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`),
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

/** Closes everything that was opened, in reverse, when a signal arrives; kills the process when that takes too long. */
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
    // Ctrl-C reaches every process of a terminal, and wrappers forward it: the same signal may arrive twice.
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
