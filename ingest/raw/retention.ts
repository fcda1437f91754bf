import { FIRST_DAY } from '../../infra/clickhouse/date-range.ts';
import { memoizeFor } from '../../infra/coordination/memoize-for.ts';
import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import { calls, events, extrinsics } from './tables.ts';

export const rawRetention = table({
  name: 'raw_retention',
  doc: 'Progress of the deletion of raw rows: the first day that each stage has not reached.',
  columns: { stage: 'LowCardinality(String)', before: 'Date', at: "DateTime64(3, 'UTC')" },
  engine: 'ReplacingMergeTree(before)',
  orderBy: ['stage'],
});

/** The tables whose old rows may be deleted. Blocks, snapshots and prices are kept. */
export const DELETABLE = [extrinsics, events, calls] as const;
export const isDeletable = (table: string): boolean => DELETABLE.some(({ name }) => name === table);

/**
 * The stages of a deletion, with time between them:
 * - `closed`: blocks of earlier days are refused, so these days no longer change;
 * - `frozen`: rows computed from raw rows of earlier days are not computed again;
 * - `deleted`: the raw rows are deleted.
 */
export type RetentionStage = 'closed' | 'frozen' | 'deleted';

interface RetentionBound {
  /** The stage was reached for the days before this day. */
  readonly before: string;
  /** When the stage was reached. */
  readonly at: number;
}

const NONE: RetentionBound = { before: FIRST_DAY, at: 0 };

export type Retention = Readonly<Record<RetentionStage, RetentionBound>>;

export async function readRetention(store: Pick<Store, 'rows'>): Promise<Retention> {
  const rows = await store.rows<RetentionBound & { readonly stage: RetentionStage }>(
    sql`SELECT stage, toString(bound.before) AS before, toUnixTimestamp64Milli(bound.at) AS at
      FROM ${rawRetention} AS bound FINAL`,
  );
  const reached = Object.fromEntries(rows.map(({ stage, before, at }) => [stage, { before, at }]));
  return { closed: NONE, frozen: NONE, deleted: NONE, ...reached };
}

/** Time for which "no stage" is memoized, since most stores delete nothing. Shorter than the time between two stages. */
const NONE_MS = 60_000;

/** Reads the stages with a cache for frequent callers. */
export class RetentionReader {
  readonly #store: Pick<Store, 'rows'>;
  #noneUntil = 0;

  constructor(store: Pick<Store, 'rows'>) {
    this.#store = store;
  }

  /** Null if no stage was reached; a first stage may be seen a minute late. */
  async read(): Promise<Retention | null> {
    return performance.now() < this.#noneUntil ? null : this.#read();
  }

  readonly #read = memoizeFor(0, async () => {
    const retention = await readRetention(this.#store);
    if (retention.closed.at > 0) return retention;
    this.#noneUntil = performance.now() + NONE_MS;
    return null;
  });
}

export const recordRetention = (
  store: Store,
  stage: RetentionStage,
  { before, at }: RetentionBound,
): Promise<void> => store.insert(rawRetention, [{ stage, before, at }]);
