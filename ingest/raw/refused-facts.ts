import type { Store } from '../../infra/ports.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import { type ChainKey, ofChain } from './canonical.ts';
import { blocks, loadedBlocks, refusedFacts } from './tables.ts';

/** A fact that a decoder refused; its block is stored. */
interface RefusedFact {
  readonly relay_chain: string;
  readonly chain: string;
  readonly number: number;
  /** The event or extrinsic, such as `event 7 balances.Transfer`. */
  readonly fact: string;
  readonly reason: string;
  /** The beginning of the refused text. */
  readonly raw: string;
}

const RAW_CHARACTERS = 300;

const hasRefused = sql`(relay_chain, chain, number) IN (SELECT relay_chain, chain, number FROM ${refusedFacts})`;

/** The condition that a run loaded a block or found it loaded already. */
const isReadBy = (run: string): Sql => sql`(run = ${run} OR (relay_chain, chain, number) IN (
  SELECT relay_chain, chain, number FROM ${loadedBlocks} WHERE ${hasRefused} AND run = ${run}))`;

/** The condition that a fact belongs to a canonical block and, if `run` is given, that this run read the block. */
const isOf = (run?: string): Sql => sql`rank IN (
  SELECT rank FROM ${blocks} FINAL
  WHERE ${hasRefused} AND ${run === undefined ? sql`1` : isReadBy(run)})`;

/** Counts the refused facts of all blocks, or of those that a run read. */
export async function countRefusedFacts(store: Pick<Store, 'rows'>, run?: string): Promise<number> {
  const [row] = await store.rows<{ total: number }>(
    sql`SELECT count() AS total FROM ${refusedFacts} FINAL WHERE ${isOf(run)}`,
  );
  return row?.total ?? 0;
}

/** Lists refused facts by chain, highest blocks first. */
export function listRefusedFacts(
  store: Pick<Store, 'rows'>,
  place: ChainKey | undefined,
  limit: number,
): Promise<RefusedFact[]> {
  return store.rows<RefusedFact>(sql`
    SELECT relay_chain, chain, number, fact, reason, substringUTF8(raw, 1, ${RAW_CHARACTERS}) AS raw
    FROM (SELECT * FROM ${refusedFacts} FINAL WHERE ${ofChain(place)} AND ${isOf()})
    ORDER BY relay_chain, chain, number DESC, fact LIMIT ${limit}`);
}
