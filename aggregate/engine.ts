import type { Readable } from 'node:stream';
import { applySchema, type Schema } from '../infra/clickhouse/schema.ts';
import { sql } from '../infra/clickhouse/sql.ts';
import { Locks, Mutex } from '../infra/coordination/lock.ts';
import { type Numbers, Sequence, SharedSequence } from '../infra/coordination/sequence.ts';
import { ProductError, reasonOf } from '../infra/errors.ts';
import { openRuntime } from '../infra/open-runtime.ts';
import type { Clock, Runtime } from '../infra/ports.ts';
import { loadRegistry, type Registry } from '../ingest/chains/registry.ts';
import { Loader, type Loads, TOPICS } from '../ingest/loader.ts';
import { type IngestOptions, type IngestSummary, publish } from '../ingest/log/publish.ts';
import { blocks, chains, deadLetters, dirtyDays, rawTables } from '../ingest/raw/tables.ts';
import { blockLandingTables, blockViews } from '../ingest/raw/views/blocks.ts';
import { snapshotsIn, snapshotViews } from '../ingest/raw/views/snapshots.ts';
import type { Config } from '../serve/settings.ts';
import { AlertPipeline } from './alerts/pipeline.ts';
import { materializedMetrics } from './metrics/index.ts';
import { Aggregator } from './runner/aggregator.ts';
import { computedWindows, ledgerTables, resetWatermark, watermarks } from './runner/ledger.ts';

export const schema: Schema = {
  tables: [...rawTables, ...blockLandingTables, snapshotsIn, ...ledgerTables],
  derived: materializedMetrics.map((metric) => metric.table),
  views: [...blockViews, ...snapshotViews],
  forget: (store, table) => resetWatermark(store, table.name),
};

/** What a process of the distributed profile may be there for. */
export const PROCESS_ROLES = ['ingest', 'load', 'work', 'serve'] as const;
export type ProcessRole = (typeof PROCESS_ROLES)[number];
export const ALL_ROLES: ReadonlySet<ProcessRole> = new Set(PROCESS_ROLES);

/** How old a process may take a metric's version to be that another process has computed. */
const VERSIONS_MS = 50;

/** Everything below the HTTP layer, wired: what the server and the command line both stand on. */
export class Engine {
  readonly config: Config;
  readonly runtime: Runtime;
  readonly registry: Registry;
  readonly aggregator: Aggregator;
  readonly #loader: Loader;
  #alerts: Promise<AlertPipeline> | undefined;
  #decidesOnAlerts = true;

  private constructor(config: Config, runtime: Runtime, registry: Registry, numbers: Numbers) {
    this.config = config;
    this.runtime = runtime;
    this.registry = registry;
    const gate = new Mutex();
    const isShared = config.PROFILE === 'distributed';
    this.aggregator = new Aggregator({
      runtime,
      numbers,
      gate,
      concurrency: config.WORK_CONCURRENCY,
      leaseMs: config.LEASE_MS,
      ...(isShared ? { shared: { sweepMs: config.SWEEP_SECONDS * 1000, versionsMs: VERSIONS_MS } } : {}),
    });
    this.#loader = new Loader({
      runtime,
      registry,
      numbers,
      gate,
      leaseMs: config.LEASE_MS,
      deadLetterBytes: config.DEAD_LETTER_BYTES_MAX,
      onTouched: () => this.aggregator.requestRound(),
    });
  }

  /** Opens the profile's ports and takes up the roles; the embedded profile is one process with all of them. */
  static async open(
    config: Config,
    clock?: Clock,
    roles: ReadonlySet<ProcessRole> = ALL_ROLES,
  ): Promise<Engine> {
    const registry = readRegistry(config);
    const runtime = await openRuntime(config, Object.values(TOPICS), clock);
    try {
      const fsync = config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
      const locks = new Locks(runtime.keyValue, { ttlMs: config.LEASE_MS });
      await locks.run('schema', () => applySchema(runtime.store, schema, fsync));
      const newest = () => newestSequence(runtime);
      const numbers =
        config.PROFILE === 'distributed'
          ? new SharedSequence(runtime.keyValue, runtime.clock, newest)
          : new Sequence(runtime.clock, await newest());
      await writeRegistry(runtime, registry);
      const engine = new Engine(config, runtime, registry, numbers);
      engine.#decidesOnAlerts = roles.has('serve');
      if (roles.has('load')) await engine.#loader.start();
      await (roles.has('work')
        ? engine.aggregator.start()
        : engine.aggregator.followVersions(roles.has('serve')));
      return engine;
    } catch (error) {
      await runtime.close();
      throw error;
    }
  }

  /** Takes in one source; every metric that it touches is up to date when `waitUntilComputed` has returned. */
  async ingest(bytes: Readable, options: IngestOptions): Promise<IngestSummary> {
    const { messageBytesMax } = this.runtime.log;
    return publish(this.runtime, this.registry, bytes, options, {
      batchBytes: this.config.BATCH_BYTES,
      lineBytes: Math.min(this.config.LINE_BYTES_MAX, messageBytesMax),
      lineSetting: messageBytesMax < this.config.LINE_BYTES_MAX ? 'KAFKA_MESSAGE_BYTES' : 'LINE_BYTES_MAX',
      deadLetterBytes: this.config.DEAD_LETTER_BYTES_MAX,
    });
  }

  /** Throws when a service that this process needs does not answer. */
  async ready(): Promise<void> {
    const { store, keyValue, log } = this.runtime;
    await Promise.all([store.rows(sql`SELECT 1`), keyValue.get('ready'), log.lag()]);
  }

  /** What this process has loaded since its start. */
  get loads(): Readonly<Loads> {
    return this.#loader.loads;
  }

  /** Resolves when what was published before is durable in the raw tables. */
  async loaded(): Promise<void> {
    for (const topic of Object.values(TOPICS)) await this.runtime.log.waitUntilConsumed(topic, 'load');
  }

  /** Resolves when what was published before is loaded, and all that it touches is computed. */
  async waitUntilComputed(): Promise<void> {
    await this.loaded();
    await this.aggregator.waitUntilComputed();
  }

  /** The way of alerts; begun when it is first asked for, since only servers decide on them. */
  alerts(): Promise<AlertPipeline> {
    this.#alerts ??= AlertPipeline.start(this.runtime, this.config, this.#decidesOnAlerts);
    return this.#alerts;
  }

  async isEmpty(): Promise<boolean> {
    const [row] = await this.runtime.store.rows<{ any: number }>(
      sql`SELECT toUInt8(count() > 0) AS any FROM (
        SELECT 1 FROM ${dirtyDays} LIMIT 1 UNION ALL SELECT 1 FROM ${blocks} LIMIT 1
        UNION ALL SELECT 1 FROM ${deadLetters} LIMIT 1)`,
    );
    return row?.any !== 1;
  }

  async close(): Promise<void> {
    this.aggregator.stop();
    await (await this.#alerts)?.stop();
    await this.runtime.close();
  }
}

export function readRegistry(config: Config): Registry {
  try {
    return loadRegistry(config.CHAINS_FILE);
  } catch (error) {
    throw new ProductError('setting_invalid', `CHAINS_FILE=${config.CHAINS_FILE}: ${reasonOf(error)}`);
  }
}

async function newestSequence(runtime: Runtime): Promise<bigint> {
  const [row] = await runtime.store.rows<{ newest: string }>(
    sql`SELECT toString(greatest((SELECT max(sequence) FROM ${dirtyDays}), (SELECT max(version) FROM ${computedWindows}),
      (SELECT max(sequence) FROM ${watermarks}))) AS newest`,
  );
  return BigInt(row?.newest ?? 0);
}

/** The registry as a table, for joins; rewritten at every start, since the file may have changed. */
async function writeRegistry(runtime: Runtime, registry: Registry): Promise<void> {
  const revision = runtime.clock.now();
  await runtime.store.insert(
    chains,
    registry.chains.map((chain) => ({
      relay_chain: chain.relay_chain,
      chain: chain.name,
      token: chain.token,
      decimals: chain.decimals,
      prefix: chain.ss58_prefix,
      role: chain.role,
      block_times: chain.block_times,
      revision,
    })),
  );
}
