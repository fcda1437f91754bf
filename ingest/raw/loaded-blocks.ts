import type { Runtime, Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import type { BlockHead } from '../log/envelope.ts';
import { areNew, type ChainHeight, chunkHeights, heightKey, isAtHeights } from './heights.ts';
import { blockSequenceSql, isFinalSql } from './ordering.ts';
import { blocks, loadedBlocks, refusedFacts } from './tables.ts';

/**
 * A block that is stored in every table. If it arrives again with the same content and is still canonical, it is skipped.
 * It is recorded after its load has ended, so after an interrupted load or a lost record it is loaded again.
 */
export interface LoadedBlock extends ChainHeight {
  readonly sequence: bigint;
  readonly content: bigint;
}

interface StoredHeights {
  readonly areNew: boolean;
  /** Content hashes of completely stored blocks, by `heightKey`. */
  readonly contents: ReadonlyMap<string, bigint>;
}

export async function readStoredHeights(store: Store, heads: readonly ChainHeight[]): Promise<StoredHeights> {
  const contents = new Map<string, bigint>();
  let areAllNew = true;
  for (const chains of chunkHeights(heads)) {
    if (await areNew(store, chains)) continue;
    areAllNew = false;
    // Lists the heights twice: with the inner list alone the engine would read the whole chain.
    // Selects only final blocks: a block that is not final is loaded again, since the latest reading is canonical.
    const whole = await store.rows<ChainHeight & { readonly content: string }>(sql`
      SELECT relay_chain, chain, toString(number) AS number, toString(content) AS content
      FROM ${loadedBlocks} WHERE ${isAtHeights(chains)} AND (relay_chain, chain, number, sequence) IN (
        SELECT relay_chain, chain, number, ${raw(blockSequenceSql('max(rank)'))} FROM ${blocks}
        WHERE ${isAtHeights(chains)} GROUP BY relay_chain, chain, number HAVING ${raw(isFinalSql('max(rank)'))}
        SETTINGS optimize_aggregation_in_order = 1)`);
    for (const { content, ...head } of whole) contents.set(heightKey(head), BigInt(content));
  }
  return { areNew: areAllNew, contents };
}

/** Records blocks whose load has ended in all tables. */
export const recordLoadedBlocks = (store: Store, loaded: readonly LoadedBlock[]): Promise<void> =>
  store.insert(
    loadedBlocks,
    loaded.map(({ relay_chain, chain, number, sequence, content }) => ({
      relay_chain,
      chain,
      number,
      sequence: String(sequence),
      content: String(content),
    })),
  );

/** Records that a run read blocks again, so that its report includes their refused facts. */
export async function recordRereads(store: Store, heads: readonly BlockHead[]): Promise<void> {
  for (const [run, some] of Map.groupBy(heads, (head) => head.run ?? '')) {
    if (run === '') continue;
    for (const chains of chunkHeights(some)) {
      await store.run(sql`INSERT INTO ${loadedBlocks} (relay_chain, chain, number, sequence, content, run)
        SELECT relay_chain, chain, number, sequence, content, ${run} FROM ${loadedBlocks} FINAL
        WHERE ${isAtHeights(chains)} AND (relay_chain, chain, number) IN (
          SELECT relay_chain, chain, number FROM ${refusedFacts} WHERE ${isAtHeights(chains)})`);
    }
  }
}

/** Deletes all records if the store is damaged, since a recorded block may have lost rows. */
export async function forgetAfterDamage({ store, damage }: Pick<Runtime, 'store' | 'damage'>): Promise<void> {
  if (damage.list().some(({ part }) => part === 'store')) {
    await store.run(sql`TRUNCATE TABLE ${loadedBlocks}`);
  }
}
