import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { ProductError } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import { openLogger } from '../../../infra/logger.ts';
import type { Sources } from '../../../ingest/backfill/sources-file.ts';
import { startIngestRole } from '../../../ingest/follow/role.ts';
import {
  describeListenError,
  type ListenAddress,
  operatorAddress,
  serverAddress,
} from '../../http/listen-address.ts';
import { listeningUrl } from '../../http/public-url.ts';
import { type ProcessRole, servicesOf } from '../../settings/process-roles.ts';
import type { Config } from '../../settings/settings.ts';
import { createPipeline, type Pipeline } from '../compose/compose.ts';
import { buildOperatorServer, buildServer } from '../compose/compose-server.ts';
import { LocalClient } from '../operations/client.ts';
import { openOperationSocket } from '../operations/socket-server.ts';
import { watchForNewStore } from './command.ts';
import { EXIT } from './failure.ts';
import { type BackgroundLoad, type FirstData, loadSample, prepareDemo } from './first-data.ts';
import { keepFollowingSources } from './follow-sources.ts';
import { ingestTarget } from './ingest-target.ts';
import { loadBeside } from './load-beside.ts';
import { ProcessStop } from './process-stop.ts';

interface StartOptions {
  readonly config: Config;
  readonly roles: ReadonlySet<ProcessRole>;
  /** What an empty store gets first; nothing when absent. */
  readonly firstData?: FirstData | undefined;
  /** Followed beside those of the settings. */
  readonly sources?: Sources | undefined;
  /** Whether the blocks that these sources have are loaded too. */
  readonly loadsSources?: boolean;
  readonly version: string;
}

/** Runs a process with its roles until a signal stops it. Texts for people go to standard error, the log to standard output. */
export async function startProcess(options: StartOptions): Promise<number> {
  const { roles, firstData, version } = options;
  const isServer = roles.has('serve');
  const stop = new ProcessStop(options.config, isServer);
  try {
    // On a terminal the welcome says what a person needs; the lines of the log are for machines.
    const quiet = process.stdout.isTTY && process.env.LOG_LEVEL === undefined;
    const config: Config = quiet ? { ...options.config, LOG_LEVEL: 'warn' } : options.config;
    const logger = openLogger(config);
    const needed = servicesOf(roles);
    const tellNewStore = watchForNewStore(config.DATA_DIR);
    const pipeline = await createPipeline(config, { roles, needed, waits: true, logger });
    const { health } = pipeline;
    stop.first(() => pipeline.close());
    stop.health = health;
    const isDistributed = config.PROFILE === 'distributed';
    const operator = isDistributed
      ? await listen(await buildOperatorServer(pipeline, !isServer), operatorAddress(config))
      : null;
    // Probes are answered until everything else has ended.
    if (operator) stop.last(() => operator.app.close());
    await Promise.race([pipeline.start(), stop.ended]);
    if (stop.isAsked) {
      await stop.ended;
      return EXIT.ok;
    }
    tellNewStore();
    const client = new LocalClient(pipeline);
    const loadDemo = firstData === 'demo' ? await prepareDemo(pipeline, say) : null;
    const server = isServer ? await buildServer(pipeline) : null;
    if (server) stop.first(() => server.close());
    // A process without the role `serve` is one of several.
    const { app, url } = server ? await listen(server, serverAddress(config)) : (operator as Listening);
    stop.log = app.log;
    health.markStarted();
    for (const warning of pipeline.runtime.warnings) app.log.warn(warning);
    for (const damage of pipeline.runtime.damage.list()) app.log.error({ damage }, 'stored data are damaged');
    if (!isDistributed) {
      const socket = await openOperationSocket(client, config.DATA_DIR, app.log).catch((error) => {
        app.log.warn({ err: error }, 'commands of other processes cannot reach this one');
        return null;
      });
      if (socket) stop.first(() => socket.close());
    }
    if (firstData === 'sample') await loadSample(pipeline, client, say);
    if (roles.has('ingest')) stop.first(follow(pipeline, client, app.log));
    if (options.sources) stop.first(followFile(options.sources, config, client, app.log));
    say(
      isServer
        ? welcome(url, pipeline, version, loadDemo !== null)
        : `Chain Metrics ${version}, ${[...roles].join(' and ')}: ${url}/health/ready\n`,
    );
    if (loadDemo) inBackground('demo data', (signal) => loadDemo(client, say, signal), stop);
    const { sources, loadsSources = false } = options;
    if (sources && loadsSources)
      inBackground('blocks', (signal) => loadBeside(sources, { client, config, say, signal }), stop);
    return await exitCodeOf(pipeline, stop);
  } catch (error) {
    if (stop.isAsked) await stop.ended;
    else await stop.now();
    if (stop.isAsked) return EXIT.ok;
    throw error;
  }
}

/** Follows the chains of the settings. */
const follow = ({ config, runtime, processMetrics }: Pipeline, client: LocalClient, log: FastifyBaseLogger) =>
  startIngestRole({
    ...runtime,
    target: ingestTarget(client),
    settings: config,
    log,
    metrics: processMetrics.sources,
  });

function followFile(sources: Sources, config: Config, client: LocalClient, log: FastifyBaseLogger) {
  const { FOLLOW_BEST: best, FOLLOW_SNAPSHOTS: snapshots } = config;
  const options = { best, snapshots };
  return keepFollowingSources(sources, { client, config, options, say: (text) => log.info(text) });
}

/** Loads beside serving. A stop waits for the batches that are being loaded; a failure stops nothing else. */
function inBackground(what: string, load: (signal: AbortSignal) => BackgroundLoad, stop: ProcessStop): void {
  const ending = new AbortController();
  const { loaded, ready } = load(ending.signal);
  ready.catch((error) => {
    if (!ending.signal.aborted) stop.log?.error({ err: error }, `${what} are not loaded: start again`);
  });
  stop.first(async () => {
    ending.abort();
    // `ready` has logged its failure.
    await loaded.catch(ignore('start.load'));
  });
}

/** The exit code when the process has ended; one that must write nothing more fails, and waits at its next start. */
async function exitCodeOf({ schema }: Pipeline, stop: ProcessStop): Promise<number> {
  let exitCode: number = EXIT.ok;
  void schema.replaced.then(() => {
    exitCode = EXIT.failure;
    say('chain-metrics: another version migrates the store, so this process ends');
    stop.ask('another version migrates the store');
  });
  await stop.ended;
  return exitCode;
}

interface Listening {
  readonly app: FastifyInstance;
  readonly url: string;
}

/** Links are those that a browser elsewhere opens; the first line and the probe have the address that listens. */
function welcome(url: string, { runtime, config }: Pipeline, version: string, isDemo: boolean): string {
  const { PUBLIC_URL: opened = url } = config;
  const lines: [label: string, value: string][] = [
    ['web pages', `${opened}/`],
    ['API reference', `${opened}/docs`],
    ['an example', `${opened}/api/daily-tps?relay_chain=polkadot`],
    ['status', `${opened}/api/status`],
    ['accounts and keys', `${opened}/profile`],
    ['alerts', `${opened}/projects`],
    ['health', `${url}/health/ready`],
    ['data', runtime.location],
  ];
  const width = Math.max(...lines.map(([label]) => label.length));
  return [
    '',
    `Chain Metrics ${version} answers on ${url}`,
    '',
    ...lines.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`),
    '',
    isDemo
      ? 'For blocks of your own set DATA_DIR to another directory; stop with Ctrl-C.'
      : 'Load blocks with `chain-metrics ingest PATH…` from another terminal; stop with Ctrl-C.',
    '',
  ].join('\n');
}

/** Listens and returns the address that a person can open. */
async function listen(app: FastifyInstance, address: ListenAddress): Promise<Listening> {
  const { host, port } = address;
  try {
    await app.listen({ host: host.value, port: port.value });
  } catch (error) {
    throw new ProductError('setting_invalid', describeListenError(address, error));
  }
  return { app, url: listeningUrl(app, { HOST: host.value, PORT: port.value }) };
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
