import type { Readable } from 'node:stream';
import type { Config } from '../infra/config.ts';
import { openEmbedded } from '../infra/embedded/runtime.ts';
import { ProductError, reasonOf } from '../infra/errors.ts';
import { applySchema, type Schema } from '../infra/kernel/schema.ts';
import { sql } from '../infra/kernel/sql.ts';
import { Mutex } from '../infra/mutex.ts';
import type { Clock, Runtime } from '../infra/runtime.ts';
import { Sequence } from '../infra/sequence.ts';
import { loadRegistry, type Registry } from '../ingest/chains/registry.ts';
import { Loader } from '../ingest/load.ts';
import { type IngestOptions, type IngestSummary, publish } from '../ingest/publish.ts';
import { blockInlets, blockViews } from '../ingest/streams/blocks.ts';
import { blocks, chains, deadLetters, rawTables, touched } from '../ingest/streams/raw.ts';
import { snapshotsIn, snapshotViews } from '../ingest/streams/snapshots.ts';
import { Aggregator } from './aggregator.ts';
import { ledgerTables, unsettle, windows } from './ledger.ts';
import { keptMetrics } from './metrics/index.ts';

export const schema: Schema = {
  tables: [...rawTables, ...blockInlets, snapshotsIn, ...ledgerTables],
  derived: keptMetrics.map((metric) => metric.table),
  views: [...blockViews, ...snapshotViews],
  forget: (store, table) => unsettle(store, table.name),
};

/** Everything below the HTTP layer, wired: what the server and the command line both stand on. */
export class Engine {
  readonly config: Config;
  readonly runtime: Runtime;
  readonly registry: Registry;
  readonly aggregator: Aggregator;
  readonly #loader: Loader;

  private constructor(config: Config, runtime: Runtime, registry: Registry, sequence: Sequence) {
    this.config = config;
    this.runtime = runtime;
    this.registry = registry;
    const gate = new Mutex();
    this.aggregator = new Aggregator(runtime, sequence, gate);
    this.#loader = new Loader({
      runtime,
      registry,
      sequence,
      gate,
      deadLetterBytes: config.DEAD_LETTER_BYTES_MAX,
      onTouched: () => this.aggregator.touch(),
    });
  }

  static async open(config: Config, clock?: Clock): Promise<Engine> {
    const registry = readRegistry(config);
    const runtime = await openEmbedded(config, clock);
    try {
      const fsync = config.STORE_FSYNC ? ['fsync_after_insert = 1', 'fsync_part_directory = 1'] : [];
      await applySchema(runtime.store, schema, fsync);
      const sequence = new Sequence(runtime.clock, await newestSequence(runtime));
      await writeRegistry(runtime, registry);
      const engine = new Engine(config, runtime, registry, sequence);
      await engine.#loader.start();
      await engine.aggregator.start();
      return engine;
    } catch (error) {
      await runtime.close();
      throw error;
    }
  }

  /** Takes in one source; every metric that it touches is up to date when `settle` has returned. */
  async ingest(bytes: Readable, options: IngestOptions): Promise<IngestSummary> {
    return publish(this.runtime, this.registry, bytes, options, {
      batchBytes: this.config.BATCH_BYTES,
      lineBytes: this.config.LINE_BYTES_MAX,
      deadLetterBytes: this.config.DEAD_LETTER_BYTES_MAX,
    });
  }

  async isEmpty(): Promise<boolean> {
    const [row] = await this.runtime.store.rows<{ any: number }>(
      sql`SELECT toUInt8(count() > 0) AS any FROM (
        SELECT 1 FROM ${touched} LIMIT 1 UNION ALL SELECT 1 FROM ${blocks} LIMIT 1
        UNION ALL SELECT 1 FROM ${deadLetters} LIMIT 1)`,
    );
    return row?.any !== 1;
  }

  async close(): Promise<void> {
    this.aggregator.stop();
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
    sql`SELECT toString(greatest((SELECT max(sequence) FROM ${touched}), (SELECT max(version) FROM ${windows}))) AS newest`,
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
