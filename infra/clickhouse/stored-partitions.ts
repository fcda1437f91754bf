import type { Store } from '../ports.ts';
import { DATABASE, type NamedTable, raw, sql } from '../sql.ts';

/** A partition of a table; `all` is the only one of a table that has none. */
export interface StoredPartition {
  readonly table: string;
  readonly partition: string;
  /** A hash of its active parts: the rows are unchanged while it is unchanged. */
  readonly parts: string;
  /** Includes versions of rows that a later merge will drop. */
  readonly rows: number;
}

/** Hashes paths, since a recreated table has parts of the same names in another path. */
const partsHash = raw('toString(groupBitXor(cityHash64(path)))');

/** Call it before reading the tables: the rows are then at least as new as the parts. */
export const readPartitions = (
  store: Pick<Store, 'rows'>,
  tables: readonly NamedTable[],
): Promise<StoredPartition[]> =>
  store.rows<StoredPartition>(
    sql`SELECT table, partition_id AS partition, ${partsHash} AS parts, sum(rows) AS rows
      FROM system.parts WHERE database = ${DATABASE} AND table IN ${tables.map(({ name }) => name)} AND active
      GROUP BY table, partition`,
  );
