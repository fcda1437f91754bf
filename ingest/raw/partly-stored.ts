import type { Store } from '../../infra/ports.ts';
import { join, raw, type Sql, sql } from '../../infra/sql.ts';
import type { BlockHead } from '../log/envelope.ts';
import type { Stream } from '../log/topics.ts';
import { blockSequenceSql, snapshotSequenceSql } from './ordering.ts';
import { type ChainHour, hourTextSql } from './replaced-hours.ts';
import { blocks, calls, dirtyDays, events, extrinsics, prices, snapshots } from './tables.ts';

/**
 * Removes the rows of `blocks`, `snapshots` and `prices` that views stored for a line before another view failed. Returns
 * the affected hours. Rows of other tables may stay, since they count only if their block is in `blocks`.
 */
export async function removePartlyStored(
  store: Store,
  stream: Stream,
  { relay_chain, chain, number }: Pick<BlockHead, 'relay_chain' | 'chain' | 'number'>,
  sequences: readonly bigint[],
): Promise<ChainHour[]> {
  const isBlock = stream === 'blocks';
  const sequence = raw(isBlock ? blockSequenceSql('rank') : snapshotSequenceSql('rank'));
  const height = isBlock ? sql`number = ${BigInt(number)}` : sql`1`;
  const isIt = sql`relay_chain = ${relay_chain} AND chain = ${chain} AND ${height} AND ${sequence} IN ${sequences}`;
  const hours: ChainHour[] = [];
  for (const table of isBlock ? [blocks] : [snapshots, prices]) {
    const time = isBlock ? 'assumeNotNull(time)' : 'as_of';
    const found = await store.rows<ChainHour>(
      sql`SELECT relay_chain, chain, ${hourTextSql(time)} AS hour FROM ${table} WHERE ${isIt} GROUP BY ALL`,
    );
    if (found.length === 0) continue;
    if (isBlock) await markPallets(store, isIt, found, sequences.at(-1) as bigint);
    await store.run(sql`ALTER TABLE ${table} DELETE WHERE ${isIt} SETTINGS mutations_sync = 2`);
    if (isBlock) hours.push(...found);
  }
  return hours;
}

/** Marks the pallets of the stored rows as dirty, since metrics may count the rows and no view may have marked them. */
async function markPallets(
  store: Store,
  isIt: Sql,
  hours: readonly ChainHour[],
  sequence: bigint,
): Promise<void> {
  const days = [...new Set(hours.map(({ hour }) => hour.slice(0, 'YYYY-MM-DD'.length)))];
  const facts = [extrinsics, events, calls].map(
    (table) => sql`SELECT pallet, relay_chain, chain, toDate(time) AS day FROM ${table} WHERE ${isIt}`,
  );
  await store.run(sql`INSERT INTO ${dirtyDays} (stream, pallet, relay_chain, chain, day, sequence)
    SELECT DISTINCT 'blocks', pallet, relay_chain, chain, day, ${sequence}
    FROM (${join(facts, ' UNION ALL ')}) WHERE day IN ${days}`);
}
