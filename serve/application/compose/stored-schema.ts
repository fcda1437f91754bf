import { setTimeout } from 'node:timers/promises';
import { aggregateModule } from '../../../aggregate/composition/module.ts';
import { applySchema, type Schema } from '../../../infra/clickhouse/schema.ts';
import {
  announceSchema,
  hasSchema,
  identityOf,
  readAnnouncedSchemas,
  readSchemaState,
  readWantedSchema,
  recordSchema,
  type SchemaState,
} from '../../../infra/clickhouse/schema-state.ts';
import { Lease, Locks } from '../../../infra/coordination/lock.ts';
import { pause } from '../../../infra/coordination/pause.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import { openLogger } from '../../../infra/logger.ts';
import type { Runtime } from '../../../infra/ports.ts';
import { ingestModule } from '../../../ingest/module.ts';
import { DECODER_VERSIONS } from '../../../ingest/raw/decoders.ts';
import { alertServingModule } from '../../alerts/module.ts';
import { identityModule } from '../../identity/module.ts';
import type { ProcessRole } from '../../settings/process-roles.ts';
import type { Config } from '../../settings/settings.ts';

/** Every table and view of the product. */
export const schema: Schema = {
  tables: [
    ...ingestModule.tables,
    ...ingestModule.landingTables,
    ...aggregateModule.tables,
    ...identityModule.tables,
    ...alertServingModule.tables,
  ],
  derived: aggregateModule.derivedTables,
  views: ingestModule.views,
  irreplaceable: (store, table) => aggregateModule.irreplaceableRows(store, table.name),
  forget: (store, table) => aggregateModule.resetDerivedTable(store, table.name),
};

const POLL_MS = 1000;
/** Longest time that a migration waits for processes of another schema. After that it fails without any change. */
const LEAVE_MS_MAX = 120_000;
const LEAVE_POLL_MS = 100;

/** Table settings of STORE_FSYNC: parts are synced before an insert is acknowledged and before a merge replaces others. */
const FORCED = [
  'fsync_after_insert = 1',
  'fsync_part_directory = 1',
  'min_rows_to_fsync_after_merge = 1',
  'min_compressed_bytes_to_fsync_after_merge = 1',
];

/** The group of processes that write rows with a schema. */
const writersOf = (identity: string) => `schema/${identity}`;
/** Key of a fast copy of the wanted schema's identity, which the store contains. */
const WANTED_KEY = 'schema';

const isTemporary = (error: unknown): error is ProductError =>
  error instanceof ProductError && (error.code === 'service_unreachable' || error.code === 'schema_in_use');

/**
 * Migrates the schema of the store, and waits for migrations of other versions. During a rolling upgrade two versions share
 * a store and the log, but only one version writes raw and metric tables: before a migration, the writers of the other version end.
 */
export class StoredSchema {
  readonly #runtime: Runtime;
  readonly #config: Config;
  readonly #identity: string;
  /** Whether this process writes rows of the raw or metric tables. */
  readonly #writes: boolean;
  readonly #waits: boolean;
  readonly #closing = new AbortController();
  readonly #replaced = Promise.withResolvers<void>();

  constructor(options: {
    readonly runtime: Runtime;
    readonly config: Config;
    readonly roles: ReadonlySet<ProcessRole>;
    readonly waits: boolean;
    /** Set by tests to act as another version. */
    readonly version?: string;
  }) {
    const { runtime, config, roles, waits, version } = options;
    this.#runtime = runtime;
    this.#config = config;
    this.#identity = identityOf(schema, { decoders: DECODER_VERSIONS, version });
    this.#writes = roles.has('load') || roles.has('work');
    this.#waits = waits;
  }

  /** Resolves if another version migrates the store. This process must not write any more. */
  get replaced(): Promise<void> {
    return this.#replaced.promise;
  }

  /** Resolves if the store has a usable schema. With MIGRATE_ON_START it migrates the store. Calls `onWait` before it waits. */
  async open(onWait: () => void = () => undefined): Promise<void> {
    const logger = openLogger(this.#config);
    let logged = '';
    while (!this.#closing.signal.aborted) {
      const reason = await this.#tryToOpen();
      if (reason === null) break;
      onWait();
      if (reason !== logged) logger.warn({ reason }, 'waiting for the schema of the store');
      logged = reason;
      await pause(POLL_MS, this.#closing.signal);
    }
  }

  /** Migrates the store to the schema of this process, even if another version has migrated it. False if it was current. */
  async migrate(): Promise<boolean> {
    const { keyValue, store } = this.#runtime;
    const locks = new Locks(keyValue, { ttlMs: this.#config.LEASE_MS });
    return locks.run('schema', async (lease) => {
      const state = await this.#state();
      // In a cluster, the queried server may be current while a new replica is empty.
      if (state === 'current' && !this.#config.CLICKHOUSE_CLUSTER) return false;
      if (state !== 'current') {
        await announceSchema(store, this.#identity, this.#tableSettings);
        await keyValue.set(WANTED_KEY, this.#identity);
        await this.#waitForOthers();
      }
      await lease.ensure();
      await this.#apply();
      await recordSchema(store, this.#identity);
      return true;
    });
  }

  stop(): void {
    this.#closing.abort();
  }

  /** Null if the store can be used, otherwise the reason to wait. */
  async #tryToOpen(): Promise<string | null> {
    try {
      await this.#prepare();
      await ingestModule.forgetAfterDamage(this.#runtime);
      if (this.#writes) await this.#watch();
      return null;
    } catch (error) {
      if (!this.#waits || !(isTemporary(error) || error instanceof SchemaMismatch)) throw error;
      return reasonOf(error);
    }
  }

  async #prepare(): Promise<void> {
    const state = await this.#state();
    if (state === 'current' && !this.#config.CLICKHOUSE_CLUSTER) return;
    if (state === 'replaced') return this.#useAnother();
    if (this.#config.MIGRATE_ON_START) await this.migrate();
    else if (state === 'due')
      throw new SchemaMismatch('the schema is not applied yet; run `chain-metrics migrate`');
  }

  /** A server can use the schema of another version if it contains all tables and columns that the server knows. */
  async #useAnother(): Promise<void> {
    if (!this.#writes && (await hasSchema(this.#runtime.store, schema))) return;
    throw new SchemaMismatch(
      'another version has migrated the store; start that version, or run `chain-metrics migrate` of this version to revert the migration',
    );
  }

  get #tableSettings(): readonly string[] {
    return this.#config.STORE_FSYNC ? FORCED : [];
  }

  #state(): Promise<SchemaState> {
    return readSchemaState(this.#runtime.store, schema, this.#identity);
  }

  async #apply(): Promise<void> {
    const { store, clock } = this.#runtime;
    await applySchema(store, schema, {
      tableSettings: this.#tableSettings,
      isCluster: this.#config.CLICKHOUSE_CLUSTER !== undefined,
    });
    await ingestModule.recordDecoders(store, clock.now());
  }

  async #waitForOthers(): Promise<void> {
    const { keyValue, store } = this.#runtime;
    const others = (await readAnnouncedSchemas(store)).filter((identity) => identity !== this.#identity);
    const isWriting = async () => {
      const members = await Promise.all(others.map((identity) => keyValue.members(writersOf(identity))));
      return members.some(({ length }) => length > 0);
    };
    for (const deadline = performance.now() + LEAVE_MS_MAX; await isWriting(); ) {
      if (performance.now() > deadline) {
        throw new ProductError(
          'schema_in_use',
          'processes of another version still write to the store; stop them and try again',
        );
      }
      await setTimeout(LEAVE_POLL_MS);
    }
  }

  /**
   * Takes a lease, for which migrations of other versions wait, and watches for such migrations. The lease ends with the
   * connection, after which this process cannot write.
   */
  async #watch(): Promise<void> {
    let lease = await this.#enter();
    // A migration may have started before the lease.
    if (await this.#isReplaced()) {
      await lease.release();
      throw new SchemaMismatch('another version is migrating the store');
    }
    const { signal } = this.#closing;
    const watch = async () => {
      while (!signal.aborted) {
        await pause(POLL_MS, signal);
        if (await this.#isReplaced()) return this.#replaced.resolve();
        if (!(await lease.isHeld())) lease = await this.#enter();
      }
    };
    const keepWatching = async () => {
      // While a service is unavailable this process cannot write, so it may miss a migration until then.
      while (!(await watch().then(() => true, ignore('schema.watch', false)))) await pause(POLL_MS, signal);
    };
    void keepWatching();
  }

  async #enter(): Promise<Lease> {
    const { keyValue } = this.#runtime;
    return (await Lease.acquire(keyValue, writersOf(this.#identity), this.#config.LEASE_MS)) as Lease;
  }

  /** Reads the fast copy first. If the copy differs or is lost, the store decides. */
  async #isReplaced(): Promise<boolean> {
    const { keyValue, store } = this.#runtime;
    const identity = this.#identity;
    if ((await keyValue.get(WANTED_KEY)) === identity) return false;
    if ((await readWantedSchema(store)) !== identity) return true;
    await keyValue.set(WANTED_KEY, identity);
    return false;
  }
}

class SchemaMismatch extends ProductError {
  constructor(reason: string) {
    super('store_newer', reason);
  }
}
