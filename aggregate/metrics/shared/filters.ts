import { z } from 'zod';
import { decodeAddress } from '../../../ingest/chains/address.ts';

/** Schemas of query parameters: text in, checked and turned into what the condition needs. */

export const wholeNumber = (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d{1,16}$/, 'not a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max));

/** An account in any SS58 spelling or as H160; compared by its key, lowercase hex with 0x. */
export const accountKey = () =>
  z
    .string()
    .refine((given) => decodeAddress(given) !== null, 'not an SS58 or H160 address')
    .transform((given) => (decodeAddress(given) as { key: string }).key);

/** A contract's address, in lowercase. */
export const contractAddress = () =>
  z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'not an H160 address')
    .toLowerCase();

/** Values of one repeated parameter: a request for more of them is better made in parts. */
export const VALUES_MAX = 1000;

/** A repeated parameter, whose values are alternatives. */
export const anyOf = <Value extends z.ZodType>(value: Value) =>
  z.array(value).max(VALUES_MAX, `more than ${VALUES_MAX} values: ask for them in several requests`);
