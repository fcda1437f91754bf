/** JSON whose numbers keep the digits they were written with, since a double holds only 53 bits of them. */

export class NumberToken {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type JsonObject = { readonly [key: string]: Json };
export type Json = null | boolean | string | NumberToken | readonly Json[] | JsonObject;

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;

/** Parses a document; throws on malformed text. */
export function parseJson(text: string): Json {
  const keepDigits: Reviver = (_key, value, context) =>
    typeof value === 'number' ? new NumberToken(context.source ?? String(value)) : value;
  return JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown) as Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberToken)
  );
}

export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The elements of an array, or the values of an object that names its fields in their order. */
export function valuesOf(value: Json | undefined): readonly Json[] {
  if (isArray(value)) return value;
  return isObject(value) ? Object.values(value) : [];
}
