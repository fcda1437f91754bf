import { z } from 'zod';
import { endAfter, FIRST_DAY, LAST_DAY } from '../../../infra/clickhouse/date-range.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Store } from '../../../infra/ports.ts';
import { ident, join, raw, type Sql, sql } from '../../../infra/sql.ts';
import { RELAY_CHAINS } from '../../../ingest/chains/chain.ts';
import { relations } from '../../metrics/relations.ts';
import { RESPONSE_FORMATS } from '../../metrics/response-formats.ts';
import type { Pipeline } from '../compose/compose.ts';
import { operation } from './operation.ts';

const QUERY_CHARACTERS_MAX = 100_000;
const REASON_CHARACTERS_MAX = 600;

/** A query of an operator over the relations, of a range of days (`until` is inclusive) and of relay chains. */
const sqlRequest = z.object({
  query: z.string().min(1).max(QUERY_CHARACTERS_MAX),
  format: z.string(),
  relay_chain: z.enum(RELAY_CHAINS).optional(),
  from: z.iso.date().optional(),
  until: z.iso.date().optional(),
});
export type SqlRequest = z.output<typeof sqlRequest>;

/**
 * Fails where a query is not one statement: the engine runs several of one text, so that behind a parenthesis that ends
 * the subquery a query stands in anything could follow.
 */
const oneStatement = (query: string): Sql => sql`SELECT formatQuerySingleLine(${trimmed(query)})`;
/** What follows the query in an error of that. */
const SCOPE = /: In scope SELECT formatQuerySingleLine[\s\S]*/;

/**
 * The statement that answers a query. The query stands in a subquery, so that it can be nothing but a SELECT, and its
 * relations before it, so that it reads canonical rows only.
 */
function sqlStatement({ query, relay_chain, from = FIRST_DAY, until = LAST_DAY }: SqlRequest): Sql {
  const relays = relay_chain === undefined ? [...RELAY_CHAINS] : [relay_chain];
  const window = { relays, from, until: endAfter(until) };
  const named = [...relations.values()].filter(({ name }) => new RegExp(`\\b${name}\\b`).test(query));
  const parts = named.map(({ name, select }) => sql`${ident(name)} AS (${select(window)})`);
  const before = parts.length === 0 ? raw('') : sql`WITH ${join(parts)} `;
  return sql`${before}SELECT * FROM (\n${raw(trimmed(query))}\n)`;
}

/** Whole numbers that no reader of Parquet or Arrow knows: they would be bytes there. */
const WIDE_INTEGER = /^(Nullable\()?U?Int(128|256)\)?$/;
const quoted = (name: string) => `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;

/** A statement with its wide integers as decimal text, as amounts are in the files of metrics and raw tables. */
async function withDecimals(store: Pick<Store, 'rows'>, statement: Sql, query: string): Promise<Sql> {
  const described = sql`DESCRIBE (SELECT * FROM (${statement}))`;
  const columns = await store
    .rows<{ name: string; type: string }>(described)
    .catch(explained((reason) => inOwnWords(reason, described.text, query)));
  const wide = columns.filter(({ type }) => WIDE_INTEGER.test(type));
  const texts = wide.map(({ name }) => `toString(${quoted(name)}) AS ${quoted(name)}`).join(', ');
  return wide.length === 0 ? statement : sql`SELECT * REPLACE (${raw(texts)}) FROM (${statement})`;
}

/** Where a syntax error is, as ClickHouse writes it: bytes and lines from 1 on, and what stands there. chDB tells the bytes. */
const PLACE = / at position (\d+)(?:( \(.*?\))? \(line (\d+), col (\d+)\):)?/;
/** What follows the query in its statement, as far as an error repeats it. */
const BEHIND = / ?\) SETTINGS \w+=.*?\.\.\./;

/** An error as one of the reader's query: without what stands around it in the statement, and placed within it. */
function inOwnWords(reason: string, statement: string, query: string): string {
  const before = statement.slice(0, statement.lastIndexOf(trimmed(query)));
  return reason.replace(BEHIND, '').replace(PLACE, (_place, position, found = '', line, column) => {
    const at = Number(position) - Buffer.byteLength(before);
    if (line === undefined) return ` at position ${at}`;
    return ` at position ${at}${found} (line ${Number(line) - before.split('\n').length + 1}, col ${column}):`;
  });
}

/** Where the look back is missing, the engine tries every blank of a long row as the first one. */
const trimmed = (query: string) => query.replace(/(?<![;\s])[;\s]+$/, '');

/** What ClickHouse has against a query, in the words that `tell` makes of its own. */
const explained = (tell: (reason: string) => string) => (error: unknown) => {
  if (!(error instanceof ProductError) || error.code !== 'store_failed') throw error;
  const reason = tell(String(error.detail ?? error.message)).slice(0, REASON_CHARACTERS_MAX);
  throw new ProductError('usage', `ClickHouse does not run the query: ${reason}`);
};

/** Streams the rows of a query. */
export const runSql = operation()({
  isStream: true,
  input: sqlRequest,
  run: async ({ runtime, config }: Pipeline, request) => {
    const format = RESPONSE_FORMATS[request.format]?.format;
    if (format === undefined) throw new ProductError('usage', `no format is called ${request.format}`);
    const asked = sqlStatement(request);
    const limits = { memoryBytesMax: Math.floor(config.STORE_MEMORY_BYTES / 2) };
    await runtime.store
      .rows(oneStatement(request.query))
      .catch(explained((reason) => reason.replace(SCOPE, '')));
    const isBinary = format === 'Parquet' || format === 'Arrow';
    const statement = isBinary ? await withDecimals(runtime.store, asked, request.query) : asked;
    return runtime.store
      .stream(statement, format, limits)
      .catch(explained((reason) => inOwnWords(reason, statement.text, request.query)));
  },
});
