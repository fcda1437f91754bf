import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writevSync,
} from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { Session } from 'chdb';
import { createChdbConnection } from 'chdb/connection';
import {
  engineError,
  FORMATS,
  insertHead,
  jsonLines,
  LOAD_SETTINGS,
  loadError,
  READ_SETTINGS,
  STREAM_SETTINGS,
  UNWRITABLE,
} from '../clickhouse/settings.ts';
import { DATABASE, literal, type Sql } from '../clickhouse/sql.ts';
import type { Table } from '../clickhouse/table.ts';
import type { InfraSettings } from '../config/settings.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { type Format, type Pieces, readAll, type StagedBatch, type Store } from '../ports.ts';
import { splitLines } from './lines.ts';

/**
 * chDB behind the ordinary client. One connection runs one query at a time, so a small pool is kept. Settings
 * are written into the statement: given to the client they would stick to the connection.
 */
export class EmbeddedStore implements Store {
  readonly #config: InfraSettings;
  readonly #session: Session;
  readonly #spool: string;
  readonly #free: ClickHouseClient[] = [];
  readonly #all: ClickHouseClient[] = [];
  readonly #waiting: ((client: ClickHouseClient) => void)[] = [];
  #staged = 0;

  private constructor(config: InfraSettings, session: Session) {
    this.#config = config;
    this.#session = session;
    this.#spool = join(config.DATA_DIR, 'spool');
    mkdirSync(this.#spool, { recursive: true });
    for (let i = 0; i < config.STORE_CONNECTIONS; i++) {
      // chdb brings its own copy of the client's types, equal but not identical to the compiler.
      const connection = createChdbConnection({ path: storePath(config) }) as never;
      this.#all.push(createClient({ connection } as never));
    }
    this.#free.push(...this.#all);
  }

  static async open(config: InfraSettings): Promise<EmbeddedStore> {
    const path = storePath(config);
    let session: Session | undefined;
    try {
      mkdirSync(path, { recursive: true });
      accessSync(path, constants.W_OK);
      session = new Session(path, {
        connectionArgs: [`--max_server_memory_usage=${config.STORE_MEMORY_BYTES}`],
      });
      const store = new EmbeddedStore(config, session);
      await store.run(`CREATE DATABASE IF NOT EXISTS ${DATABASE} ENGINE = Atomic`);
      return store;
    } catch (error) {
      session?.close();
      throw openError(config, error);
    }
  }

  async rows<Row>(statement: Sql): Promise<Row[]> {
    return this.#with(async (client) => {
      const result = await client.query({ query: this.#limited(statement.text), format: 'JSONEachRow' });
      return result.json<Row>();
    });
  }

  async bytes(statement: Sql, format: Format): Promise<Buffer> {
    const { name, settings } = FORMATS[format];
    return this.#with(async (client) => {
      const result = await client.exec({
        query: `${this.#limited(statement.text, settings)} FORMAT ${name}`,
      });
      return readAll(result.stream);
    });
  }

  /** The engine answers whole or not at all, except into a file. */
  async stream(statement: Sql, format: Format): Promise<Readable> {
    const { name, settings } = FORMATS[format];
    const file = join(this.#spool, `${randomUUID()}.part`);
    try {
      const query = `${statement.text} SETTINGS ${[...STREAM_SETTINGS, ...settings].join(', ')} INTO OUTFILE ${literal(file)} FORMAT ${name}`;
      await this.#with((client) => client.command({ query }));
      return (await open(file)).createReadStream();
    } finally {
      // What is open can be read to its end without a name, and is gone with this process.
      await rm(file, { force: true });
    }
  }

  async run(statement: Sql | string): Promise<void> {
    await this.#with((client) =>
      client.command({ query: typeof statement === 'string' ? statement : statement.text }),
    );
  }

  async insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void> {
    if (rows.length === 0) return;
    await this.insertLines(table, Object.keys(rows[0] as object), jsonLines(rows));
  }

  async insertLines(table: Table, columns: readonly string[], lines: string): Promise<void> {
    await this.run(`${insertHead(table, columns)}\n${lines}`);
  }

  async stage(landingTable: Table, lines: readonly Pieces[]): Promise<StagedBatch> {
    // Names sort by age.
    const age = `${String(Date.now()).padStart(15, '0')}-${String(++this.#staged).padStart(9, '0')}`;
    const file = join(this.#spool, `${age}-${landingTable.name}`);
    try {
      writeLines(`${file}.part`, lines, this.#config.STORE_FSYNC);
      // A name without `.part` says that the batch is whole.
      await rename(`${file}.part`, `${file}.ndjson`);
    } catch (error) {
      throw new ProductError('store_unwritable', UNWRITABLE, reasonOf(error));
    }
    return this.#stagedFile(`${file}.ndjson`, landingTable);
  }

  async unfinished(): Promise<StagedBatch[]> {
    const names = readdirSync(this.#spool).sort();
    for (const name of names.filter((name) => name.endsWith('.part'))) await rm(join(this.#spool, name));
    return names
      .filter((name) => name.endsWith('.ndjson'))
      .map((name) => {
        const landingTable = name.replace(/^\d+-\d+-/, '').replace(/\.ndjson$/, '');
        return this.#stagedFile(join(this.#spool, name), { name: landingTable });
      });
  }

  async close(): Promise<void> {
    for (const client of this.#all) await client.close();
    this.#session.close();
  }

  #stagedFile(file: string, landingTable: Pick<Table, 'name'>): StagedBatch {
    return {
      landingTable: landingTable.name,
      commit: async (firstSequence) => {
        const query =
          `INSERT INTO ${DATABASE}.${landingTable.name} SELECT * REPLACE (${firstSequence} + sequence AS sequence) ` +
          `FROM file(${literal(file)}, 'JSONEachRow', ${literal(await this.#structure(landingTable.name))}) ` +
          `SETTINGS ${LOAD_SETTINGS}`;
        await this.#with((client) => client.command({ query }), loadError);
      },
      discard: () => rm(file, { force: true }),
      lines: async () => splitLines(await readFile(file)),
    };
  }

  readonly #structures = new Map<string, string>();

  async #structure(table: string): Promise<string> {
    const known = this.#structures.get(table);
    if (known) return known;
    const columns = await this.#with((client) =>
      client.query({
        query: `SELECT name, type FROM system.columns WHERE database = '${DATABASE}' AND table = ${literal(table)} ORDER BY position`,
        format: 'JSONEachRow',
      }),
    );
    const rows = await columns.json<{ name: string; type: string }>();
    const structure = rows.map(({ name, type }) => `${name} ${type}`).join(', ');
    this.#structures.set(table, structure);
    return structure;
  }

  #limited(text: string, extra: readonly string[] = []): string {
    return `${text} SETTINGS ${[`max_execution_time=${this.#config.QUERY_SECONDS_MAX}`, ...READ_SETTINGS, ...extra].join(', ')}`;
  }

  async #with<T>(use: (client: ClickHouseClient) => Promise<T>, explain = engineError): Promise<T> {
    const client =
      this.#free.pop() ?? (await new Promise<ClickHouseClient>((take) => this.#waiting.push(take)));
    try {
      return await use(client);
    } catch (error) {
      throw explain(error);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(client);
      else this.#free.push(client);
    }
  }
}

const NEWLINE = Buffer.from('\n');

function storePath(config: InfraSettings): string {
  return join(config.DATA_DIR, 'store');
}

function writeLines(file: string, lines: readonly Pieces[], fsync: boolean): void {
  const descriptor = openSync(file, 'w');
  try {
    const pieces = lines.flatMap((line) => (Buffer.isBuffer(line) ? [line, NEWLINE] : [...line, NEWLINE]));
    // The kernel takes at most 1,024 pieces a call.
    for (let i = 0; i < pieces.length; i += 1024) writeAll(descriptor, pieces.slice(i, i + 1024));
    if (fsync) fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, pieces: Buffer[]): void {
  let left = pieces;
  while (left.length > 0) {
    let written = writevSync(descriptor, left);
    let whole = 0;
    while (whole < left.length && written >= (left[whole] as Buffer).length) {
      written -= (left[whole] as Buffer).length;
      whole++;
    }
    left = left.slice(whole);
    if (written > 0 && left[0]) left[0] = left[0].subarray(written);
  }
}

function openError(config: InfraSettings, error: unknown): ProductError {
  const directory = config.DATA_DIR;
  const reason = error instanceof ProductError ? (error.detail ?? error.message) : reasonOf(error);
  if (/Failed to create connection/.test(reason) && isHeld(storePath(config))) {
    return new ProductError('store_in_use', `${directory} is in use by another process`, reason);
  }
  if (/EACCES|EROFS|EPERM|ENOSPC|ENOTDIR|EEXIST|Read-only|No space|Permission denied/i.test(reason)) {
    return new ProductError(
      'store_unwritable',
      `${directory} cannot be written: ${firstSentence(reason)}`,
      reason,
    );
  }
  return new ProductError('store_failed', `${directory} cannot be opened: ${firstSentence(reason)}`, reason);
}

/** The engine says only on stderr that another one holds its directory, but that one left its process id there. */
function isHeld(path: string): boolean {
  try {
    const [, holder] = /^PID: (\d+)/.exec(readFileSync(join(path, 'status'), 'utf8')) ?? [];
    return holder !== undefined && process.kill(Number(holder), 0);
  } catch (error) {
    // No file and no process are no holder; a process of somebody else's is one.
    return (error as { code?: string }).code === 'EPERM';
  }
}

function firstSentence(reason: string): string {
  return reason.split(/(?<=\.)\s|, stack trace/i)[0]?.slice(0, 300) ?? reason;
}
