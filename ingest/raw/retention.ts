import { sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import { calls, events, extrinsics, rawRetention } from './tables.ts';

/** The tables of which old rows may be deleted. Blocks, snapshots and prices stay. */
export const DELETABLE = [extrinsics, events, calls] as const;

/**
 * The stages of a deletion, one after the other with time between them:
 * - `closed`: blocks of earlier days are refused, so that these days do not change any more;
 * - `frozen`: what was computed of all raw rows of earlier days is not computed again;
 * - `deleted`: the rows are gone.
 */
export type RetentionStage = 'closed' | 'frozen' | 'deleted';

export interface RetentionBound {
  /** Days before this one. */
  readonly before: string;
  /** When the stage was reached. */
  readonly at: number;
}

/** Before all days. */
const NONE: RetentionBound = { before: '1970-01-01', at: 0 };

export async function readRetention(
  store: Pick<Store, 'rows'>,
): Promise<Readonly<Record<RetentionStage, RetentionBound>>> {
  const rows = await store.rows<RetentionBound & { readonly stage: RetentionStage }>(
    sql`SELECT stage, toString(bound.before) AS before, toUnixTimestamp64Milli(bound.at) AS at
      FROM ${rawRetention} AS bound FINAL`,
  );
  const reached = Object.fromEntries(rows.map(({ stage, before, at }) => [stage, { before, at }]));
  return { closed: NONE, frozen: NONE, deleted: NONE, ...reached };
}

export const noteRetention = (
  store: Store,
  stage: RetentionStage,
  { before, at }: RetentionBound,
): Promise<void> => store.insert(rawRetention, [{ stage, before, at }]);
