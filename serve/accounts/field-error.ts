/** A value that was refused, with the form field that it came from and the message for the user. */
export class FieldError extends Error {
  readonly field: string;
  constructor(field: string, publicText: string) {
    super(publicText);
    this.field = field;
  }
}

/** The message for a field; null if the error belongs to another field. */
export const faultOf = (error: FieldError | undefined, field: string): string | null =>
  error?.field === field ? error.message : null;
