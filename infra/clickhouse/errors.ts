import { ProductError, reasonOf, unwritable } from '../errors.ts';

/** Error types of ClickHouse that blame the data, not the server, its memory or its disk. */
const DATA_ERRORS = new Set([
  'CANNOT_PARSE_TEXT', 'CANNOT_PARSE_ESCAPE_SEQUENCE', 'CANNOT_PARSE_QUOTED_STRING', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_NUMBER', 'CANNOT_PARSE_BOOL', 'INCORRECT_DATA', 'CANNOT_READ_ALL_DATA', 'TYPE_MISMATCH',
  'CANNOT_READ_ARRAY_FROM_TEXT', 'ATTEMPT_TO_READ_AFTER_EOF', 'CANNOT_PARSE_DATE', 'CANNOT_PARSE_DATETIME',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE', 'TOO_LARGE_STRING_SIZE', 'UNEXPECTED_END_OF_FILE', 'CANNOT_CONVERT_TYPE',
  'DUPLICATE_COLUMN', 'NUMBER_OF_COLUMNS_DOESNT_MATCH', 'TOO_DEEP_RECURSION', 'TOO_LARGE_ARRAY_SIZE',
]); // biome-ignore format: a list of names

/** The error of a load: `store_refused` when the data cannot be parsed. */
export function loadError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  if (type !== undefined && DATA_ERRORS.has(type)) {
    return new ProductError('store_refused', 'the engine cannot read it as a block', reasonOf(error));
  }
  return storeError(error);
}

/** Error types of a statement that needs more than the server has: a smaller one may succeed. */
const SIZE_ERRORS = new Set([
  'MEMORY_LIMIT_EXCEEDED', 'CANNOT_ALLOCATE_MEMORY', 'LIMIT_EXCEEDED', 'TOO_MANY_BYTES', 'TOO_MANY_ROWS',
  'ARGUMENT_OUT_OF_BOUND',
]); // biome-ignore format: a list of names

/**
 * The error of an insert: `store_refused` when its rows cannot be stored, `store_exhausted` when they are too large to
 * be stored together. Other errors have nothing to do with the rows.
 */
export function insertError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  if (type !== undefined && DATA_ERRORS.has(type)) {
    return new ProductError('store_refused', `the store refuses the rows (${type})`, reasonOf(error));
  }
  if (type !== undefined && SIZE_ERRORS.has(type)) {
    return new ProductError('store_exhausted', `the rows are too large (${type})`, reasonOf(error));
  }
  return storeError(error);
}

/** An error of the way to the server, which has no type of ClickHouse. */
const isConnectionError = (error: unknown): boolean =>
  /^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)/.test(
    String((error as { code?: unknown }).code),
  ) || /^Timeout error|socket hang up/.test(reasonOf(error));

/** The message of ClickHouse quotes the statement, so only the error type is public. */
export function storeError(error: unknown): ProductError {
  if (error instanceof ProductError) return error;
  const { type } = error as { type?: string };
  const reason = reasonOf(error);
  if (type === 'TIMEOUT_EXCEEDED') {
    return new ProductError(
      'store_timeout',
      'the query takes longer than QUERY_SECONDS_MAX; ask for less',
      reason,
    );
  }
  if (type === 'MEMORY_LIMIT_EXCEEDED') {
    return new ProductError('store_busy', 'the store has too little memory at this moment', reason);
  }
  if (type === 'NOT_ENOUGH_SPACE' || /No space left/i.test(reason)) return unwritable(reason);
  if (type === undefined && isConnectionError(error)) {
    return new ProductError('service_unreachable', 'ClickHouse does not answer', reason);
  }
  return new ProductError('store_failed', `the store failed${type ? ` (${type})` : ''}`, reason);
}
