import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { snapshots } from '../../raw/tables.ts';
import type { ValueKind } from './adapter.ts';

export interface StoredDaysRequest {
  readonly kind: ValueKind;
  readonly relay_chain: string;
  readonly chain: string;
  readonly symbol: string;
  /** First and last day. */
  readonly from: string;
  readonly to: string;
}

/** The days of a range that have a value. */
export async function storedDays(
  store: Pick<Store, 'rows'>,
  { kind, relay_chain, chain, symbol, from, to }: StoredDaysRequest,
): Promise<string[]> {
  const days = await store.rows<{ day: string }>(sql`
    SELECT DISTINCT toDate(as_of) AS day FROM ${snapshots}
    WHERE relay_chain = ${relay_chain} AND chain = ${chain} AND kind = ${kind} AND symbol = ${symbol}
      AND toDate(as_of) >= ${from} AND toDate(as_of) <= ${to}
    ORDER BY day`);
  return days.map(({ day }) => day);
}
