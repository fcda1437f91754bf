import { ProductError, reasonOf, unwritable } from '../errors.ts';

/** Error types of ClickHouse that the data cause, not the server, its memory or its disk. */
const DATA_ERRORS = new Set([
  'CANNOT_PARSE_TEXT', 'CANNOT_PARSE_ESCAPE_SEQUENCE', 'CANNOT_PARSE_QUOTED_STRING', 'CANNOT_PARSE_INPUT_ASSERTION_FAILED',
  'CANNOT_PARSE_NUMBER', 'CANNOT_PARSE_BOOL', 'INCORRECT_DATA', 'CANNOT_READ_ALL_DATA', 'TYPE_MISMATCH',
  'CANNOT_READ_ARRAY_FROM_TEXT', 'ATTEMPT_TO_READ_AFTER_EOF', 'CANNOT_PARSE_DATE', 'CANNOT_PARSE_DATETIME',
  'VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE', 'TOO_LARGE_STRING_SIZE', 'UNEXPECTED_END_OF_FILE', 'CANNOT_CONVERT_TYPE',
  'DUPLICATE_COLUMN', 'FUNCTION_THROW_IF_VALUE_IS_NON_ZERO', 'NUMBER_OF_COLUMNS_DOESNT_MATCH', 'TOO_DEEP_RECURSION', 'TOO_LARGE_ARRAY_SIZE',
]); // biome-ignore format: a list of names

/** Error types that the server causes: its disk, rights or load. The write must be retried later. */
const SERVER_ERRORS = new Set([
  'ABORTED', 'ACCESS_DENIED', 'ALL_CONNECTION_TRIES_FAILED', 'ALL_REPLICAS_LOST', 'AUTHENTICATION_FAILED',
  'CANNOT_CREATE_DIRECTORY', 'CANNOT_FSYNC', 'CANNOT_OPEN_FILE', 'CANNOT_SCHEDULE_TASK', 'CANNOT_WRITE_TO_FILE_DESCRIPTOR',
  'CANNOT_WRITE_TO_SOCKET', 'CHECKSUM_DOESNT_MATCH', 'CORRUPTED_DATA', 'FILE_DOESNT_EXIST', 'KEEPER_EXCEPTION',
  'NETWORK_ERROR', 'NOT_ENOUGH_SPACE', 'NOT_IMPLEMENTED', 'NO_ZOOKEEPER', 'QUERY_WAS_CANCELLED', 'QUOTA_EXCEEDED',
  'READONLY', 'RECEIVED_ERROR_TOO_MANY_REQUESTS', 'REPLICA_IS_NOT_IN_QUORUM', 'S3_ERROR', 'SOCKET_TIMEOUT',
  'SUPPORT_IS_DISABLED', 'SYNTAX_ERROR', 'TABLE_IS_BEING_RESTARTED', 'TABLE_IS_DROPPED', 'TABLE_IS_READ_ONLY',
  'TOO_FEW_LIVE_REPLICAS', 'TOO_MANY_MUTATIONS', 'TOO_MANY_PARTS', 'TOO_MANY_SIMULTANEOUS_QUERIES', 'UNFINISHED',
  'UNKNOWN_DATABASE', 'UNKNOWN_IDENTIFIER', 'UNKNOWN_SETTING', 'UNKNOWN_STATUS_OF_INSERT', 'UNKNOWN_TABLE',
  'UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE',
]); // biome-ignore format: a list of names

/**
 * The error of a load: `store_refused` if the data cannot be parsed, `store_exhausted` if the content or the size of the
 * batch may be the cause.
 */
export function loadError(error: unknown): ProductError {
  const { type } = error as { type?: string };
  const reason = reasonOf(error);
  if (type !== undefined && DATA_ERRORS.has(type)) {
    return new ProductError('store_refused', 'the engine cannot read it as a block', reason);
  }
  const isOfServer = type === undefined || SERVER_ERRORS.has(type) || /No space left/i.test(reason);
  // The common memory limit of all statements was reached, so this statement need not be the cause.
  const isOfAll = type === 'MEMORY_LIMIT_EXCEEDED' && !/query memory limit|for query/i.test(reason);
  if (isOfServer || isOfAll) return storeError(error);
  return new ProductError('store_exhausted', `the engine cannot load it (${type})`, reason);
}

/** Error types of a statement that needs too much memory or too many rows. A smaller statement may succeed. */
const SIZE_ERRORS = new Set([
  'MEMORY_LIMIT_EXCEEDED', 'CANNOT_ALLOCATE_MEMORY', 'LIMIT_EXCEEDED', 'TOO_MANY_BYTES', 'TOO_MANY_ROWS',
  'ARGUMENT_OUT_OF_BOUND',
]); // biome-ignore format: a list of names

/**
 * The error of an insert: `store_refused` if the rows cannot be stored, `store_exhausted` if they are too large for one
 * statement. Other errors are not caused by the rows.
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

/** Whether an error comes from the network, not from ClickHouse. */
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
      'the query takes longer than QUERY_SECONDS_MAX; request less data',
      reason,
    );
  }
  if (type === 'MEMORY_LIMIT_EXCEEDED' || type === 'CANNOT_ALLOCATE_MEMORY') {
    return new ProductError(
      'store_memory',
      'the store is out of memory at the moment; try again later',
      reason,
    );
  }
  if (type === 'QUOTA_EXCEEDED' || type === 'TOO_MANY_SIMULTANEOUS_QUERIES') {
    return new ProductError(
      'store_busy',
      'the store accepts no more queries at the moment; try again later',
      reason,
    );
  }
  if (type === 'NOT_ENOUGH_SPACE' || /No space left/i.test(reason)) return unwritable(reason);
  if (type === undefined && isConnectionError(error)) {
    return new ProductError('service_unreachable', 'ClickHouse does not answer', reason);
  }
  return new ProductError('store_failed', `the store failed${type ? ` (${type})` : ''}`, reason);
}
