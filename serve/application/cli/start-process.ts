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
import { loadSources } from './load-sources.ts';
import { ProcessStop } from './process-stop.ts';

interface StartOptions {
  readonly config: Config;
  readonly roles: ReadonlySet<ProcessRole>;
  /** Loaded into an empty store. */
  readonly firstData?: FirstData | undefined;
  /** Followed in addition to FOLLOW. */
  readonly sources?: Sources | undefined;
  /** Whether to load also the past blocks of `sources`. */
  readonly loadsSources?: boolean;
  readonly version: string;
}

/** Runs a process until a signal stops it. Messages go to standard error, the log to standard output. */
export async function startProcess(options: StartOptions): Promise<number> {
  const { roles, firstData, version } = options;
  const isServer = roles.has('serve');
  const stop = new ProcessStop(options.config, isServer);
  try {
    // On a terminal the welcome is enough.
    const quiet = process.stdout.isTTY && process.env.LOG_LEVEL === undefined;
    const config: Config = quiet ? { ...options.config, LOG_LEVEL: 'warn' } : options.config;
    const logger = openLogger(config);
    const needed = servicesOf(roles);
    const reportNewStore = watchForNewStore(config.DATA_DIR);
    const pipeline = await createPipeline(config, { roles, needed, waits: true, logger });
    const { health } = pipeline;
    stop.addFirst(() => pipeline.close());
    stop.health = health;
    const isDistributed = config.PROFILE === 'distributed';
    const operator = isDistributed
      ? await listen(await buildOperatorServer(pipeline, !isServer), operatorAddress(config))
      : null;
    // Probes must answer until everything else is closed.
    if (operator) stop.addLast(() => operator.app.close());
    await Promise.race([pipeline.start(), stop.ended]);
    if (stop.isRequested) {
      await stop.ended;
      return EXIT.ok;
    }
    reportNewStore();
    const client = new LocalClient(pipeline);
    const loadDemo = firstData === 'demo' ? await prepareDemo(pipeline, say) : null;
    const server = isServer ? await buildServer(pipeline) : null;
    if (server) stop.addFirst(() => server.close());
    // Only a distributed process can lack the role `serve`, and every distributed process has an operator server.
    const { app, url } = server ? await listen(server, serverAddress(config)) : (operator as Listening);
    stop.log = app.log;
    health.markStarted();
    for (const warning of pipeline.runtime.warnings) app.log.warn(warning);
    for (const damage of pipeline.runtime.damage.list()) app.log.error({ damage }, 'stored data are damaged');
    if (!isDistributed) {
      const socket = await openOperationSocket(client, config.DATA_DIR, app.log).catch((error) => {
        app.log.warn(
          { err: error },
          'the socket for commands could not be opened: stop the server to run commands',
        );
        return null;
      });
      if (socket) stop.addFirst(() => socket.close());
    }
    if (firstData === 'sample') await loadSample(pipeline, client, say);
    if (roles.has('ingest')) stop.addFirst(follow(pipeline, client, app.log));
    if (options.sources) stop.addFirst(followFile(options.sources, config, client, app.log));
    say(
      isServer
        ? welcome(url, pipeline, version, loadDemo !== null)
        : `Chain Metrics ${version}, ${[...roles].join(' and ')}: ${url}/health/ready\n`,
    );
    if (loadDemo) inBackground('demo data', (signal) => loadDemo(client, say, signal), stop);
    const { sources, loadsSources = false } = options;
    if (sources && loadsSources)
      inBackground('blocks', (signal) => loadSources(sources, { client, config, say, signal }), stop);
    return await exitCodeOf(pipeline, stop);
  } catch (error) {
    if (stop.isRequested) await stop.ended;
    else await stop.closeAll();
    if (stop.isRequested) return EXIT.ok;
    throw error;
  }
}

/** Follows the chains of FOLLOW. */
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

/** Loads data while the process serves. A stop waits for running batches; a failure is only logged. */
function inBackground(what: string, load: (signal: AbortSignal) => BackgroundLoad, stop: ProcessStop): void {
  const ending = new AbortController();
  const { loaded, ready } = load(ending.signal);
  ready.catch((error) => {
    if (!ending.signal.aborted)
      stop.log?.error(
        { err: error },
        `${what} could not be loaded completely: restart the process to continue`,
      );
  });
  stop.addFirst(async () => {
    ending.abort();
    // `ready` has logged its failure.
    await loaded.catch(ignore('start.load'));
  });
}

/**
 * Waits for the end of the process. If another version migrates the store, the exit code is a failure, so that a supervisor
 * restarts the process, which then waits for its schema.
 */
async function exitCodeOf({ schema }: Pipeline, stop: ProcessStop): Promise<number> {
  let exitCode: number = EXIT.ok;
  void schema.replaced.then(() => {
    exitCode = EXIT.failure;
    say(
      'chain-metrics: another version is migrating the store, so this process ends; restart it to wait for its schema',
    );
    stop.request('another version is migrating the store');
  });
  await stop.ended;
  return exitCode;
}

interface Listening {
  readonly app: FastifyInstance;
  readonly url: string;
}

/** Links use PUBLIC_URL. The first line and the probe use the address of the socket. */
function welcome(url: string, { runtime, config }: Pipeline, version: string, isDemo: boolean): string {
  const { PUBLIC_URL: base = url } = config;
  const lines: [label: string, value: string][] = [
    ['web pages', `${base}/`],
    ['API reference', `${base}/docs`],
    ['an example', `${base}/api/daily-tps?relay_chain=polkadot`],
    ['status', `${base}/api/status`],
    ['accounts and keys', `${base}/profile`],
    ['alerts', `${base}/projects`],
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
      ? 'To load your own blocks, set DATA_DIR to another directory. Stop with Ctrl-C.'
      : 'Load blocks with `chain-metrics ingest PATH…` in another terminal. Stop with Ctrl-C.',
    '',
  ].join('\n');
}

/** Listens, and returns the URL to open. */
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
