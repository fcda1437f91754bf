import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../aggregate/engine.ts';
import type { Config } from '../../infra/config.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { buildApp } from '../app.ts';
import { openControl } from '../control.ts';
import { openDisplay } from './display.ts';
import { EXIT, killSelf } from './failure.ts';
import { ingestInputs } from './ingest.ts';
import { findInputs } from './inputs.ts';
import { LocalOperator } from './local.ts';
import { openEngine } from './open.ts';
import { plural } from './words.ts';

const SAMPLE = fileURLToPath(new URL('../../ingest/sample', import.meta.url));

/** Serves until it is told to stop. What is said to people goes to standard error, the log to standard output. */
export async function startCommand(
  { sample = false }: { sample?: boolean },
  given: Config,
  version: string,
): Promise<number> {
  const stop = onStop(given);
  try {
    // On a terminal the block below says what a person needs; the log's own lines are for machines.
    const quiet = process.stdout.isTTY && process.env.LOG_LEVEL === undefined;
    const config: Config = quiet ? { ...given, LOG_LEVEL: 'warn' } : given;
    const engine = await openEngine(config);
    stop.first(() => engine.close());
    const operator = new LocalOperator(engine);
    const app = await buildApp(engine);
    stop.first(() => app.close());
    const url = await listen(app, config);
    stop.log = app.log;
    const control = await openControl(operator, config.DATA_DIR, app.log).catch((error) => {
      app.log.warn({ err: error }, 'other processes cannot hand work to this one');
      return null;
    });
    if (control) stop.first(() => control.close());
    if (sample) await loadSample(engine, operator);
    say(welcome(url, config, version));
    await stop.asked;
    return EXIT.ok;
  } catch (error) {
    if (stop.isAsked) await stop.asked;
    else await stop.now();
    if (stop.isAsked) return EXIT.ok;
    throw error;
  }
}

async function loadSample(engine: Engine, operator: LocalOperator): Promise<void> {
  const { DATA_DIR } = engine.config;
  if (!(await engine.isEmpty())) {
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

function welcome(url: string, { DATA_DIR }: Config, version: string): string {
  const lines = [
    ['every path, to try', `${url}/docs`],
    ['an example', `${url}/api/daily-tps?relay_chain=polkadot`],
    ['heights, holes, lag', `${url}/api/status`],
    ['health', `${url}/health/ready`],
    ['data directory', DATA_DIR],
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
async function listen(app: FastifyInstance, { HOST, PORT }: Config): Promise<string> {
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
  const address = app.server.address();
  const port = typeof address === 'object' && address ? address.port : PORT;
  const host = ['0.0.0.0', '::'].includes(HOST) ? 'localhost' : HOST.includes(':') ? `[${HOST}]` : HOST;
  return `http://${host}:${port}`;
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
