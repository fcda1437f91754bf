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
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { Session } from 'chdb';
import { createChdbConnection } from 'chdb/connection';
import type { Config } from '../config.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { DATABASE, literal, type Sql } from '../kernel/sql.ts';
import type { Table } from '../kernel/table.ts';
import { type Format, readAll, type StagedBatch, type Store } from '../runtime.ts';
import { splitLines } from './lines.ts';

/**
 * chDB behind the ordinary client. One connection runs one query at a time, so a small pool is kept. Settings
 * are written into the statement: given to the client they would stick to the connection.
 */
export class EmbeddedStore implements Store {
  readonly #config: Config;
  readonly #session: Session;
  readonly #spool: string;
  readonly #free: ClickHouseClient[] = [];
  readonly #all: ClickHouseClient[] = [];
  readonly #waiting: ((client: ClickHouseClient) => void)[] = [];
  #staged = 0;

  private constructor(config: Config, session: Session) {
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

  static async open(config: Config): Promise<EmbeddedStore> {
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

  async run(statement: Sql | string): Promise<void> {
    await this.#with((client) =>
      client.command({ query: typeof statement === 'string' ? statement : statement.text }),
    );
  }

  async insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void> {
    if (rows.length === 0) return;
    const columns = Object.keys(rows[0] as object);
    const lines = rows.map((row) => JSON.stringify(row, wellFormed)).join('\n');
    await this.run(
      `INSERT INTO ${DATABASE}.${table.name} (${columns.join(', ')}) SETTINGS async_insert=0, ` +
        `input_format_skip_unknown_fields=0, date_time_input_format='best_effort' FORMAT JSONEachRow\n${lines}\n`,
    );
  }

  async stage(inlet: Table, lines: readonly Buffer[]): Promise<StagedBatch> {
    // Names sort by age.
    const age = `${String(Date.now()).padStart(15, '0')}-${String(++this.#staged).padStart(9, '0')}`;
    const file = join(this.#spool, `${age}-${inlet.name}`);
    try {
      writeLines(`${file}.part`, lines, this.#config.STORE_FSYNC);
      // A name without `.part` says that the batch is whole.
      await rename(`${file}.part`, `${file}.ndjson`);
    } catch (error) {
      throw new ProductError('store_unwritable', UNWRITABLE, reasonOf(error));
    }
    return this.#stagedFile(`${file}.ndjson`, inlet);
  }

  async unfinished(): Promise<StagedBatch[]> {
    const names = readdirSync(this.#spool).sort();
    for (const name of names.filter((name) => name.endsWith('.part'))) await rm(join(this.#spool, name));
    return names
      .filter((name) => name.endsWith('.ndjson'))
      .map((name) => {
        const inlet = name.replace(/^\d+-\d+-/, '').replace(/\.ndjson$/, '');
        return this.#stagedFile(join(this.#spool, name), { name: inlet });
      });
  }

  async close(): Promise<void> {
    for (const client of this.#all) await client.close();
    this.#session.close();
  }

  #stagedFile(file: string, inlet: Pick<Table, 'name'>): StagedBatch {
    return {
      inlet: inlet.name,
      commit: async (firstSequence) => {
        const query =
          `INSERT INTO ${DATABASE}.${inlet.name} SELECT * REPLACE (${firstSequence} + sequence AS sequence) ` +
          `FROM file(${literal(file)}, 'JSONEachRow', ${literal(await this.#structure(inlet.name))}) ` +
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

/** The engine refuses half a surrogate pair, and any text may hold one. */
const wellFormed = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.toWellFormed() : value;

const READ_SETTINGS = [
  "date_time_output_format='iso'",
  'output_format_json_quote_64bit_integers=0',
  'precise_float_parsing=1',
];

/** What the engine needs to read a Sidecar block by its types: nested values it is not told of stay as text. */
export const LOAD_SETTINGS = [
  'input_format_json_read_objects_as_strings=1',
  'input_format_json_read_arrays_as_strings=1',
  'input_format_json_read_numbers_as_strings=1',
  'input_format_json_read_bools_as_strings=1',
  'input_format_json_ignore_unknown_keys_in_named_tuple=1',
  'input_format_json_try_infer_named_tuples_from_objects=0',
  'input_format_null_as_default=1',
  'input_format_skip_unknown_fields=1',
  'max_partitions_per_insert_block=0',
].join(', ');

const FORMATS: Record<Format, { name: string; settings: string[] }> = {
  JSON: { name: 'JSONEachRow', settings: ['output_format_json_array_of_rows=1'] },
  NDJSON: { name: 'JSONEachRow', settings: [] },
  CSV: { name: 'CSVWithNames', settings: [] },
  Parquet: { name: 'Parquet', settings: [] },
  Arrow: { name: 'ArrowStream', settings: [] },
};

function storePath(config: Config): string {
  return join(config.DATA_DIR, 'store');
}

function writeLines(file: string, lines: readonly Buffer[], fsync: boolean): void {
  const descriptor = openSync(file, 'w');
  try {
    const pieces = lines.flatMap((line) => [line, NEWLINE]);
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

function openError(config: Config, error: unknown): ProductError {
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

/** Engine error types that blame the data, not the engine, its memory or its disk. */
const DATA_ERRORS = new Set([
  'CANNOT_PARSE_TEXT', 'CANNOT_PARSE_ESCAPE_SEQUENCE', 'CANNOT_PARSE_QUOTED_STRING', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_NUMBER', 'CANNOT_PARSE_BOOL', 'INCORRECT_DATA', 'CANNOT_READ_ALL_DATA', 'TYPE_MISMATCH',
  'CANNOT_READ_ARRAY_FROM_TEXT', 'ATTEMPT_TO_READ_AFTER_EOF', 'CANNOT_PARSE_DATE', 'CANNOT_PARSE_DATETIME',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE', 'TOO_LARGE_STRING_SIZE', 'UNEXPECTED_END_OF_FILE', 'CANNOT_CONVERT_TYPE',
  'DUPLICATE_COLUMN', 'NUMBER_OF_COLUMNS_DOESNT_MATCH', 'TOO_DEEP_RECURSION', 'TOO_LARGE_ARRAY_SIZE',
]); // biome-ignore format: a list of names

const UNWRITABLE = 'the disk is full or cannot be written: nothing more is taken in';

function loadError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  if (type !== undefined && DATA_ERRORS.has(type)) {
    return new ProductError('store_refused', 'the engine cannot read it as a block', reasonOf(error));
  }
  return engineError(error);
}

/** The engine's words quote the statement, so only its name for the error is public. */
function engineError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  const reason = reasonOf(error);
  if (type === 'NOT_ENOUGH_SPACE' || /No space left/i.test(reason)) {
    return new ProductError('store_unwritable', UNWRITABLE, reason);
  }
  return new ProductError('store_failed', `the store failed${type ? ` (${type})` : ''}`, reason);
}
