import { raw, sql } from '../../infra/clickhouse/sql.ts';
import { type Finding, warning } from '../../infra/finding.ts';
import type { Store } from '../../infra/ports.ts';
import { plural } from '../../infra/words.ts';
import { blocks } from '../../ingest/raw/tables.ts';

const EXAMPLES_MAX = 3;

/** Stored blocks whose source seems to be at fault. */
export async function checkBlocks(store: Pick<Store, 'rows'>): Promise<Finding[]> {
  const rows = await store.rows<{ chain: string; found: number; examples: number[] }>(
    sql`SELECT chain, count() AS found, groupArraySorted(${raw(String(EXAMPLES_MAX))})(number) AS examples
      FROM ${blocks} FINAL WHERE unclear_extrinsics > 0 GROUP BY relay_chain, chain ORDER BY relay_chain, chain`,
  );
  return rows.map(({ chain, found, examples }) =>
    warning(
      'blocks',
      `${plural(found, 'inconsistent block')} of ${chain} (${examples.join(', ')}${found > EXAMPLES_MAX ? ', …' : ''}): extrinsics with no outcome event, or with several`,
      'ingest them again from another source; until then it is unknown whether these extrinsics succeeded',
    ),
  );
}
