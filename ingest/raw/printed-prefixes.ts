import type { Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import type { ChainKey } from './canonical.ts';
import { NO_PREFIX, prefixSql } from './parse-sql.ts';
import { blocks, extrinsics } from './tables.ts';

/** An SS58 prefix of authors and signers in stored blocks of a chain. */
export interface PrintedPrefix extends ChainKey {
  readonly prefix: number;
  readonly addresses: number;
}

/** Sampled blocks per chain. Few, since each block is a read at another place of large tables. */
const BLOCKS_LOOKED_AT = 64;

/**
 * Reads the prefixes in a sample of all blocks, or of the blocks of one chain that runs other than `notOfRun` loaded. Blocks
 * do not name their chain, so only the prefix reveals a file of another chain.
 */
export async function readPrintedPrefixes(
  store: Pick<Store, 'rows'>,
  of?: ChainKey & { readonly notOfRun: string },
): Promise<PrintedPrefix[]> {
  const isOf =
    of === undefined
      ? sql`1`
      : sql`relay_chain = ${of.relay_chain} AND chain = ${of.chain} AND run != ${of.notOfRun}`;
  const sampled = sql`SELECT relay_chain, chain, arrayJoin(groupArraySample(${BLOCKS_LOOKED_AT}, 1)(number))
    FROM ${blocks} WHERE ${isOf} GROUP BY relay_chain, chain`;
  const looked = sql`SELECT relay_chain, chain, number, rank, author FROM ${blocks} FINAL
    WHERE ${isOf} AND (relay_chain, chain, number) IN (${sampled})`;
  return store.rows<PrintedPrefix>(sql`
    SELECT relay_chain, chain, ${raw(prefixSql('address'))} AS prefix, count() AS addresses
    FROM (SELECT relay_chain, chain, author AS address FROM (${looked})
      UNION ALL SELECT relay_chain, chain, signer AS address FROM ${extrinsics}
        WHERE signed AND (relay_chain, chain, number, rank) IN (SELECT relay_chain, chain, number, rank FROM (${looked})))
    GROUP BY relay_chain, chain, prefix HAVING prefix != ${NO_PREFIX}
    ORDER BY relay_chain, chain, addresses DESC, prefix`);
}

/** The generic Substrate prefix; many tools print it for every chain. */
const GENERIC_PREFIX = 42;

/**
 * Whether a foreign prefix is harmless: the generic one, or the prefix of the relay chain, which some sources print for all
 * of its chains.
 */
export const isCommonForeignPrefix = (
  registry: Registry,
  { relay_chain }: ChainKey,
  prefix: number,
): boolean => prefix === GENERIC_PREFIX || prefix === registry.find(relay_chain)?.ss58_prefix;

/** Describes a prefix, such as `prefix 0, that of polkadot`. */
export function describePrefix({ chains }: Pick<Registry, 'chains'>, prefix: number): string {
  const owner = chains.find((chain: Chain) => chain.accounts === 'ss58' && chain.ss58_prefix === prefix);
  if (prefix === GENERIC_PREFIX) return `prefix ${prefix}, the generic one`;
  return owner === undefined ? `prefix ${prefix}` : `prefix ${prefix}, that of ${owner.name}`;
}
