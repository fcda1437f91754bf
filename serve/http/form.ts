import { HttpError } from './errors.ts';

/** The fields of a form or of a query, decoded strictly: what is malformed is refused, never mended. */
export class Form {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values;
  }

  /** The value of a field; '' when it is absent. The first one when it was sent more than once. */
  text(name: string): string {
    return this.#values.get(name)?.[0] ?? '';
  }

  /** Every value of a field that may come more than once, such as check boxes. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** Names of the fields that came more than once. */
  repeated(): string[] {
    return [...this.#values].filter(([, values]) => values.length > 1).map(([name]) => name);
  }
}

export const EMPTY_FORM = new Form(new Map());

/** Far more than any form of ours has: each field costs time to look at. */
const FIELDS_MAX = 200;

/** Reads `application/x-www-form-urlencoded` text; an `HttpError` with 400 names what cannot be read. */
export function readForm(text: string): Form {
  const values = new Map<string, string[]>();
  const fields = text.split('&').filter((field) => field !== '');
  if (fields.length > FIELDS_MAX) throw new HttpError(400, `More than ${FIELDS_MAX} fields.`);
  for (const field of fields) {
    const [, name = '', value = ''] = /^([^=]*)=?([\s\S]*)$/.exec(field) ?? [];
    const decodedName = decoded(name, 'a field name');
    const known = values.get(decodedName) ?? [];
    known.push(decoded(value, decodedName.slice(0, 40)));
    values.set(decodedName, known);
  }
  return new Form(values);
}

/** Reads the bytes of a body; they must be UTF-8. */
export function readFormBytes(bytes: Buffer): Form {
  try {
    return readForm(utf8.decode(bytes));
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'The form is not UTF-8.');
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(text: string, what: string): string {
  let plain: string;
  try {
    plain = decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new HttpError(400, `The value of ${what} is not percent-encoded UTF-8.`);
  }
  if (plain.includes('\0')) throw new HttpError(400, `The value of ${what} holds a zero byte.`);
  return plain;
}
