import { z } from 'zod';
import { type Sql, sql } from '../../../infra/sql.ts';
import type { Filter } from '../../metric.ts';
import { accountKey, wholeNumber } from '../shared/filters.ts';

/** Filters that several coretime endpoints use. */

export const regionBegin: Filter = {
  schema: wholeNumber().describe('first timeslice of a sale or region'),
  condition: (begin: number) => sql`region_begin = ${begin}`,
};

export const core = wholeNumber().describe('index of the core');

/** 80 bits, one for each part of a core, as hex in either case, with or without 0x. */
export const mask = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{20}$/, 'not a mask of 20 hex digits')
  .transform((text) => `0x${text.replace(/^0x/, '').toLowerCase()}`)
  .describe('mask of the core’s parts, 20 hex digits');

/** Compares the key in a column, so that an account matches in every encoding. */
export const accountFilter = (column: Sql, doc: string): Filter => ({
  schema: accountKey().describe(`${doc}, in any SS58 spelling`),
  condition: (key: string) => sql`${column} = ${key}`,
});
