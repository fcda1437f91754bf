import { raw, type Sql, sql } from '../../../infra/sql.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { chains, prices } from '../../../ingest/raw/tables.ts';

type OfRelays = Pick<Window, 'relays'>;

/** The registry: token, decimals, prefix, role and nominal block times of every chain. */
export const registryOf = (window: OfRelays): Sql =>
  sql`(SELECT relay_chain, chain, token, decimals, prefix, role, block_times FROM ${chains} FINAL WHERE ${ofRelays(window)})`;

/** The chains of a relay chain, with token, decimals and prefix for folds. */
export const chainsOf = (relayChain: string): Sql =>
  sql`(SELECT toString(chain) AS chain, [toString(token), toString(decimals), toString(prefix)] AS data
    FROM ${chains} FINAL WHERE relay_chain = ${relayChain})`;

/**
 * The last price of each token and UTC day, from any chain that recorded it. Nullable, so that a day without a price
 * joins as null.
 */
export const pricesOf = (from: Sql, until: Sql): Sql =>
  sql`(SELECT symbol AS token, toDate(as_of) AS date, toNullable(argMax(usd_scaled, (as_of, rank))) AS price
    FROM ${prices} FINAL WHERE as_of >= ${from} AND as_of < ${until} GROUP BY token, date)`;

export const dateSql = (text: string): Sql => sql`toDate(${text})`;
/** The first of the 30 days that end with a day. */
export const firstOf30Days = (day: string): Sql => sql`(toDate(${day}) - 29)`;

/** Groups rows by chain and day, and by relay chain and day; solo chains have no relay chain. */
export const perChainAndEcosystem =
  raw(`GROUP BY GROUPING SETS ((relay_chain, chain, date), (relay_chain, date))
    HAVING grouping(chain) = 0 OR relay_chain != 'solo'`);
/** The chain of a row made by `perChainAndEcosystem`. */
export const chainOrEcosystem = raw(`if(grouping(chain) = 1, '${ECOSYSTEM}', toString(chain))`);
export const isEcosystem = raw('grouping(chain) = 1');
