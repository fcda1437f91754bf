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

/** `until` is inclusive. */
const sqlRequest = z.object({
  query: z.string().min(1).max(QUERY_CHARACTERS_MAX),
  format: z.string(),
  relay_chain: z.enum(RELAY_CHAINS).optional(),
  from: z.iso.date().optional(),
  until: z.iso.date().optional(),
});
export type SqlRequest = z.output<typeof sqlRequest>;

/**
 * Fails unless the text is a single statement. Otherwise a query could close the parenthesis of the subquery, and run another
 * statement after it.
 */
const oneStatement = (query: string): Sql => sql`SELECT formatQuerySingleLine(${trimmed(query)})`;
/** The end of an error message of that statement, which repeats it. */
const SCOPE = /: In scope SELECT formatQuerySingleLine[\s\S]*/;

/** Wraps a query in a subquery, so that it can only be a SELECT, and defines its tables, so that it reads canonical rows. */
function sqlStatement({ query, relay_chain, from = FIRST_DAY, until = LAST_DAY }: SqlRequest): Sql {
  const relays = relay_chain === undefined ? [...RELAY_CHAINS] : [relay_chain];
  const window = { relays, from, until: endAfter(until) };
  const named = [...relations.values()].filter(({ name }) => new RegExp(`\\b${name}\\b`).test(query));
  const parts = named.map(({ name, select }) => sql`${ident(name)} AS (${select(window)})`);
  const before = parts.length === 0 ? raw('') : sql`WITH ${join(parts)} `;
  return sql`${before}SELECT * FROM (\n${raw(trimmed(query))}\n)`;
}

/** Integers that Parquet and Arrow do not have. ClickHouse would write them as bytes. */
const WIDE_INTEGER = /^(Nullable\()?U?Int(128|256)\)?$/;
const quoted = (name: string) => `\`${name.replaceAll(/[\\`]/g, '\\$&')}\``;

/** Converts wide integers to decimal text, the format of amounts in files of metrics and raw tables. */
async function withDecimals(store: Pick<Store, 'rows'>, statement: Sql, query: string): Promise<Sql> {
  const described = sql`DESCRIBE (SELECT * FROM (${statement}))`;
  const columns = await store
    .rows<{ name: string; type: string }>(described)
    .catch(asUsageError((reason) => relativeToQuery(reason, described.text, query)));
  const wide = columns.filter(({ type }) => WIDE_INTEGER.test(type));
  const texts = wide.map(({ name }) => `toString(${quoted(name)}) AS ${quoted(name)}`).join(', ');
  return wide.length === 0 ? statement : sql`SELECT * REPLACE (${raw(texts)}) FROM (${statement})`;
}

/** The position of a syntax error: its byte, then the text there with line and column. chDB writes only the byte. */
const POSITION = / at position (\d+)(?:( \(.*?\))? \(line (\d+), col (\d+)\):)?/;
/** The end of the statement after the query, if an error repeats it. */
const AFTER_QUERY = / ?\) SETTINGS \w+=.*?\.\.\./;

/** Rewrites an error of a statement for the query in it: removes the rest of the statement, and corrects positions. */
function relativeToQuery(reason: string, statement: string, query: string): string {
  const before = statement.slice(0, statement.lastIndexOf(trimmed(query)));
  return reason.replace(AFTER_QUERY, '').replace(POSITION, (_match, position, found = '', line, column) => {
    const at = Number(position) - Buffer.byteLength(before);
    if (line === undefined) return ` at position ${at}`;
    return ` at position ${at}${found} (line ${Number(line) - before.split('\n').length + 1}, col ${column}):`;
  });
}

/** The lookbehind keeps the pattern linear: without it a long run of blanks is tried from each of them. */
const trimmed = (query: string) => query.replace(/(?<![;\s])[;\s]+$/, '');

/** Turns an error of the store into a usage error with the rewritten reason. */
const asUsageError = (rewrite: (reason: string) => string) => (error: unknown) => {
  if (!(error instanceof ProductError) || error.code !== 'store_failed') throw error;
  const reason = rewrite(String(error.detail ?? error.message)).slice(0, REASON_CHARACTERS_MAX);
  throw new ProductError('usage', `ClickHouse refused the query: ${reason}`);
};

/** Streams the rows of a query. */
export const runSql = operation()({
  isStream: true,
  input: sqlRequest,
  run: async ({ runtime, config }: Pipeline, request) => {
    const format = RESPONSE_FORMATS[request.format]?.format;
    if (format === undefined)
      throw new ProductError(
        'usage',
        `there is no format ${request.format}; use one of ${Object.keys(RESPONSE_FORMATS).join(', ')}`,
      );
    const selected = sqlStatement(request);
    const limits = { memoryBytesMax: Math.floor(config.STORE_MEMORY_BYTES / 2) };
    await runtime.store
      .rows(oneStatement(request.query))
      .catch(asUsageError((reason) => reason.replace(SCOPE, '')));
    const isBinary = format === 'Parquet' || format === 'Arrow';
    const statement = isBinary ? await withDecimals(runtime.store, selected, request.query) : selected;
    return runtime.store
      .stream(statement, format, limits)
      .catch(asUsageError((reason) => relativeToQuery(reason, statement.text, request.query)));
  },
});
