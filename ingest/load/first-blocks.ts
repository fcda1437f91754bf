import type { Store } from '../../infra/ports.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import type { Registry } from '../chains/registry.ts';
import { findIncompleteness } from '../decode/completeness.ts';
import { asRecord } from '../decode/names.ts';
import { blockSequenceSql } from '../raw/ordering.ts';
import { blocks } from '../raw/tables.ts';

/** A block of height 0 or 1. Its hash or its parent hash is the genesis hash. */
interface FirstBlock {
  readonly relay_chain: string;
  readonly chain: string;
  readonly number: string;
  readonly payload: Buffer;
}

export const isFirstBlock = (number: string): boolean => BigInt(number) <= 1n;

/**
 * Returns for each first block the reason why it belongs to another network, or null. Compares its genesis hash with the one
 * in the registry, else with the stored one, else with that of the first block of the batch.
 */
export async function checkFirstBlocks(
  store: Pick<Store, 'rows'>,
  registry: Pick<Registry, 'chains'>,
  given: readonly FirstBlock[],
): Promise<(string | null)[]> {
  const known = new Map(
    registry.chains.flatMap(({ name, genesis }) => (genesis === null ? [] : [[name, genesis]])),
  );
  const unknown = new Set(given.map(({ chain }) => chain).filter((chain) => !known.has(chain)));
  if (unknown.size > 0)
    for (const { chain, first } of await store.rows<{ chain: string; first: string }>(
      storedFirst([...unknown]),
    ))
      known.set(chain, first);
  return given.map(({ chain, number, payload }) => {
    const first = firstHash(number, payload);
    if (first === null) return null;
    const expected = known.get(chain);
    if (expected === first) return null;
    const other = registry.chains.find(({ genesis }) => genesis === first);
    if (expected === undefined && other === undefined) {
      known.set(chain, first);
      return null;
    }
    const usual = expected === undefined ? '' : `, not ${expected} of ${chain}`;
    const advice = other
      ? `this is the genesis of ${other.name}: ingest these blocks with --chain ${other.name}`
      : `these blocks belong to another network, or to a network that was restarted: give it a separate name in CHAINS_FILE`;
    return `another genesis: block ${number} is of a chain with the genesis ${first}${usual}; ${advice}`;
  });
}

const storedFirst = (chains: readonly string[]): Sql => sql`
  SELECT chain, argMin(if(number = 0, hash, parent_hash), ${raw(blockSequenceSql('rank'))}) AS first
  FROM ${blocks} FINAL WHERE chain IN ${chains} AND number <= 1 GROUP BY chain`;

/** The genesis hash; null if the block is refused for another reason. */
function firstHash(number: string, payload: Buffer): string | null {
  let block: unknown;
  try {
    block = JSON.parse(payload.toString('utf8'));
  } catch {
    // The store refuses invalid JSON.
    return null;
  }
  const { hash, parentHash } = asRecord(block) ?? {};
  const first = BigInt(number) === 0n ? hash : parentHash;
  return typeof first !== 'string' || findIncompleteness(block) !== null ? null : first.toLowerCase();
}
