import type { Store } from '../ports.ts';
import { DATABASE, type NamedTable, raw, sql } from '../sql.ts';

/** A partition of a table. A table without partitions has one, called `all`. */
export interface StoredPartition {
  readonly table: string;
  readonly partition: string;
  /** A hash of the active parts. While it is unchanged, so are the rows. */
  readonly parts: string;
  /** Number of rows, including versions that a later merge will drop. */
  readonly rows: number;
}

/** Hashes paths, not names: the parts of a recreated table have the same names in another directory. */
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
