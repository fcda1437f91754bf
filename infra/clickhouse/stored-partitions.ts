import type { Store } from '../ports.ts';
import { DATABASE, type NamedTable, raw, sql } from '../sql.ts';

/** A partition of a table; `all` is the only one of a table that has none. */
export interface StoredPartition {
  readonly table: string;
  readonly partition: string;
  /** A hash of its active parts: it holds the same rows while it is the same. */
  readonly parts: string;
  /** Versions of rows that a merge will leave out are counted too. */
  readonly rows: number;
}

/** A table that is made again has parts of the same names in another path. */
const partsHash = raw('toString(groupBitXor(cityHash64(path)))');

/** What is read of the tables afterwards is at least as new as the parts. */
export const readPartitions = (
  store: Pick<Store, 'rows'>,
  tables: readonly NamedTable[],
): Promise<StoredPartition[]> =>
  store.rows<StoredPartition>(
    sql`SELECT table, partition_id AS partition, ${partsHash} AS parts, sum(rows) AS rows
      FROM system.parts WHERE database = ${DATABASE} AND table IN ${tables.map(({ name }) => name)} AND active
      GROUP BY table, partition`,
  );
