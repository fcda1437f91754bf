import { sql } from '../../../infra/sql.ts';
import type { Window } from '../../../ingest/raw/canonical.ts';
import { day, name, real } from '../../columns.ts';
import { scaledDown } from '../shared/amounts.ts';
import { snapshotOfDay } from '../shared/snapshot.ts';

/** A `stable_holdings` snapshot of a chain's day. */
export interface HoldingsFact {
  readonly relay_chain: string;
  readonly chain: string;
  readonly date: string;
  readonly payload: string;
}

type Coin = 'a' | 'b';

interface Holding {
  readonly coin: string;
  readonly decimals: number;
  readonly issuance: string;
  readonly sovereign_held: string;
}

/** The definition of the metric of a coin, without its record and fold. */
export const coinHoldings = (coin: Coin) =>
  ({
    title: `Holdings of coin ${coin.toUpperCase()}`,
    domain: 'finance',
    doc: `Amount of coin ${coin.toUpperCase()} on a chain, from the last \`stable_holdings\` snapshot of a UTC day. A chain has no row on a day whose snapshot lacks the coin.`,
    columns: {
      relay_chain: name('relay chain', { title: 'Relay chain' }),
      chain: name('chain of the snapshot', { title: 'Chain' }),
      date: day('UTC day of the snapshot', { title: 'Day' }),
      [`sum_of_coin_${coin}`]: real(
        'sum of (issuance - balances of the sovereign accounts of other chains) / 10^decimals over the assets of the coin, in coins',
        {
          title: `Coin ${coin.toUpperCase()} held`,
          unit: 'number',
          overTime: 'last',
          overChains: 'sum',
          isDrawn: true,
        },
      ),
    },
    key: ['date', 'relay_chain', 'chain'],
    materialized: 'daily',
    select: (window: Window) =>
      sql`SELECT relay_chain, chain, date, payload FROM ${snapshotOfDay(window, 'stable_holdings')}
    ORDER BY date, relay_chain, chain`,
    endpoints: [
      {
        path: `/api/daily-coin-${coin}`,
        summary: `Amount of coin ${coin.toUpperCase()} on a chain, by day`,
        relays: ['polkadot'],
        dates: { column: 'date', floor: '2023-01-01', required: true },
      },
    ],
  }) as const;

/** One row for each snapshot that has a holding of the coin. */
export const holdingRows = (coin: Coin, facts: readonly HoldingsFact[]) =>
  facts.flatMap((fact) => {
    const held = coinAmount(`coin_${coin}`, fact);
    const { relay_chain, chain, date } = fact;
    return held === null ? [] : [{ relay_chain, chain, date, [`sum_of_coin_${coin}`]: held }];
  });

/**
 * The amount of a coin on a chain: its issuance less the balances of the sovereign accounts of other chains, which
 * back the issuance there. Null when the snapshot has no holding of the coin.
 */
function coinAmount(coin: string, { payload }: HoldingsFact): number | null {
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
