import { z } from 'zod';
import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import type { Filter } from '../../metric.ts';
import { accountKey, wholeNumber } from '../shared/filters.ts';

/** Filters that the coretime paths share. */

export const regionBegin: Filter = {
  schema: wholeNumber().describe('first timeslice of a sale or region'),
  condition: (begin: number) => sql`region_begin = ${begin}`,
};

export const core = wholeNumber().describe('index of the core');

/** 80 bits, one for each part of a core; either case, with or without the prefix. */
export const mask = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{20}$/, 'not a mask of 20 hex digits')
  .transform((given) => `0x${given.replace(/^0x/, '').toLowerCase()}`)
  .describe('mask of the core’s parts, 20 hex digits');

/** Filters by the key in a column, however the account is spelled. */
export const accountFilter = (column: Sql, doc: string): Filter => ({
  schema: accountKey().describe(`${doc}, in any SS58 spelling`),
  condition: (key: string) => sql`${column} = ${key}`,
});
