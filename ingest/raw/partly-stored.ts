import { raw, sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import type { BlockHead } from '../log/envelope.ts';
import type { Stream } from '../log/topics.ts';
import { blockSequenceSql, snapshotSequenceSql } from './ordering.ts';
import { type ChainHour, hourTextSql } from './replaced-hours.ts';
import { blocks, prices, snapshots } from './tables.ts';

/**
 * Removes what views stored of a line while another view failed with it, and returns the hours that it touched. All
 * other rows of a block count only through its row of `blocks`.
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
    await store.run(sql`ALTER TABLE ${table} DELETE WHERE ${isIt} SETTINGS mutations_sync = 2`);
    if (isBlock) hours.push(...found);
  }
  return hours;
}
