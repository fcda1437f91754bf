import { Readable } from 'node:stream';
import {
  type ClickHouseClient,
  ClickHouseLogLevel,
  type ClickHouseSettings,
  createClient,
} from '@clickhouse/client';
import { cancellable, killStatement } from '../clickhouse/cancel.ts';
import { onCluster } from '../clickhouse/cluster.ts';
import { inDatabase } from '../clickhouse/database.ts';
import { insertError, loadError, storeError } from '../clickhouse/errors.ts';
import { readBytes, readRows } from '../clickhouse/read-rows.ts';
import {
  FORMATS,
  insertHead,
  jsonLines,
  loadStatement,
  PROBE_SECONDS,
  readerSettings,
  selectStatement,
  streamStatement,
} from '../clickhouse/settings.ts';
import { TableStructures } from '../clickhouse/structures.ts';
import { retryUntilReady } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { ignore } from '../ignore.ts';
import { joinLines } from '../lines.ts';
import {
  type Format,
  type Lane,
  type Pieces,
  type QueryOptions,
  readAll,
  type StagedBatch,
  type Store,
  type StreamLimits,
} from '../ports.ts';
import { literal, type Sql, sql } from '../sql.ts';
import type { Table } from '../table.ts';
import type { DistributedSettings } from './settings.ts';

/** Time limit of statements in the lane `work`. */
const WORK_SECONDS = 600;

/** Oldest supported version. Earlier ones prune partitions before FINAL, and could count a replaced version of a block. */
const VERSION_MIN = [26, 3] as const;

/**
 * A ClickHouse server over HTTP. A staged batch exists only in the memory of this process. After a kill the log delivers
 * its messages again, since their offset is committed after the batch.
 */
export class DistributedStore implements Store {
  readonly #config: DistributedSettings;
  readonly #lanes: Readonly<Record<Lane | 'kills', ClickHouseClient>>;
  readonly #structures = new TableStructures(this);

  constructor(config: DistributedSettings) {
    this.#config = config;
    const { STORE_CONNECTIONS, READER_CONNECTIONS, QUERY_SECONDS_MAX } = config;
    this.#lanes = {
      work: clientOf(config, STORE_CONNECTIONS, WORK_SECONDS, config.CLICKHOUSE_CLUSTER ? REPLICATED : {}),
      readers: clientOf(readerOf(config), READER_CONNECTIONS, QUERY_SECONDS_MAX + CANCEL_SECONDS),
      probes: clientOf(config, 2, PROBE_SECONDS),
      kills: clientOf(config, 1, PROBE_SECONDS),
    };
  }

  static async open(config: DistributedSettings): Promise<DistributedStore> {
    const store = new DistributedStore(config);
    try {
      await store.connect();
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Waits for the server; throws at once when it refuses the credentials or is too old. */
  async connect(): Promise<void> {
    await retryUntilReady(
      `CLICKHOUSE_URL=${this.#config.CLICKHOUSE_URL}`,
      this.#config.SERVICE_WAIT_SECONDS,
      async () => {
        await requireVersion(this);
        await this.#makeDatabase();
      },
      (error) => clickHouseRefusal(error, this.#config),
    );
  }

  /** Creates the database unless it exists: the user may lack the right to create it. */
  async #makeDatabase(): Promise<void> {
    const { CLICKHOUSE_DATABASE: database, CLICKHOUSE_CLUSTER: cluster } = this.#config;
    const found = await this.rows(sql`SELECT name FROM system.databases WHERE name = ${database}`);
    // On a cluster other replicas may lack it. No ENGINE: the default of the server differs in the cloud.
    if (found.length === 0 || cluster) await this.run(`CREATE DATABASE IF NOT EXISTS ${database}`);
  }

  /** Whether the user has a right, such as `SELECT ON metrics.*`; null if the server does not say. */
  async isGranted(right: string): Promise<boolean | null> {
    try {
      const { stream } = await this.#lanes.probes.exec({ query: `CHECK GRANT ${right}` });
      return (await readAll(stream)).toString().trim() === '1';
    } catch (error) {
      return ignore('doctor.grant', null)(error);
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

  async stream(statement: Sql, format: Format, limits?: StreamLimits): Promise<Readable> {
    const { name, settings } = FORMATS[format];
    const query = `${streamStatement(this.#named(statement.text), settings, limits)} FORMAT ${name}`;
    return withStoreErrors(async () => (await this.#lanes.work.exec({ query })).stream);
  }

  /** Runs a statement for each value, since the server cannot write files of this process. */
  async split(statement: Sql, by: Sql, format: Format, limits: StreamLimits): Promise<Map<string, Buffer>> {
    const values = await this.rows<{ value: string }>(
      sql`SELECT DISTINCT ${by} AS value FROM (${statement})`,
    );
    const parts = new Map<string, Buffer>();
    for (const { value } of values) {
      const part = sql`SELECT * FROM (${statement}) WHERE ${by} = ${value}`;
      parts.set(value, await readAll(await this.stream(part, format, limits)));
    }
    return parts;
  }

  async run(statement: Sql | string): Promise<void> {
    const text = this.#named(typeof statement === 'string' ? statement : statement.text);
    const { CLICKHOUSE_CLUSTER: cluster } = this.#config;
    await withStoreErrors(() =>
      this.#lanes.work.command({ query: cluster ? onCluster(text, cluster) : text }),
    );
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
    const chunks = typeof lines === 'string' ? [Buffer.from(lines)] : joinLines(lines);
    await withStoreErrors(() => this.#send(insertHead(table, columns), chunks), insertError);
  }

  async stage({ name: table }: Table, lines: readonly Pieces[]): Promise<StagedBatch> {
    return {
      table,
      commit: async (firstSequence) => {
        const source = `input(${await this.#structures.of(table)})`;
        const head = `${loadStatement(table, firstSequence, source)} FORMAT JSONEachRow`;
        await withStoreErrors(() => this.#send(head, joinLines(lines)), loadError);
      },
      discard: async () => undefined,
      setAside: async () => undefined,
      lines: async () => lines.map((line) => (Buffer.isBuffer(line) ? line : Buffer.concat(line))),
    };
  }

  async unfinished(): Promise<StagedBatch[]> {
    return [];
  }

  async close(): Promise<void> {
    for (const client of Object.values(this.#lanes)) await client.close();
  }

  /** Sends the statement in the URL and streams its data as the body. */
  async #send(statement: string, chunks: Iterable<Buffer>): Promise<void> {
    const query = this.#named(statement);
    const values = Readable.from(chunks, { objectMode: false });
    const { stream } = await this.#lanes.work.exec({ query, values });
    for await (const _ of stream) {
      // An INSERT has no result; reading to the end releases the connection.
    }
  }

  #query<T>(
    options: QueryOptions,
    use: (client: ClickHouseClient, settings: readonly string[]) => Promise<T>,
  ): Promise<T> {
    const { lane = 'work', signal } = options;
    const place = readerSettings(options);
    const { CLICKHOUSE_CLUSTER: cluster } = this.#config;
    const kill = (condition: string) =>
      this.#lanes.kills.command({
        query: killStatement(condition, cluster ? ` ON CLUSTER ${literal(cluster)}` : ''),
      });
    return withStoreErrors(
      () => cancellable(signal, (settings) => use(this.#lanes[lane], [...settings, ...place]), kill),
      (error) => (signal?.aborted ? error : storeError(error)),
    );
  }

  #limited({ text }: Sql, settings: readonly string[], lane?: Lane): string {
    const secondsMax = lane === 'probes' ? PROBE_SECONDS : this.#config.QUERY_SECONDS_MAX;
    return selectStatement(this.#named(text), secondsMax, settings);
  }

  #named(statement: string): string {
    return inDatabase(statement, this.#config.CLICKHOUSE_DATABASE);
  }
}

const readerOf = (config: DistributedSettings): DistributedSettings =>
  config.CLICKHOUSE_READ_USER === undefined
    ? config
    : {
        ...config,
        CLICKHOUSE_USER: config.CLICKHOUSE_READ_USER,
        CLICKHOUSE_PASSWORD: config.CLICKHOUSE_READ_PASSWORD,
      };

const clientOf = (
  config: DistributedSettings,
  connections: number,
  seconds: number,
  settings: ClickHouseSettings = {},
): ClickHouseClient =>
  createClient({
    url: config.CLICKHOUSE_URL,
    username: config.CLICKHOUSE_USER,
    password: config.CLICKHOUSE_PASSWORD,
    application: 'chain-metrics',
    // The log of the client would quote statements.
    log: { level: ClickHouseLogLevel.OFF },
    max_open_connections: connections,
    request_timeout: seconds * 1000,
    // A failure is reported by the HTTP status, not in the middle of a result.
    clickhouse_settings: { wait_end_of_query: 1, ...settings },
  });

/** The server ends a query at its time limit. The client waits this much longer for the error. */
const CANCEL_SECONDS = 10;

/**
 * Settings on a cluster. Acknowledged rows are on a majority of the replicas. `insert_quorum_parallel`: two views of a load
 * insert into `calls` concurrently, and without it the second insert would be refused. Reads are consistent because all go
 * to one replica, which has all rows that it acknowledged. The server must not deduplicate equal inserts: rows have a key
 * and a version. Since 26.2 it ignores `insert_deduplicate`.
 */
const REPLICATED = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 1,
  deduplicate_insert: 'disable',
  deduplicate_insert_select: 'disable',
} as const;

/** Throws `service_refused` if the server is too old. Call it before any write, since old servers may lack our settings. */
export async function requireVersion(store: Pick<Store, 'rows'>): Promise<void> {
  const [server] = await store.rows<{ version: string }>(sql`SELECT version() AS version`, {
    lane: 'probes',
  });
  if (!isOlderThanNeeded(server?.version ?? '')) return;
  throw new ProductError(
    'service_refused',
    `CLICKHOUSE_URL: ClickHouse ${server?.version} is too old; ${VERSION_MIN.join('.')} or newer is needed`,
  );
}

function isOlderThanNeeded(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1]);
}

async function withStoreErrors<T>(
  work: () => Promise<T>,
  toError: (error: unknown) => unknown = storeError,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toError(error);
  }
}

/** Maps an error that no retry can fix to `service_refused`. */
export function clickHouseRefusal(
  error: unknown,
  { CLICKHOUSE_DATABASE: database }: DistributedSettings,
): ProductError | null {
  if (error instanceof ProductError && error.code === 'service_refused') return error;
  const detail = error instanceof ProductError ? (error.detail ?? error.message) : reasonOf(error);
  if (
    /AUTHENTICATION_FAILED|Authentication failed|password is incorrect/i.test(`${detail} ${reasonOf(error)}`)
  ) {
    return new ProductError(
      'service_refused',
      'CLICKHOUSE_USER, CLICKHOUSE_PASSWORD: ClickHouse refuses this user or its password',
      detail,
    );
  }
  if (/ACCESS_DENIED|READONLY/.test(`${detail} ${reasonOf(error)}`)) {
    return new ProductError(
      'service_refused',
      `CLICKHOUSE_USER, CLICKHOUSE_DATABASE: this user lacks rights on the database ${database}; the guide /docs/guides/distributed lists them`,
      detail,
    );
  }
  return null;
}
