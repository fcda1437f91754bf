import { z } from 'zod';
import { type Sql, sql } from '../../../infra/sql.ts';
import type { Filter } from '../../metric.ts';
import { accountKey, wholeNumber } from '../shared/filters.ts';

export const regionBegin: Filter = {
  schema: wholeNumber().describe('first timeslice of the sale or region'),
  condition: (begin: number) => sql`region_begin = ${begin}`,
};

export const core = wholeNumber().describe('index of the core');

/** 80 bits, one for each part of a core, as hex in either case, with or without 0x. */
export const mask = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{20}$/, 'not a mask: expected 20 hex digits, with or without 0x')
  .transform((text) => `0x${text.replace(/^0x/, '').toLowerCase()}`)
  .describe('mask of the parts of the core: 80 bits as 20 hex digits');

/** Compares the key in a column, so that an account matches in every encoding. */
export const accountFilter = (column: Sql, doc: string): Filter => ({
  schema: accountKey().describe(`${doc}, as SS58 with any prefix`),
  condition: (key: string) => sql`${column} = ${key}`,
});
