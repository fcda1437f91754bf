import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import type { Window } from '../../../ingest/raw/canonical.ts';
import { scaledDown } from '../shared/amounts.ts';
import { snapshotOfDay } from '../shared/snapshot.ts';

/** A `stable_holdings` snapshot of a chain's day. */
export interface HoldingsFact {
  readonly relay_chain: string;
  readonly chain: string;
  readonly date: string;
  readonly payload: string;
}

interface Holding {
  readonly coin: string;
  readonly decimals: number;
  readonly issuance: string;
  readonly sovereign_held: string;
}

export const holdingsOfDay = (window: Window): Sql =>
  sql`SELECT relay_chain, chain, date, payload FROM ${snapshotOfDay(window, 'stable_holdings')}
    ORDER BY date, relay_chain, chain`;

/**
 * The amount of a coin on a chain: its issuance less the balances of the sovereign accounts of other chains, which
 * back the issuance there. Null when the snapshot has no holding of the coin.
 */
export function heldOf(coin: string, { payload }: HoldingsFact): number | null {
  const { holdings } = JSON.parse(payload) as { holdings: readonly Holding[] };
  const ofCoin = holdings.filter((holding) => holding.coin === coin);
  if (ofCoin.length === 0) return null;
  // Assets of one coin may differ in decimals: the sum has the largest number of decimals.
  const decimalsMax = Math.max(...ofCoin.map(({ decimals }) => decimals));
  const sum = ofCoin.reduce(
    (total, { issuance, sovereign_held, decimals }) =>
      total + (BigInt(issuance) - BigInt(sovereign_held)) * 10n ** BigInt(decimalsMax - decimals),
    0n,
  );
  return scaledDown(sum, decimalsMax);
}
