import type { Runtime, Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import type { BlockHead } from '../log/envelope.ts';
import { areNew, type ChainHeight, chunkHeights, heightKey, isAtHeights } from './heights.ts';
import { blockSequenceSql, isFinalSql } from './ordering.ts';
import { blocks, loadedBlocks, refusedFacts } from './tables.ts';

/**
 * A block that was loaded into every table, and still holds its height, changes nothing when it comes again. That is
 * noted only after its load has ended: one that was interrupted, or whose note was lost, is loaded once more.
 */
export interface LoadedBlock extends ChainHeight {
  readonly sequence: bigint;
  readonly content: bigint;
}

/** What is stored of the heights that will be loaded, and of those between them. */
export interface StoredHeights {
  readonly areNew: boolean;
  /** By `heightKey`, the content of those whose block is wholly stored. */
  readonly contents: ReadonlyMap<string, bigint>;
}

export async function readStoredHeights(store: Store, heads: readonly ChainHeight[]): Promise<StoredHeights> {
  const contents = new Map<string, bigint>();
  let areAllNew = true;
  for (const chains of chunkHeights(heads)) {
    if (await areNew(store, chains)) continue;
    areAllNew = false;
    // The heights are named twice: by the inner list alone the engine reads all of a chain.
    // Of a block that is not final, the time of reading decides against others: it is loaded again.
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

/** Notes blocks whose load has ended in all tables. */
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

/** Has a run report the refused facts of blocks that it read again. */
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

/** Forgets all of them once rows were lost: that a block was loaded says no more that its rows are there. */
export async function forgetAfterDamage({ store, damage }: Pick<Runtime, 'store' | 'damage'>): Promise<void> {
  if (damage.list().some(({ part }) => part === 'store')) {
    await store.run(sql`TRUNCATE TABLE ${loadedBlocks}`);
  }
}
