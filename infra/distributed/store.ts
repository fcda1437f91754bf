import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { onCluster } from '../clickhouse/cluster.ts';
import { insertError, loadError, storeError } from '../clickhouse/errors.ts';
import {
  FORMATS,
  insertHead,
  jsonLines,
  limited,
  loadStatement,
  structureOf,
  unlimited,
} from '../clickhouse/settings.ts';
import { DATABASE, type Sql } from '../clickhouse/sql.ts';
import type { Table } from '../clickhouse/table.ts';
import type { InfraSettings } from '../config/settings.ts';
import { retryUntilReady } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { type Format, type Pieces, readAll, type StagedBatch, type Store } from '../ports.ts';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = Buffer.from('\n');

/**
 * A ClickHouse server over HTTP. A staged batch exists only in this process: the log makes it durable, since its
 * offset is committed after the batch.
 */
export class DistributedStore implements Store {
  readonly #config: InfraSettings;
  readonly #client: ClickHouseClient;
  readonly #staged = new Set<StagedBatch>();
  /** Names and types of columns by table. */
  readonly #structures = new Map<string, Promise<string>>();

  private constructor(config: InfraSettings) {
    this.#config = config;
    this.#client = createClient({
      url: config.CLICKHOUSE_URL,
      username: config.CLICKHOUSE_USER,
      password: config.CLICKHOUSE_PASSWORD,
      application: 'chain-metrics',
      // The log of the client would quote statements.
      log: { level: ClickHouseLogLevel.OFF },
      max_open_connections: config.STORE_CONNECTIONS,
      request_timeout: config.CLICKHOUSE_SECONDS_MAX * 1000,
      compression: { request: config.CLICKHOUSE_COMPRESS, response: false },
      // A failure is reported by the HTTP status, not in the middle of a result.
      clickhouse_settings: { wait_end_of_query: 1, ...(config.CLICKHOUSE_CLUSTER ? REPLICATED : {}) },
    });
  }

  /** Waits for the server; throws at once when it refuses the credentials. */
  static async open(config: InfraSettings): Promise<DistributedStore> {
    const store = new DistributedStore(config);
    try {
      await retryUntilReady(
        `CLICKHOUSE_URL=${config.CLICKHOUSE_URL}`,
        config.SERVICE_WAIT_SECONDS,
        () => store.run(`CREATE DATABASE IF NOT EXISTS ${DATABASE} ENGINE = Atomic`),
        refusal,
      );
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  async rows<Row>(statement: Sql): Promise<Row[]> {
    return withStoreErrors(async () => {
      const query = this.#limited(statement);
      const result = await this.#client.query({ query, format: 'JSONEachRow' });
      return result.json<Row>();
    });
  }

  async bytes(statement: Sql, format: Format): Promise<Buffer> {
    const { name, settings } = FORMATS[format];
    return withStoreErrors(async () => {
      const query = `${this.#limited(statement, settings)} FORMAT ${name}`;
      return readAll((await this.#client.exec({ query })).stream);
    });
  }

  async stream(statement: Sql, format: Format): Promise<Readable> {
    const { name, settings } = FORMATS[format];
    const query = `${unlimited(statement.text, settings)} FORMAT ${name}`;
    return withStoreErrors(async () => (await this.#client.exec({ query })).stream);
  }

  async run(statement: Sql | string): Promise<void> {
    const text = typeof statement === 'string' ? statement : statement.text;
    const { CLICKHOUSE_CLUSTER: cluster } = this.#config;
    await withStoreErrors(() => this.#client.command({ query: cluster ? onCluster(text, cluster) : text }));
  }

  async insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void> {
    if (rows.length === 0) return;
    await this.insertLines(table, Object.keys(rows[0] as object), jsonLines(rows));
  }

  async insertLines(table: Table, columns: readonly string[], lines: string): Promise<void> {
    await withStoreErrors(() => this.#send(insertHead(table, columns), [Buffer.from(lines)]), insertError);
  }

  async stage({ name: table }: Table, lines: readonly Pieces[]): Promise<StagedBatch> {
    const batch: StagedBatch = {
      table,
      commit: async (firstSequence) => {
        const source = `input(${await this.#structure(table)})`;
        const head = `${loadStatement(table, firstSequence, source)} FORMAT JSONEachRow`;
        await withStoreErrors(() => this.#send(head, inChunks(lines)), loadError);
      },
      discard: async () => void this.#staged.delete(batch),
      lines: async () => lines.map((line) => (Buffer.isBuffer(line) ? line : Buffer.concat(line))),
    };
    this.#staged.add(batch);
    return batch;
  }

  async unfinished(): Promise<StagedBatch[]> {
    return [...this.#staged];
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Sends the statement in the URL and streams its data as the body. */
  async #send(query: string, chunks: Iterable<Buffer>): Promise<void> {
    const values = Readable.from(chunks, { objectMode: false });
    const { stream } = await this.#client.exec({ query, values });
    for await (const _ of stream) {
      // An INSERT has no result; reading to the end releases the connection.
    }
  }

  #structure(table: string): Promise<string> {
    const known = this.#structures.get(table) ?? structureOf(this, table);
    this.#structures.set(table, known);
    known.catch(() => this.#structures.delete(table));
    return known;
  }

  #limited({ text }: Sql, settings?: readonly string[]): string {
    return limited(text, this.#config.QUERY_SECONDS_MAX, settings);
  }
}

/**
 * With replicas every process reads the writes of all processes. Rows have a key and a version, so equal inserts are
 * intended and the server must not deduplicate them.
 */
const REPLICATED = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  select_sequential_consistency: '1',
  insert_deduplicate: 0,
} as const;

/** Joins lines into few large chunks: a write to the socket costs the same for one line as for a thousand. */
function* inChunks(lines: readonly Pieces[]): Generator<Buffer> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for (const line of lines) {
    const parts = Buffer.isBuffer(line) ? [line, NEWLINE] : [...line, NEWLINE];
    pieces.push(...parts);
    bytes += parts.reduce((sum, { length }) => sum + length, 0);
    if (bytes >= CHUNK_BYTES) {
      yield Buffer.concat(pieces, bytes);
      pieces = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(pieces, bytes);
}

async function withStoreErrors<T>(work: () => Promise<T>, toError = storeError): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toError(error);
  }
}

/** The errors that another attempt cannot heal. */
function refusal(error: unknown): ProductError | null {
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
      `CLICKHOUSE_USER: ClickHouse does not let this user make the database ${DATABASE}; README.md names the rights that it needs`,
      detail,
    );
  }
  return null;
}
