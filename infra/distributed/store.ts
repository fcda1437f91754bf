import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { onCluster } from '../clickhouse/cluster.ts';
import {
  engineError,
  FORMATS,
  insertHead,
  jsonLines,
  LOAD_SETTINGS,
  loadError,
  READ_SETTINGS,
  STREAM_SETTINGS,
} from '../clickhouse/settings.ts';
import { DATABASE, literal, type Sql } from '../clickhouse/sql.ts';
import type { Table } from '../clickhouse/table.ts';
import type { InfraSettings } from '../config/settings.ts';
import { retryUntilReady } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { type Format, type Pieces, readAll, type StagedBatch, type Store } from '../ports.ts';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = Buffer.from('\n');

/**
 * A ClickHouse server over HTTP. A staged batch lives in this process alone: what makes it durable is the log,
 * whose offset does not move before the batch is loaded.
 */
export class DistributedStore implements Store {
  readonly #config: InfraSettings;
  readonly #client: ClickHouseClient;
  readonly #staged = new Set<StagedBatch>();
  readonly #structures = new Map<string, string>();

  private constructor(config: InfraSettings) {
    this.#config = config;
    this.#client = createClient({
      url: config.CLICKHOUSE_URL,
      username: config.CLICKHOUSE_USER,
      password: config.CLICKHOUSE_PASSWORD,
      application: 'chain-metrics',
      // Its own log would quote statements.
      log: { level: ClickHouseLogLevel.OFF },
      max_open_connections: config.STORE_CONNECTIONS,
      request_timeout: config.CLICKHOUSE_SECONDS_MAX * 1000,
      compression: { request: config.CLICKHOUSE_COMPRESS, response: false },
      // A failure is told by the status, never by words in the middle of an answer that looks whole.
      clickhouse_settings: { wait_end_of_query: 1, ...(config.CLICKHOUSE_CLUSTER ? REPLICATED : {}) },
    });
  }

  /** Waits for the server; refuses wrong credentials at once. */
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
    return explained(async () => {
      const result = await this.#client.query({
        query: this.#limited(statement.text),
        format: 'JSONEachRow',
      });
      return result.json<Row>();
    });
  }

  async bytes(statement: Sql, format: Format): Promise<Buffer> {
    const { name, settings } = FORMATS[format];
    return explained(async () => {
      const query = `${this.#limited(statement.text, settings)} FORMAT ${name}`;
      return readAll((await this.#client.exec({ query })).stream);
    });
  }

  async stream(statement: Sql, format: Format): Promise<Readable> {
    const { name, settings } = FORMATS[format];
    const query = `${statement.text} SETTINGS ${[...STREAM_SETTINGS, ...settings].join(', ')} FORMAT ${name}`;
    return explained(async () => (await this.#client.exec({ query })).stream);
  }

  async run(statement: Sql | string): Promise<void> {
    const text = typeof statement === 'string' ? statement : statement.text;
    const { CLICKHOUSE_CLUSTER: cluster } = this.#config;
    await explained(() => this.#client.command({ query: cluster ? onCluster(text, cluster) : text }));
  }

  async insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void> {
    if (rows.length === 0) return;
    await this.insertLines(table, Object.keys(rows[0] as object), jsonLines(rows));
  }

  async insertLines(table: Table, columns: readonly string[], lines: string): Promise<void> {
    await explained(() => this.#send(insertHead(table, columns), [Buffer.from(lines)]));
  }

  async stage(landingTable: Table, lines: readonly Pieces[]): Promise<StagedBatch> {
    const batch: StagedBatch = {
      landingTable: landingTable.name,
      commit: async (firstSequence) => {
        const structure = await this.#structure(landingTable.name);
        const head =
          `INSERT INTO ${DATABASE}.${landingTable.name} SELECT * REPLACE (${firstSequence} + sequence AS sequence) ` +
          `FROM input(${literal(structure)}) SETTINGS ${LOAD_SETTINGS} FORMAT JSONEachRow`;
        await explained(() => this.#send(head, inChunks(lines)), loadError);
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

  /** The statement goes into the address, its data into a body that is streamed. */
  async #send(query: string, chunks: Iterable<Buffer>): Promise<void> {
    const values = Readable.from(chunks, { objectMode: false });
    const { stream } = await this.#client.exec({ query, values });
    for await (const _ of stream) {
      // An INSERT has no answer; reading to the end frees its connection.
    }
  }

  async #structure(table: string): Promise<string> {
    const known = this.#structures.get(table);
    if (known) return known;
    const columns = await explained(() =>
      this.#client.query({
        query: `SELECT name, type FROM system.columns WHERE database = '${DATABASE}' AND table = ${literal(table)} ORDER BY position`,
        format: 'JSONEachRow',
      }),
    );
    const rows = await columns.json<{ name: string; type: string }>();
    if (rows.length === 0) throw new ProductError('store_failed', 'the store failed (UNKNOWN_TABLE)', table);
    const structure = rows.map(({ name, type }) => `${name} ${type}`).join(', ');
    this.#structures.set(table, structure);
    return structure;
  }

  #limited(text: string, extra: readonly string[] = []): string {
    return `${text} SETTINGS ${[`max_execution_time=${this.#config.QUERY_SECONDS_MAX}`, ...READ_SETTINGS, ...extra].join(', ')}`;
  }
}

/**
 * With replicas every process reads what any process has written. Equal inserts are meant: what must not count
 * twice has a key and a version, so the server must not drop any of them.
 */
const REPLICATED = {
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  select_sequential_consistency: '1',
  insert_deduplicate: 0,
} as const;

/** Few large pieces: a write to the socket costs the same for a line as for a thousand. */
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

async function explained<T>(work: () => Promise<T>, explain = engineError): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProductError ? error : explain(error);
  }
}

/** What waiting would not heal. */
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
