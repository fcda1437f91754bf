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
 * How much of a coin a chain holds: what is issued there, less what it keeps for the accounts of other chains, which
 * backs their figures. Null when the chain states no holding of the coin.
 */
export function heldOf(coin: string, { payload }: HoldingsFact): number | null {
  const { holdings } = JSON.parse(payload) as { holdings: readonly Holding[] };
  const own = holdings.filter((holding) => holding.coin === coin);
  if (own.length === 0) return null;
  // Assets of one coin may differ in their decimals: the finest is the unit of the sum.
  const finest = Math.max(...own.map(({ decimals }) => decimals));
  const held = own.reduce(
    (sum, { issuance, sovereign_held, decimals }) =>
      sum + (BigInt(issuance) - BigInt(sovereign_held)) * 10n ** BigInt(finest - decimals),
    0n,
  );
  return scaledDown(held, finest);
}
