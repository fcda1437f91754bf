import { type ErrorCode, ProductError, reasonOf } from '../../../infra/errors.ts';

/** A failure, as the socket carries it. */
export interface WireError {
  readonly code?: ErrorCode;
  readonly message: string;
  readonly detail?: string;
}

/** A line of an answer: progress while the operation runs, and last its result or its error. */
export type WireLine =
  | { readonly progress: unknown }
  | { readonly result: unknown }
  | { readonly error: WireError };

export function toWire(error: unknown): WireError {
  const message = reasonOf(error);
  if (!(error instanceof ProductError)) return { message };
  const { code, detail } = error;
  return detail === undefined ? { code, message } : { code, message, detail };
}

export const fromWire = ({ code = 'store_failed', message, detail }: WireError): ProductError =>
  new ProductError(code, message, detail);

/** The header that carries the input of a call as JSON: its body may be a file of any size. */
export const INPUT_HEADER = 'x-operation-input';
