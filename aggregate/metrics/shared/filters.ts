import { z } from 'zod';
import { decodeAddress } from '../../../ingest/chains/address.ts';

// Schemas of query parameters: they check a text and convert it to the value of the SQL condition. Each of them bounds
// the length of the text, by its form or by a number, since the text becomes part of a statement.

/** Longer than any name of a chain, and than a list of all domains. */
export const NAME_CHARS_MAX = 128;

/** The name of a chain; it need not be known. */
export const chainName = () =>
  z.string().min(1, 'empty').max(NAME_CHARS_MAX, `more than ${NAME_CHARS_MAX} characters`);

export const wholeNumber = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.int().min(min, `less than ${min}`).max(max, `more than ${max}`));

/** An index or id, which the API describes as a string and whose values in records are integers. */
export const indexText = () => wholeNumber().meta({ isText: true });

/** An account as SS58 with any prefix or as H160; its value is the key, lowercase hex with 0x. */
export const accountKey = () =>
  z
    .string()
    .refine((text) => decodeAddress(text) !== null, 'not an SS58 or H160 address')
    .transform((text) => (decodeAddress(text) as { key: string }).key);

/** A contract's address, in lowercase. */
export const contractAddress = () =>
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'not an H160 address')
    .toLowerCase();

/** Values of one repeatable parameter in one request. */
const VALUES_MAX = 1000;

/** A repeatable parameter: a row matches when it matches any of the values. */
export const anyOf = <Value extends z.ZodType>(value: Value) =>
  z.array(value).max(VALUES_MAX, `more than ${VALUES_MAX} values: ask for them in several requests`);
