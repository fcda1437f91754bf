import type { Readable } from 'node:stream';
import { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { aggregateModule } from '../../../aggregate/composition/module.ts';
import { RawRetention } from '../../../aggregate/retention/raw-retention.ts';
import { Aggregator } from '../../../aggregate/runner/aggregator.ts';
import type { FailedMetric } from '../../../aggregate/runner/failures.ts';
import { readNewestNumber } from '../../../aggregate/runner/ledger.ts';
import { aggregatorLimits } from '../../../aggregate/settings.ts';
import { ignore } from '../../../infra/ignore.ts';
import { type Logger, openLogger } from '../../../infra/logger.ts';
import type { Clock, Numbers, Runtime, Service } from '../../../infra/ports.ts';
import { openRuntime } from '../../../infra/runtime/open-runtime.ts';
import { instrumentRuntime } from '../../../infra/runtime/port-metrics.ts';
import { createReadinessCheck } from '../../../infra/runtime/readiness.ts';
import { startTracing } from '../../../infra/tracing/start-tracing.ts';
import { VERSION } from '../../../infra/version.ts';
import { type Registry, readRegistry } from '../../../ingest/chains/registry.ts';
import { DeadLetterRetention } from '../../../ingest/dead-letters/dead-letter-retention.ts';
import { DEAD_LETTER_BYTES_MAX } from '../../../ingest/dead-letters/dead-letters.ts';
import { Loader } from '../../../ingest/load/loader.ts';
import { loadedUpTo } from '../../../ingest/load/loads-in-progress.ts';
import { ingestModule } from '../../../ingest/module.ts';
import { writeRegistry } from '../../../ingest/raw/registry-table.ts';
import {
  type IngestOptions,
  type IngestSummary,
  type OpenSources,
  publish,
  type RunOptions,
} from '../../../ingest/sources/publish.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { ProcessHealth, recordServiceCheck } from '../../http/process-health.ts';
import { identityModule } from '../../identity/module.ts';
import { ALL_ROLES, ALL_SERVICES, type ProcessRole } from '../../settings/process-roles.ts';
import type { Config } from '../../settings/settings.ts';
import { createProcessMetrics, type ProcessMetrics } from './process-metrics.ts';
import { StoredSchema } from './stored-schema.ts';

// The composition root of a process: all domains are constructed here, for a profile and a set of roles.

/** The parts of a process. */
export interface Pipeline {
  readonly config: Config;
  readonly runtime: Runtime;
  readonly roles: ReadonlySet<ProcessRole>;
  readonly processMetrics: ProcessMetrics;
  readonly registry: Registry;
  readonly loader: Loader;
  readonly aggregator: Aggregator;
  readonly health: ProcessHealth;
  readonly schema: StoredSchema;
  /** Waits for the needed services, applies the schema and starts the roles. */
  start(): Promise<void>;
  /** Publishes one source to the log. Resolves if every line is durable; loading follows. */
  ingest(source: Readable, options: IngestOptions): Promise<IngestSummary>;
  /** Publishes several sources. Small sources are loaded together. */
  ingestAll(sources: OpenSources, options: RunOptions): Promise<IngestSummary>;
  /** Resolves if all lines that were published before are in the raw tables. */
  waitUntilLoaded(signal?: AbortSignal): Promise<void>;
  /** All changes of raw rows up to the returned number are stored. */
  loadedUpTo(): Promise<bigint>;
  /** Resolves if all lines that were published before are loaded and computed. Throws if a metric fails. */
  waitUntilComputed(): Promise<void>;
  /** Like `waitUntilComputed`, but returns the failed metrics. */
  settled(): Promise<readonly FailedMetric[]>;
  /** The alert pipeline. It starts with the first call, since many commands do not need it. */
  alerts(): Promise<AlertPipeline>;
  /** The identity domain. The first call opens it, and creates the secrets key if there is none. */
  accounts(): Accounts;
  close(): Promise<void>;
}

interface PipelineOptions {
  readonly clock?: Clock;
  readonly roles?: ReadonlySet<ProcessRole>;
  /** Services that must answer before the process starts or is ready; all if absent. */
  readonly needed?: ReadonlySet<Service>;
  /** Whether to wait for a schema that it may not apply, instead of failing. */
  readonly waits?: boolean;
  /** Silent if absent, since commands print their own messages. */
  readonly logger?: Logger;
}

/** Creates and starts a pipeline. */
export async function openPipeline(config: Config, options: PipelineOptions = {}): Promise<Pipeline> {
  const pipeline = await createPipeline(config, options);
  try {
    await pipeline.start();
    pipeline.health.markStarted();
    return pipeline;
  } catch (error) {
    await pipeline.close();
    throw error;
  }
}

/** Opens the ports and constructs the domains. No service has to answer yet. */
export async function createPipeline(
  config: Config,
  {
    clock,
    roles = ALL_ROLES,
    needed = ALL_SERVICES,
    waits = false,
    logger = openLogger({ LOG_LEVEL: 'silent' }),
  }: PipelineOptions = {},
): Promise<Pipeline> {
  const registry = readRegistry(config);
  const consumed = [...ingestModule.consumed, ...aggregateModule.consumed];
  const processMetrics = createProcessMetrics();
  const stopTracing = await startTracing({ version: VERSION, roles: [...roles] }, logger);
  const runtime = instrumentRuntime(await openRuntime(config, consumed, clock), processMetrics.ports);
  return construct({ config, runtime, stopTracing, processMetrics, registry, roles, needed, waits, logger });
}

interface Parts {
  readonly config: Config;
  readonly runtime: Runtime;
  readonly stopTracing: () => Promise<void>;
  readonly processMetrics: ProcessMetrics;
  readonly registry: Registry;
  readonly roles: ReadonlySet<ProcessRole>;
  readonly needed: ReadonlySet<Service>;
  readonly waits: boolean;
  readonly logger: Logger;
}

async function startRoles(
  { runtime, registry, roles, needed }: Parts,
  { loader, aggregator, schema, health }: Pick<Pipeline, 'loader' | 'aggregator' | 'schema' | 'health'>,
): Promise<void> {
  await runtime.connect(needed);
  // A process without the store only publishes to the log.
  if (!needed.has('store')) return;
  await schema.open(() => health.setWaitsFor('the schema of the store'));
  health.setWaitsFor(null);
  await writeRegistry(runtime.store, runtime.clock, registry);
  if (roles.has('load')) await loader.start();
  await (roles.has('work') ? aggregator.start() : aggregator.followVersions(roles.has('serve')));
}

function construct(parts: Parts): Pipeline {
  const { config, runtime, processMetrics: metrics, registry, roles, needed, waits, logger } = parts;
  const { store, log, keyValue } = runtime;
  const numbers = lazyNumbers(() => runtime.openSequence(() => readNewestNumber(store)));
  const aggregator = new Aggregator({
    runtime,
    numbers,
    ...aggregatorLimits(config),
    logger,
    runnerMetrics: metrics.computation,
  });
  const loader = new Loader({
    runtime,
    registry,
    numbers,
    leaseMs: config.LEASE_MS,
    deadLetterBytes: DEAD_LETTER_BYTES_MAX,
    onLoaded: () => aggregator.requestRound(),
    metrics: metrics.loads,
  });
  const retentions = retentionsOf(parts, aggregator);
  const waitUntilLoaded = async (signal?: AbortSignal) => {
    for (const { topic, group } of ingestModule.consumed) await log.waitUntilConsumed(topic, group, signal);
  };
  const schema = new StoredSchema({ runtime, config, roles, waits });
  const health = new ProcessHealth(
    createReadinessCheck(runtime, config, needed, recordServiceCheck(metrics.health)),
    () => runtime.damage.list().length > 0,
  );
  const alerts = memoize(() => startAlerts(parts));
  return {
    config,
    runtime,
    roles,
    processMetrics: metrics,
    registry,
    loader,
    aggregator,
    health,
    schema,
    start: async () => {
      await startRoles(parts, { loader, aggregator, schema, health });
      if (roles.has('load')) for (const retention of retentions) retention.start();
    },
    ...publishers(parts),
    waitUntilLoaded,
    loadedUpTo: async () => loadedUpTo(keyValue, await numbers.take(1)),
    waitUntilComputed: async () => {
      await waitUntilLoaded();
      await aggregator.waitUntilComputed();
    },
    settled: async () => {
      await waitUntilLoaded();
      return aggregator.waitForFailures();
    },
    alerts,
    accounts: memoize(() =>
      identityModule.open({ ...runtime, settings: config, metrics: metrics.identity, openPersonalData }),
    ),
    close: async () => {
      aggregator.stop();
      for (const retention of retentions) retention.stop();
      schema.stop();
      // If alerts failed to start, their caller got the error, and there is nothing to stop.
      await (await alerts.current?.catch(ignore('alerts.start')))?.stop();
      await runtime.close();
      await parts.stopTracing();
    },
  };
}

/** Imported on first use, so that commands without accounts start faster. */
async function openPersonalData(accounts: Accounts) {
  const { AlertPersonalData } = await import('../../alerts/composition/personal-data.ts');
  return [new AlertPersonalData(accounts)];
}

const startAlerts = ({ runtime, config, roles, logger }: Parts) =>
  AlertPipeline.start(runtime, config, {
    processes: roles.has('serve'),
    onFailure: (error) => logger.error({ err: error }, 'alert events cannot be written'),
  });

function retentionsOf({ config, runtime, logger }: Parts, aggregator: Aggregator) {
  const shared = { runtime, logger, leaseMs: config.LEASE_MS };
  return [
    new DeadLetterRetention({ ...shared, days: config.RETENTION_DEAD_LETTERS_DAYS }),
    new RawRetention({
      ...shared,
      days: config.RETENTION_RAW_DAYS,
      isLoading: () => aggregator.isPaused,
    }),
  ];
}

function publishers(parts: Parts): Pick<Pipeline, 'ingest' | 'ingestAll'> {
  const limits = publishLimits(parts);
  const ingestAll: Pipeline['ingestAll'] = (sources, options) =>
    publish(parts.runtime, parts.registry, sources, options, limits);
  return {
    ingestAll,
    ingest: (bytes, { run, onProgress, ...source }) => ingestAll([{ ...source, bytes }], { run, onProgress }),
  };
}

/** A line must fit into one message of the log. */
function publishLimits({ config, runtime: { log }, processMetrics }: Parts) {
  const isMessageSmaller = log.messageBytesMax < config.LINE_BYTES_MAX;
  return {
    batchBytes: config.BATCH_BYTES,
    lineBytes: Math.min(config.LINE_BYTES_MAX, log.messageBytesMax),
    lineSetting: isMessageSmaller ? 'KAFKA_MESSAGE_BYTES' : 'LINE_BYTES_MAX',
    messageBytes: log.messageBytesMax,
    deadLetterBytes: DEAD_LETTER_BYTES_MAX,
    metrics: processMetrics.sources,
  };
}

/** Opens the sequence with its first use, because it reads tables that the start creates. */
function lazyNumbers(open: () => Promise<Numbers>): Numbers {
  const opened = memoize(open);
  return { take: async (size) => (await opened()).take(size) };
}

/** Caches the value of the first call, unless it is a promise that rejects. `current` is undefined before. */
function memoize<Value>(create: () => Value): (() => Value) & { readonly current: Value | undefined } {
  let current: Value | undefined;
  const get = () => {
    if (current !== undefined) return current;
    const value = create();
    current = value;
    if (value instanceof Promise)
      value.catch(() => {
        current = undefined;
      });
    return value;
  };
  return Object.defineProperty(get, 'current', { get: () => current }) as typeof get & {
    current: Value | undefined;
  };
}
