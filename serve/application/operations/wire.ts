import { type ErrorCode, ProductError, reasonOf } from '../../../infra/errors.ts';

/** An error in the format of the socket. */
export interface WireError {
  readonly code?: ErrorCode;
  readonly message: string;
  readonly detail?: string;
}

/** A line of an answer. The last line is the result or the error. */
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

/** The header with the input of a call as JSON. The body is for files. */
export const INPUT_HEADER = 'x-operation-input';
