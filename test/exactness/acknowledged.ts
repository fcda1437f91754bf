import { sql } from '../../infra/sql.ts';
import { blocks, events, extrinsics, prices } from '../../ingest/raw/tables.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import type { Delivery } from './deliveries.ts';

interface Stored {
  readonly place: string;
  readonly hash: string;
  readonly isWhole: boolean;
}

/**
 * What a store has lost of the batches that it acknowledged: heights and prices that are not there, stand there in
 * a version older than the acknowledged one, or lack rows.
 */
export async function lostFrom(
  pipeline: Pipeline,
  batches: readonly (readonly Delivery[])[],
  acknowledged: number,
): Promise<string[]> {
  const stored = new Map((await storedIn(pipeline)).map((row) => [row.place, row]));
  const allowed = new Map<string, Set<string>>();
  batches
    .flatMap((batch, index) => batch.map((delivery) => ({ ...identityOf(delivery), index })))
    .forEach(({ place, hash, index }) => {
      if (index < acknowledged) allowed.set(place, new Set([hash]));
      // The batch that was under way may be there although nobody was told.
      else allowed.get(place)?.add(hash);
    });
  return [...allowed].flatMap(([place, hashes]) => {
    const found = stored.get(place);
    if (!found) return [`${place}: missing`];
    if (!hashes.has(found.hash)) return [`${place}: an older version`];
    return found.isWhole ? [] : [`${place}: rows missing`];
  });
}

async function storedIn(pipeline: Pipeline): Promise<Stored[]> {
  const { store } = pipeline.runtime;
  const rowsOf = (table: typeof extrinsics | typeof events) =>
    sql`(SELECT rank, count() AS rows FROM ${table} GROUP BY rank)`;
  const heights = await store.rows<Omit<Stored, 'isWhole'> & { isWhole: number }>(sql`
    SELECT concat(chain, ' ', toString(number)) AS place, hash,
      block.extrinsics = x.rows AND block.events = e.rows AS isWhole
    FROM (SELECT * FROM ${blocks} FINAL) AS block
    LEFT JOIN ${rowsOf(extrinsics)} AS x ON x.rank = block.rank
    LEFT JOIN ${rowsOf(events)} AS e ON e.rank = block.rank`);
  const priced = await store.rows<{ place: string }>(
    sql`SELECT concat(symbol, ' ', toString(toUnixTimestamp64Milli(as_of))) AS place FROM ${prices} FINAL`,
  );
  return [
    ...heights.map((row) => ({ ...row, isWhole: row.isWhole === 1 })),
    ...priced.map(({ place }) => ({ place, hash: '', isWhole: true })),
  ];
}

/** Where a delivery belongs, and which version of what is there it is. */
function identityOf({ line, chain }: Delivery): { place: string; hash: string } {
  const document = JSON.parse(line) as {
    number: string;
    hash: string;
    as_of: string;
    payload: { symbol: string };
  };
  return chain === undefined
    ? { place: `${document.payload.symbol} ${Date.parse(document.as_of)}`, hash: '' }
    : { place: `${chain} ${document.number}`, hash: document.hash };
}
