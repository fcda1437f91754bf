import type { Damage, Store } from '../ports.ts';
import { DATABASE, sql } from '../sql.ts';

interface BrokenPart {
  readonly table: string;
  readonly path: string;
  readonly is_elsewhere: number;
}

/** Parts that the engine could not read at its start. It detached them, and answers without their rows. */
interface BrokenParts {
  readonly damage: readonly Damage[];
  /** Parts whose rows are also elsewhere: in a part that covers them, or in the parts that they were merged from. */
  readonly leftovers: readonly string[];
}

export async function readBrokenParts(store: Pick<Store, 'rows'>): Promise<BrokenParts> {
  // A merge deletes all its sources together, so if the first and the last source exist, all of them do.
  const parts = await store.rows<BrokenPart>(sql`
    SELECT broken.table AS table, broken.path AS path,
      countIf(active AND min <= lowest AND highest <= max) > 0
        OR (countIf(active AND min = lowest AND max <= highest) > 0
          AND countIf(active AND min >= lowest AND max = highest) > 0) AS is_elsewhere
    FROM (
      SELECT table, path, partition_id, min_block_number AS lowest, max_block_number AS highest
      FROM system.detached_parts WHERE database = ${DATABASE} AND startsWith(ifNull(reason, ''), 'broken')
    ) AS broken
    LEFT JOIN (
      SELECT table, partition_id, min_block_number AS min, max_block_number AS max, active
      FROM system.parts WHERE database = ${DATABASE} AND active
    ) AS live ON live.table = broken.table AND live.partition_id = broken.partition_id
    GROUP BY table, path`);
  const lost = parts.filter(({ is_elsewhere }) => !is_elsewhere);
  const leftovers = parts.filter(({ is_elsewhere }) => is_elsewhere);
  return { damage: lost.map(damageOf), leftovers: leftovers.map(({ path }) => path) };
}

const damageOf = ({ table, path }: BrokenPart): Damage => ({
  part: 'store',
  file: path,
  lost: `rows of table ${table}: the part cannot be read`,
  advice:
    'restore the data directory from a backup; or load the blocks again, run `chain-metrics rebuild` for the table of a metric, then delete the part',
});
