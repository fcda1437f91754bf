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

// The composition root of a process: every domain is constructed here, and only here, for a profile and a set of roles.

/** The constructed parts of a process. The command line and the HTTP server take from it what they pass on. */
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
  /** Waits for the services that are needed, applies the schema and starts the roles. */
  start(): Promise<void>;
  /** Publishes one source to the log; returns when every line is durable, loaded or not. */
  ingest(source: Readable, options: IngestOptions): Promise<IngestSummary>;
  /** The same for several sources, of which small ones are loaded together. */
  ingestAll(sources: OpenSources, options: RunOptions): Promise<IngestSummary>;
  /** Resolves when everything that was published before is in the raw tables. */
  waitUntilLoaded(signal?: AbortSignal): Promise<void>;
  /** The number below which every change of raw rows is in the store; a change that is not has a higher one. */
  loadedUpTo(): Promise<bigint>;
  /** Resolves when everything that was published before is loaded and computed; throws where metrics fail. */
  waitUntilComputed(): Promise<void>;
  /** The same, but returns the metrics that fail. */
  settled(): Promise<readonly FailedMetric[]>;
  /** The alert pipeline, started at the first call: only servers and operators of alerts need it. */
  alerts(): Promise<AlertPipeline>;
  /** The identity domain, opened at the first call: it creates the secrets key when there is none. */
  accounts(): Accounts;
  /** Alerts that did not start have nothing to write, and keep nothing from being closed. */
  close(): Promise<void>;
}

interface PipelineOptions {
  readonly clock?: Clock;
  readonly roles?: ReadonlySet<ProcessRole>;
  /** The services without which it does not start and is not ready; all when absent. */
  readonly needed?: ReadonlySet<Service>;
  /** Whether it waits for a schema that it may not apply, instead of failing. */
  readonly waits?: boolean;
  /** Of a process that runs on; a command says what happened itself. */
  readonly logger?: Logger;
}

/** A process that has started. */
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

/** Opens the ports and constructs the domains, before any service answers. */
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
  // A process that does without the store only publishes.
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
  const numbers = lateNumbers(() => runtime.openSequence(() => readNewestNumber(store)));
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
  const alerts = once(() => startAlerts(parts));
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
      if (roles.has('load')) for (const one of retentions) one.start();
    },
    ...ingesting(parts),
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
    accounts: once(() =>
      identityModule.open({ ...runtime, settings: config, metrics: metrics.identity, openPersonalData }),
    ),
    close: async () => {
      aggregator.stop();
      for (const one of retentions) one.stop();
      schema.stop();
      // Who asked for alerts that did not start got the error: there is nothing to stop.
      await (await alerts.made?.catch(ignore('alerts.start')))?.stop();
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

function ingesting(parts: Parts): Pick<Pipeline, 'ingest' | 'ingestAll'> {
  const limits = publishing(parts);
  const ingestAll: Pipeline['ingestAll'] = (sources, options) =>
    publish(parts.runtime, parts.registry, sources, options, limits);
  return {
    ingestAll,
    ingest: (bytes, { run, onProgress, ...source }) => ingestAll([{ ...source, bytes }], { run, onProgress }),
  };
}

/** A line must fit into one message of the log. */
function publishing({ config, runtime: { log }, processMetrics }: Parts) {
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

/** A sequence that is opened with its first use: it reads tables that a start has to create. */
function lateNumbers(open: () => Promise<Numbers>): Numbers {
  const opened = once(open);
  return { take: async (size) => (await opened()).take(size) };
}

/** A value that is made at the first call, and again after one that failed; `made` is undefined until then. */
function once<Value>(make: () => Value): (() => Value) & { readonly made: Value | undefined } {
  let made: Value | undefined;
  const get = () => {
    if (made !== undefined) return made;
    const value = make();
    made = value;
    if (value instanceof Promise)
      value.catch(() => {
        made = undefined;
      });
    return value;
  };
  return Object.defineProperty(get, 'made', { get: () => made }) as typeof get & { made: Value | undefined };
}
