import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { open, rm, unlink } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { drainPending, Session } from 'chdb';
import { createChdbConnection } from 'chdb/connection';
import { cancellable, killStatement } from '../clickhouse/cancel.ts';
import { insertError, loadError, storeError } from '../clickhouse/errors.ts';
import { readBytes, readRows } from '../clickhouse/read-rows.ts';
import {
  FORMATS,
  insertFrom,
  insertHead,
  jsonLines,
  loadStatement,
  PROBE_SECONDS,
  readerSettings,
  selectStatement,
  streamStatement,
} from '../clickhouse/settings.ts';
import { TableStructures } from '../clickhouse/structures.ts';
import type { PortSettings } from '../config/settings.ts';
import { ReadWriteLock } from '../coordination/read-write-lock.ts';
import { GROUP_AND_OTHERS, protectDataDirectory, storePath } from '../data-directory.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { ignore } from '../ignore.ts';
import { joinLines } from '../lines.ts';
import type { Format, Lane, Pieces, QueryOptions, StagedBatch, Store, StreamLimits } from '../ports.ts';
import { DATABASE, literal, type Sql, sql } from '../sql.ts';
import type { Table } from '../table.ts';
import { CONNECTION_SETTINGS } from './connection-settings.ts';
import { Connections } from './connections.ts';
import { setAside } from './damage.ts';
import { DirectoryFsync } from './directory-fsync.ts';
import { readLockOwner } from './owner.ts';
import { splitFiles } from './split-files.ts';
import { Spool, type SpooledFile } from './spool.ts';

/** Share of the engine's memory for one load. With a limit of its own, only the load fails if it is too large. */
const LOAD_MEMORY_SHARE = 0.75;

/**
 * Statements of the lane `work` among which the processors are divided. By default two windows are computed at a time, and
 * with more threads than processors both would take longer.
 */
const WORK_AT_ONCE = 2;

/** Threads of each of several concurrent statements. By default the engine uses one per processor for each statement. */
const shareOfThreads = (statements: number) => Math.max(1, Math.floor(availableParallelism() / statements));

/** Size from which the engine reads lines twice as fast from a file as from a statement. */
const FILE_BYTES_MIN = 256 * 1024;

/**
 * chDB behind the ClickHouse client. Settings are part of each statement, since chDB keeps settings of the client for the
 * whole connection.
 */
export class EmbeddedStore implements Store {
  readonly #config: PortSettings;
  readonly #session: Session;
  readonly #spool: Spool;
  readonly #names: DirectoryFsync | null;
  readonly #lanes: Readonly<Record<Lane | 'kills', Connections>>;
  /** Writes share this lock; a freeze holds it exclusively. */
  readonly #writes = new ReadWriteLock();
  readonly #threadsOfPlace: number;
  readonly #structures = new TableStructures(this);
  readonly warnings: readonly string[];

  private constructor(config: PortSettings, session: Session, warnings: readonly string[]) {
    this.warnings = warnings;
    this.#config = config;
    this.#threadsOfPlace = shareOfThreads(config.READER_CONNECTIONS);
    this.#session = session;
    this.#spool = new Spool(config.DATA_DIR, config.STORE_FSYNC);
    const path = storePath(config.DATA_DIR);
    this.#names = config.STORE_FSYNC ? new DirectoryFsync(config.DATA_DIR) : null;
    // The client types of chdb are a copy that the compiler does not accept.
    const connect = () => createClient({ connection: createChdbConnection({ path }) as never } as never);
    const lane = (connections: number, settings: readonly string[] = []) =>
      new Connections(connect, connections, [...CONNECTION_SETTINGS, ...settings]);
    this.#lanes = {
      work: lane(config.STORE_CONNECTIONS, [`max_threads = ${shareOfThreads(WORK_AT_ONCE)}`]),
      readers: lane(config.READER_CONNECTIONS),
      probes: lane(2),
      kills: lane(1),
    };
  }

  static async open(config: PortSettings): Promise<EmbeddedStore> {
    const path = storePath(config.DATA_DIR);
    const owner = await readLockOwner(config.DATA_DIR);
    if (owner !== null) throw inUse(config.DATA_DIR, `process ${owner}`);
    let session: Session | undefined;
    try {
      const warning = protectDataDirectory(config.DATA_DIR);
      mkdirSync(path, { recursive: true });
      accessSync(path, constants.W_OK);
      session = new Session(path, engineOptions(config));
      const store = new EmbeddedStore(config, session, warning === null ? [] : [warning]);
      await store.run(`CREATE DATABASE IF NOT EXISTS ${DATABASE} ENGINE = Atomic`);
      return store;
    } catch (error) {
      session?.close();
      throw openError(config, error);
    }
  }

  /** Opens the store for one read and closes it again. Creates, migrates and repairs nothing. */
  static async inspect<Result>(
    config: PortSettings,
    read: (store: Pick<Store, 'rows'>) => Promise<Result>,
  ): Promise<Result> {
    process.umask(GROUP_AND_OTHERS);
    const path = storePath(config.DATA_DIR);
    const session = new Session(path, engineOptions(config));
    const client = createClient({ connection: createChdbConnection({ path }) as never } as never);
    try {
      const rows = <Row>({ text }: Sql) => readRows<Row>(client, selectStatement(text, PROBE_SECONDS));
      return await read({ rows });
    } finally {
      await client.close();
      session.close();
    }
  }

  async rows<Row>(statement: Sql, options: QueryOptions = {}): Promise<Row[]> {
    return this.#query(options, (client, named) =>
      readRows<Row>(client, this.#limited(statement, named, options.lane)),
    );
  }

  async bytes(statement: Sql, format: Format, options: QueryOptions = {}): Promise<Buffer> {
    return this.#query(options, (client, named) => {
      const settings = [...FORMATS[format].settings, ...named];
      return readBytes(client, this.#limited(statement, settings, options.lane), format);
    });
  }

  /** Writes the result to a file first, since chDB returns it only as a whole. */
  async stream(statement: Sql, format: Format, limits?: StreamLimits): Promise<Readable> {
    const { name, settings } = FORMATS[format];
    const file = this.#spool.temporaryFile();
    try {
      const query = `${streamStatement(statement.text, settings, limits)} INTO OUTFILE ${literal(file)} FORMAT ${name}`;
      await this.#with((client) => client.command({ query }));
      return (await open(file)).createReadStream();
    } finally {
      // The open descriptor still reads the deleted file.
      await rm(file, { force: true });
    }
  }

  split(statement: Sql, by: Sql, format: Format, limits: StreamLimits) {
    return splitFiles(this.#spool.temporaryFile(), { statement, by, format, limits }, (query) =>
      this.#with((client) => client.command({ query })),
    );
  }

  async run(statement: Sql | string): Promise<void> {
    const query = typeof statement === 'string' ? statement : statement.text;
    await this.#write((client) => client.command({ query }));
  }

  async insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void> {
    if (rows.length === 0) return;
    await this.insertLines(table, Object.keys(rows[0] as object), jsonLines(rows));
  }

  async insertLines(
    table: Table,
    columns: readonly string[],
    lines: string | readonly Pieces[],
  ): Promise<void> {
    const bytes = typeof lines === 'string' ? Buffer.from(lines) : Buffer.concat([...joinLines(lines)]);
    if (bytes.length >= FILE_BYTES_MIN) return this.#insertByFile(table, columns, bytes);
    const query = `${insertHead(table, columns)}\n${bytes}`;
    await this.#write((client) => client.command({ query }), insertError);
  }

  async #insertByFile({ name }: Table, columns: readonly string[], bytes: Buffer): Promise<void> {
    const file = this.#spool.temporaryFile();
    try {
      await this.#spool.fill(file, bytes);
      const source = `file(${literal(file)}, 'JSONEachRow', ${await this.#structures.of(name)})`;
      const query = insertFrom({ name }, columns, source);
      await this.#write((client) => client.command({ query }), insertError);
    } finally {
      // If this fails, the next process deletes the file.
      await unlink(file).catch(ignore('store.file'));
    }
  }

  async stage({ name: table }: Table, lines: readonly Pieces[]): Promise<StagedBatch> {
    return this.#staged(await this.#spool.write(table, lines));
  }

  async unfinished(): Promise<StagedBatch[]> {
    return this.#spool.unfinished().map((file) => this.#staged(file));
  }

  /** Hard-links all parts under a name, then calls `meanwhile`. Returns the time, and how long writes were blocked. */
  async freeze(name: string, meanwhile: () => void): Promise<{ takenAt: Date; heldMs: number }> {
    const asked = performance.now();
    return this.#writes.runExclusive(async () => {
      // Not in the lane `work`, which long queries may occupy while writes are blocked.
      const tables = await this.rows<{ name: string }>(
        sql`SELECT name FROM system.tables WHERE database = ${DATABASE} AND engine LIKE '%MergeTree'`,
        { lane: 'probes' },
      );
      for (const table of tables) {
        const query = `ALTER TABLE ${DATABASE}.${table.name} FREEZE WITH NAME ${literal(name)}`;
        await this.#with((client) => client.command({ query }), storeError, 'kills');
      }
      meanwhile();
      return { takenAt: new Date(), heldMs: performance.now() - asked };
    });
  }

  async close(): Promise<void> {
    for (const lane of Object.values(this.#lanes)) await lane.close();
    this.#session.close();
    // A running statement keeps its connection, and the engine writes to the directory until it ends.
    await drainPending();
  }

  #staged({ table, file }: SpooledFile): StagedBatch {
    return {
      table,
      commit: async (firstSequence) => {
        const source = `file(${literal(file)}, 'JSONEachRow', ${await this.#structures.of(table)})`;
        const query = loadStatement(table, firstSequence, source, [
          `max_memory_usage=${Math.floor(this.#config.STORE_MEMORY_BYTES * LOAD_MEMORY_SHARE)}`,
        ]);
        await this.#write((client) => client.command({ query }), loadError);
      },
      discard: () => rm(file, { force: true }),
      setAside: async () => void setAside(file),
      lines: async () => this.#spool.lines(file),
    };
  }

  #limited({ text }: Sql, settings: readonly string[], lane?: Lane): string {
    return selectStatement(
      text,
      lane === 'probes' ? PROBE_SECONDS : this.#config.QUERY_SECONDS_MAX,
      settings,
    );
  }

  #with<T>(use: (client: ClickHouseClient) => Promise<T>, toError = storeError, lane = 'work'): Promise<T> {
    return this.#lanes[lane as Lane | 'kills'].use((client) =>
      use(client).catch((error) => {
        throw toError(error);
      }),
    );
  }

  #write<T>(use: (client: ClickHouseClient) => Promise<T>, toError = storeError): Promise<T> {
    return this.#writes.runShared(async () => {
      const result = await this.#with(use, toError);
      await this.#names?.force();
      return result;
    });
  }

  #query<T>(
    options: QueryOptions,
    use: (client: ClickHouseClient, settings: readonly string[]) => Promise<T>,
  ): Promise<T> {
    const { lane = 'work', signal } = options;
    const place = [
      ...readerSettings(options),
      ...(options.isLowPriority ? [`max_threads=${this.#threadsOfPlace}`] : []),
    ];
    const kill = (condition: string) =>
      this.#lanes.kills.use((client) => client.command({ query: killStatement(condition) }));
    return this.#lanes[lane].use((client) =>
      cancellable(signal, (settings) => use(client, [...settings, ...place]), kill).catch((error) => {
        throw signal?.aborted ? error : storeError(error);
      }),
    );
  }
}

const inUse = (directory: string, by: string, reason?: string) =>
  new ProductError('store_in_use', `${directory} is in use by ${by}`, reason);

const engineOptions = (config: PortSettings) => ({
  connectionArgs: [`--max_server_memory_usage=${config.STORE_MEMORY_BYTES}`],
});

function openError(config: PortSettings, error: unknown): ProductError {
  const directory = config.DATA_DIR;
  const reason = error instanceof ProductError ? (error.detail ?? error.message) : reasonOf(error);
  if (/Failed to create connection/.test(reason) && isInUse(storePath(config.DATA_DIR))) {
    return inUse(directory, 'another process', reason);
  }
  if (/EACCES|EROFS|EPERM|ENOSPC|ENOENT|ENOTDIR|EEXIST|Read-only|No space|Permission denied/i.test(reason)) {
    return new ProductError(
      'store_unwritable',
      `${directory} cannot be written: ${firstSentence(reason)}`,
      reason,
    );
  }
  return new ProductError('store_failed', `${directory} cannot be opened: ${firstSentence(reason)}`, reason);
}

/** chDB reports a directory in use only on stderr, but the process that uses it wrote its id into the file `status`. */
function isInUse(path: string): boolean {
  try {
    const [, owner] = /^PID: (\d+)/.exec(readFileSync(join(path, 'status'), 'utf8')) ?? [];
    return owner !== undefined && process.kill(Number(owner), 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return (error as { code?: string }).code === 'EPERM';
  }
}

function firstSentence(reason: string): string {
  return reason.split(/(?<=\.)\s|, stack trace/i)[0]?.slice(0, 300) ?? reason;
}
