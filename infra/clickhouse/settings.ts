import { ProductError, reasonOf } from '../errors.ts';
import type { Format } from '../ports.ts';
import { DATABASE, type NamedTable } from './sql.ts';

// What both stores say to the engine besides the statements themselves, and how they understand its errors.

/** The engine refuses half a surrogate pair, and any text may hold one. */
const wellFormed = (_key: string, value: unknown) =>
  typeof value === 'string' ? value.toWellFormed() : value;

export const READ_SETTINGS = [
  "date_time_output_format='iso'",
  'output_format_json_quote_64bit_integers=0',
  'precise_float_parsing=1',
];

/** For answers of any size: what does not fit is sorted on the disk. */
export const STREAM_SETTINGS = [...READ_SETTINGS, 'max_bytes_before_external_sort=268435456'];

/**
 * What the engine needs to read a Sidecar block by its types: nested values it is not told of stay as text. The rows
 * of one table do not wait for those of another.
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
  'parallel_view_processing=1',
].join(', ');

export const FORMATS: Record<Format, { name: string; settings: string[] }> = {
  JSON: { name: 'JSONEachRow', settings: ['output_format_json_array_of_rows=1'] },
  NDJSON: { name: 'JSONEachRow', settings: [] },
  CSV: { name: 'CSVWithNames', settings: [] },
  Parquet: { name: 'Parquet', settings: [] },
  Arrow: { name: 'ArrowStream', settings: [] },
};

/**
 * What an INSERT of rows says before its data; a column that the table lacks fails instead of being dropped, and an
 * object in a column of text is kept to the letter.
 */
export function insertHead(table: NamedTable, columns: readonly string[]): string {
  return (
    `INSERT INTO ${DATABASE}.${table.name} (${columns.join(', ')}) SETTINGS async_insert=0, ` +
    'input_format_skip_unknown_fields=0, input_format_json_read_objects_as_strings=1, ' +
    "date_time_input_format='best_effort' FORMAT JSONEachRow"
  );
}

export const jsonLines = (rows: readonly Readonly<Record<string, unknown>>[]): string =>
  rows.map((row) => `${jsonLine(row)}\n`).join('');

/** Half a surrogate pair is written as its escape, which is rare enough to mend only then. */
function jsonLine(row: Readonly<Record<string, unknown>>): string {
  const line = JSON.stringify(row);
  return line.includes('\\ud') ? JSON.stringify(row, wellFormed) : line;
}

/** Engine error types that blame the data, not the engine, its memory or its disk. */
const DATA_ERRORS = new Set([
  'CANNOT_PARSE_TEXT', 'CANNOT_PARSE_ESCAPE_SEQUENCE', 'CANNOT_PARSE_QUOTED_STRING', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_NUMBER', 'CANNOT_PARSE_BOOL', 'INCORRECT_DATA', 'CANNOT_READ_ALL_DATA', 'TYPE_MISMATCH',
  'CANNOT_READ_ARRAY_FROM_TEXT', 'ATTEMPT_TO_READ_AFTER_EOF', 'CANNOT_PARSE_DATE', 'CANNOT_PARSE_DATETIME',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE', 'TOO_LARGE_STRING_SIZE', 'UNEXPECTED_END_OF_FILE', 'CANNOT_CONVERT_TYPE',
  'DUPLICATE_COLUMN', 'NUMBER_OF_COLUMNS_DOESNT_MATCH', 'TOO_DEEP_RECURSION', 'TOO_LARGE_ARRAY_SIZE',
]); // biome-ignore format: a list of names

export const UNWRITABLE = 'the disk is full or cannot be written: nothing more is taken in';

export function loadError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  if (type !== undefined && DATA_ERRORS.has(type)) {
    return new ProductError('store_refused', 'the engine cannot read it as a block', reasonOf(error));
  }
  return engineError(error);
}

/** The engine's words quote the statement, so only its name for the error is public. */
export function engineError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  const reason = reasonOf(error);
  if (type === 'NOT_ENOUGH_SPACE' || /No space left/i.test(reason)) {
    return new ProductError('store_unwritable', UNWRITABLE, reason);
  }
  return new ProductError('store_failed', `the store failed${type ? ` (${type})` : ''}`, reason);
}
