import type { Format, QueryOptions, StreamLimits } from '../ports.ts';
import { DATABASE, type NamedTable } from '../sql.ts';

// Formats and settings of the statements of both stores.

/** For `JSON.stringify`: replaces lone surrogates, which ClickHouse refuses and any text may contain. */
const wellFormed = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.toWellFormed() : value;

const READ_SETTINGS = [
  "date_time_output_format='iso'",
  'output_format_json_quote_64bit_integers=0',
  'precise_float_parsing=1',
  // Conditions on the key of a table are applied before FINAL; those on other columns need its result.
  'optimize_move_to_prewhere_if_final=1',
];

/** For results of any size: a large sort uses the disk. */
const STREAM_SETTINGS = [...READ_SETTINGS, 'max_bytes_before_external_sort=268435456'];

/**
 * Settings of a load. The engine parses a Sidecar block by the column types; nested values without a type stay text. Plan
 * optimization is off: every batch plans the materialized views again, and their plans do not improve. Parallel parsing is
 * off, since it costs a tenth more processor time. Two threads make the rows, since those of events take
 * as long as all others together. The other processors decode the next batch.
 */
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
  'query_plan_enable_optimizations=0',
  'max_threads=2',
  'parallel_view_processing=1',
  'input_format_parallel_parsing=0',
].join(', ');

export const FORMATS: Record<Format, { name: string; settings: string[] }> = {
  JSON: { name: 'JSONEachRow', settings: ['output_format_json_array_of_rows=1'] },
  NDJSON: { name: 'JSONEachRow', settings: [] },
  // A null is an empty field, so that programs infer the type of the column from the other values. An empty text is `""`.
  CSV: { name: 'CSVWithNames', settings: ["format_csv_null_representation=''"] },
  // Each thread keeps a row group in memory until it is complete.
  Parquet: { name: 'Parquet', settings: ['output_format_parquet_row_group_size_bytes=33554432'] },
  Arrow: { name: 'ArrowStream', settings: [] },
};

/**
 * An INSERT statement up to its data. A column that the table does not have is an error, and an object in a String
 * column is stored as its JSON text.
 */
export const insertHead = (table: NamedTable, columns: readonly string[]): string =>
  `INSERT INTO ${DATABASE}.${table.name} (${columns.join(', ')}) SETTINGS ${INSERT_SETTINGS} FORMAT JSONEachRow`;

/** An INSERT whose lines the engine reads from a source. One thread: the lines are too few for parallel parsing. */
export const insertFrom = (table: NamedTable, columns: readonly string[], source: string): string =>
  `INSERT INTO ${DATABASE}.${table.name} (${columns.join(', ')}) SELECT ${columns.join(', ')} FROM ${source} ` +
  `SETTINGS ${INSERT_SETTINGS}, input_format_parallel_parsing=0`;

const INSERT_SETTINGS = [
  'async_insert=0',
  'input_format_skip_unknown_fields=0',
  'input_format_json_read_objects_as_strings=1',
  "date_time_input_format='best_effort'",
].join(', ');

export const jsonLines = (rows: readonly Readonly<Record<string, unknown>>[]): string =>
  rows.map((row) => `${jsonLine(row)}\n`).join('');

/** Serializes a row. Only a row with a lone surrogate, which `JSON.stringify` escapes, is serialized twice. */
export function jsonLine(row: Readonly<Record<string, unknown>>): string {
  const line = JSON.stringify(row);
  return line.includes('\\ud') ? JSON.stringify(row, wellFormed) : line;
}

/** Time limit of probes and of KILL QUERY. */
export const PROBE_SECONDS = 10;

/**
 * Longest time that a query with low priority waits after each block of rows while other reader queries run. The limit
 * makes sure that it ends.
 */
const WAIT_FOR_OTHERS_MS = 100;
const FIRST = ['priority=1'];
const AFTER_OTHERS = ['priority=2', `low_priority_query_wait_time_ms=${WAIT_FOR_OTHERS_MS}`];

export function readerSettings({ lane, isLowPriority: letsOthersFirst }: QueryOptions): readonly string[] {
  if (lane !== 'readers') return [];
  return letsOthersFirst ? AFTER_OTHERS : FIRST;
}

/** A SELECT whose result is returned whole. */
export const selectStatement = (text: string, secondsMax: number, settings: readonly string[] = []): string =>
  `${text} SETTINGS ${[`max_execution_time=${secondsMax}`, ...READ_SETTINGS, ...settings].join(', ')}`;

/** A SELECT whose result is streamed. */
export const streamStatement = (text: string, settings: readonly string[], limits?: StreamLimits): string =>
  `${text} SETTINGS ${[...STREAM_SETTINGS, ...settings, ...limitSettings(limits)].join(', ')}`;

const limitSettings = (limits: StreamLimits | undefined): readonly string[] =>
  limits === undefined ? [] : [`max_memory_usage=${limits.memoryBytesMax}`];

/** The INSERT that commits a staged batch: its lines are numbered from the sequence. */
export const loadStatement = (
  table: string,
  firstSequence: bigint,
  source: string,
  settings: readonly string[] = [],
): string =>
  `INSERT INTO ${DATABASE}.${table} SELECT * REPLACE (${firstSequence} + sequence AS sequence) ` +
  `FROM ${source} SETTINGS ${[LOAD_SETTINGS, ...settings].join(', ')}`;
