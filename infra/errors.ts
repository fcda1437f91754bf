/**
 * Every error a user can meet has a class, a stable code, a public text and, where it helps the operator,
 * a private detail that reaches the log only. `serve/http/errors.ts` is the one place that maps codes to HTTP.
 */
export type ErrorCode =
  | 'setting_invalid'
  | 'store_in_use'
  | 'store_newer'
  | 'store_unwritable'
  | 'store_failed'
  | 'store_refused'
  | 'service_unreachable'
  | 'service_refused'
  | 'input_missing'
  | 'input_unreadable'
  | 'unknown_metric'
  | 'unknown_chain'
  | 'source_unreachable'
  | 'source_failed'
  | 'usage';

export class ProductError extends Error {
  readonly code: ErrorCode;
  /** For the log only; may hold engine texts and paths. */
  readonly detail: string | undefined;

  constructor(code: ErrorCode, publicText: string, detail?: string) {
    super(publicText);
    this.name = 'ProductError';
    this.code = code;
    this.detail = detail;
  }
}

/** The text of anything that was thrown, in one line. */
export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, ' ').trim();
}
