import { z } from 'zod';
import { decodeAddress } from '../../../ingest/chains/address.ts';

// Schemas of query parameters. They validate text and convert it to the value of the SQL condition. Each limits the
// length of the text, because it becomes part of a statement.

/** Longer than any chain name, and than a list of all domains. */
export const NAME_CHARS_MAX = 128;

/** A chain name; unknown names are valid. */
export const chainName = () =>
  z
    .string()
    .min(1, 'empty: name a chain, or leave the parameter out')
    .max(NAME_CHARS_MAX, `more than ${NAME_CHARS_MAX} characters`);

export const wholeNumber = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'not a whole number of at most 16 digits')
    .transform(Number)
    .pipe(z.int().min(min, `less than ${min}`).max(max, `more than ${max}`));

/** An index or id: a string in the API document, an integer in records. */
export const indexParameter = () => wholeNumber().meta({ isText: true });

/** An account as SS58 with any prefix or as H160; parses to the key in lowercase hex with 0x. */
export const accountKey = () =>
  z
    .string()
    .refine((text) => decodeAddress(text) !== null, 'not an SS58 or H160 address')
    .transform((text) => (decodeAddress(text) as { key: string }).key);

/** A contract's address, in lowercase. */
export const contractAddress = () =>
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'not an H160 address: expected 0x and 40 hex digits')
    .toLowerCase();

/** Values of one repeatable parameter in one request. */
const VALUES_MAX = 1000;

/** A repeatable parameter: a row matches when it matches any of the values. */
export const anyOf = <Value extends z.ZodType>(value: Value) =>
  z.array(value).max(VALUES_MAX, `more than ${VALUES_MAX} values: split them over several requests`);
