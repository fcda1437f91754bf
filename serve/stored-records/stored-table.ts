import { type Table, table } from '../../infra/table.ts';

/** The columns of every record. A record is replaced as a whole: the row with the highest version counts. */
export interface RecordColumns {
  readonly id: string;
  readonly version: number;
  /** Milliseconds since the epoch after which the record is removed; 0 = never. */
  readonly expires_ms: number;
}

const recordColumns = { id: 'String', version: 'UInt64', expires_ms: 'Int64' } as const;

/** The row type of a table, derived from its column types. */
export type RowOf<T extends { readonly columns: Readonly<Record<string, string>> }> = {
  readonly [Name in keyof T['columns'] as string extends Name ? never : Name]: ValueOf<T['columns'][Name]>;
};
type ValueOf<Type extends string> = Type extends `Array(${string}`
  ? readonly string[]
  : Type extends 'UInt64' | 'Int64'
    ? number
    : Type extends 'Bool'
      ? boolean
      : string;

/**
 * A table of records, read by id and by one more indexed column. The indexed column must never change: an index on
 * a column that changes could match an older version of a row.
 */
export function storedTable<const C extends Record<string, string>>(definition: {
  name: string;
  doc: string;
  columns: C;
  foundBy?: keyof C & string;
}): Table & { readonly columns: typeof recordColumns & C } {
  const { foundBy, columns, ...rest } = definition;
  return table({
    ...rest,
    columns: { ...recordColumns, ...columns },
    engine: 'ReplacingMergeTree(version)',
    orderBy: ['id'],
    indexes: foundBy === undefined ? [] : [`INDEX by_${foundBy} ${foundBy} TYPE bloom_filter GRANULARITY 1`],
  });
}
