import type { Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import type { ChainKey } from './canonical.ts';
import { NO_PREFIX, prefixSql } from './parse-sql.ts';
import { blocks, extrinsics } from './tables.ts';

/** With which SS58 prefix the authors and signers of stored blocks of a chain are printed. */
export interface PrintedPrefix extends ChainKey {
  readonly prefix: number;
  readonly addresses: number;
}

/** Blocks of a chain that are looked at, whatever it has: each is read from another place of large tables. */
const BLOCKS_LOOKED_AT = 64;

/**
 * Reads the prefixes of a part of the blocks, or of those of a chain that other runs than one have loaded. Blocks name no
 * chain: a file of another chain under the name of this one shows by the prefix alone.
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

/** What networks print where nothing is registered, and many tools for every chain. */
const GENERIC_PREFIX = 42;

/**
 * Whether a source of a chain may print a prefix that is not its own: the generic one, or that of its relay chain, which
 * some sources print for all of its chains.
 */
export const isCommonForeignPrefix = (
  registry: Registry,
  { relay_chain }: ChainKey,
  prefix: number,
): boolean => prefix === GENERIC_PREFIX || prefix === registry.find(relay_chain)?.ss58_prefix;

/** `prefix 0, that of polkadot`. */
export function describePrefix({ chains }: Pick<Registry, 'chains'>, prefix: number): string {
  const owner = chains.find((chain: Chain) => chain.accounts === 'ss58' && chain.ss58_prefix === prefix);
  if (prefix === GENERIC_PREFIX) return `prefix ${prefix}, the generic one`;
  return owner === undefined ? `prefix ${prefix}` : `prefix ${prefix}, that of ${owner.name}`;
}
