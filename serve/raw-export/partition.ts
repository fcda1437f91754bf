import { createHash } from 'node:crypto';
import { dayAfter } from '../../infra/days.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/sql.ts';
import type { RelayChain } from '../../ingest/chains/chain.ts';
import type { Window } from '../../ingest/raw/canonical.ts';
import type { RawColumn, RawTable } from '../../ingest/raw/raw-data.ts';

/** A chain of raw tables. */
export interface RawPlace {
  readonly relay_chain: RelayChain;
  readonly chain: string;
}

/** The rows of a raw table of one chain and UTC day. */
export interface RawPartition extends RawPlace {
  readonly date: string;
}

/** Names of the folders, so that tools read chain and day from the path. */
export const pathOf = (table: string, { chain, date }: Pick<RawPartition, 'chain' | 'date'>): string =>
  `${folderOf(table, chain)}date=${date}/part-0.parquet`;
export const folderOf = (table: string, chain: string): string => `${table}/chain=${chain}/`;

/** The columns in a file: chain and day are in its path, where tools would not expect them twice. */
const columnsOf = (table: RawTable): [name: string, column: RawColumn][] =>
  Object.entries(table.columns).filter(([name]) => name !== 'chain');

/** What the files of a table look like: another text when they would be written in another way. */
export function layoutOf(table: RawTable): string {
  const text = columnsOf(table).map(([name, column]) => `${name} ${parquetOf(column).select}`);
  return createHash('sha256')
    .update([...text, ...table.key].join('\n'))
    .digest('hex')
    .slice(0, 16);
}

/** The days from one to another, which is in it. */
export const windowOf = ({ relay_chain, chain }: RawPlace, first: string, last = first): Window => ({
  relays: [relay_chain],
  chains: [chain],
  from: first,
  until: dayAfter(last),
});

/** The rows of a window, of each day in the order of its file. */
export function rowsStatement(table: RawTable, window: Window): Sql {
  const columns = columnsOf(table).map(
    ([name, column]) => sql`${raw(parquetOf(column).select)} AS ${ident(name)}`,
  );
  // The key begins with the chain, which all rows have in common.
  const order = table.key.map((name) => sql`rows.${ident(name)}`);
  return sql`SELECT ${join(columns)} FROM ${table.rows(window)} AS rows ORDER BY ${join(order)}`;
}

interface ParquetColumn {
  readonly type: string;
  readonly select: string;
}

/** How Parquet holds a column: types that every reader knows, numbers of more than 64 bits as decimal text. */
export function parquetOf({ type, select, isObject }: RawColumn): ParquetColumn {
  if (isObject) return { type: 'MAP<STRING, STRING>', select: objectSql(select) };
  const [, inner = type] = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(type) ?? [];
  if (/^UInt(8|16|32|64)$/.test(inner)) return { type: 'INT64', select: `toInt64(${select})` };
  if (/^UInt(128|256)$/.test(inner)) return { type: 'STRING', select: `toString(${select})` };
  if (inner === 'Bool') return { type: 'BOOLEAN', select };
  if (inner.startsWith('DateTime64')) return { type: 'TIMESTAMP (ms, UTC)', select };
  if (inner === 'String') return { type: 'STRING', select: `toValidUTF8(${select})` };
  if (inner === 'Array(String)') {
    return { type: 'LIST<STRING>', select: `arrayMap(text -> toValidUTF8(text), ${select})` };
  }
  throw new Error(`Parquet has no form for ${type}`);
}

/** Fields by name: texts as they are, all others as JSON. A text that is no object stands under the empty name. */
function objectSql(text: string): string {
  const fields = `JSONExtract(toValidUTF8(${text}), 'Map(String, Nullable(String))')`;
  return `if(empty(${fields}) AND ${text} NOT IN ('', '{}'), map('', toNullable(toValidUTF8(${text}))), ${fields})`;
}
