/**
 * Every error that a user can see has a stable code, a public message and, if it helps the operator, a private
 * detail for the log. `serve/http/errors.ts` is the only place that maps codes to HTTP statuses.
 */
export type ErrorCode =
  | 'setting_invalid'
  | 'store_in_use'
  | 'store_newer'
  | 'store_missing'
  | 'schema_in_use'
  | 'store_unwritable'
  | 'store_failed'
  | 'store_busy'
  | 'store_memory'
  | 'store_timeout'
  | 'store_refused'
  | 'store_exhausted'
  | 'service_unreachable'
  | 'service_refused'
  | 'output_unwritable'
  | 'input_missing'
  | 'input_unreadable'
  | 'metrics_failed'
  | 'unknown_metric'
  | 'unknown_chain'
  | 'source_unreachable'
  | 'source_failed'
  | 'usage';

export class ProductError extends Error {
  readonly code: ErrorCode;
  /** For the log only: it may contain messages of ClickHouse and paths. */
  readonly detail: string | undefined;

  constructor(code: ErrorCode, publicText: string, detail?: string) {
    super(publicText);
    this.name = 'ProductError';
    this.code = code;
    this.detail = detail;
  }
}

/** The message of a thrown value, in one line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, ' ').trim();
}

/** The error of a write that the disk refused. */
export const unwritable = (reason: string): ProductError =>
  new ProductError(
    'store_unwritable',
    'the disk is full or not writable; no data is accepted until this is fixed',
    reason,
  );
