import { createHash } from 'node:crypto';
import { dayAfter } from '../../infra/days.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/sql.ts';
import type { RelayChain } from '../../ingest/chains/chain.ts';
import type { Window } from '../../ingest/raw/canonical.ts';
import type { RawColumn, RawTable } from '../../ingest/raw/raw-data.ts';

/** The chain of an export. */
export interface RawPlace {
  readonly relay_chain: RelayChain;
  readonly chain: string;
}

/** The rows of a raw table of one chain and UTC day. */
export interface RawPartition extends RawPlace {
  readonly date: string;
}

/** Hive-style path, from which tools read chain and day. */
export const pathOf = (table: string, { chain, date }: Pick<RawPartition, 'chain' | 'date'>): string =>
  `${folderOf(table, chain)}date=${date}/part-0.parquet`;
export const folderOf = (table: string, chain: string): string => `${table}/chain=${chain}/`;

/** The columns of a file. Chain and day are in its path, so tools would find them twice. */
const columnsOf = (table: RawTable): [name: string, column: RawColumn][] =>
  Object.entries(table.columns).filter(([name]) => name !== 'chain');

/** Fingerprint of the file format of a table; it changes if files would be written differently. */
export function layoutOf(table: RawTable): string {
  const text = columnsOf(table).map(([name, column]) => `${name} ${parquetOf(column).select}`);
  return createHash('sha256')
    .update([...text, ...table.key].join('\n'))
    .digest('hex')
    .slice(0, 16);
}

/** The window from the first to the last day, both inclusive. */
export const windowOf = ({ relay_chain, chain }: RawPlace, first: string, last = first): Window => ({
  relays: [relay_chain],
  chains: [chain],
  from: first,
  until: dayAfter(last),
});

/** The statement for the rows of a window; the rows of each day are in file order. */
export function rowsStatement(table: RawTable, window: Window): Sql {
  const columns = columnsOf(table).map(
    ([name, column]) => sql`${raw(parquetOf(column).select)} AS ${ident(name)}`,
  );
  // The key starts with the chain, which is the same for all rows.
  const order = table.key.map((name) => sql`rows.${ident(name)}`);
  return sql`SELECT ${join(columns)} FROM ${table.rows(window)} AS rows ORDER BY ${join(order)}`;
}

interface ParquetColumn {
  readonly type: string;
  readonly select: string;
}

/** The Parquet type of a column. Only types that every reader supports; integers of more than 64 bits become text. */
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
  throw new Error(`no Parquet type for ${type}`);
}

/** A map of fields: strings unchanged, other values as JSON. Text that is not an object gets the empty key. */
function objectSql(text: string): string {
  const fields = `JSONExtract(toValidUTF8(${text}), 'Map(String, Nullable(String))')`;
  return `if(empty(${fields}) AND ${text} NOT IN ('', '{}'), map('', toNullable(toValidUTF8(${text}))), ${fields})`;
}
