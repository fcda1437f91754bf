import { FIRST_DAY } from '../../infra/clickhouse/date-range.ts';
import { memoizeFor } from '../../infra/coordination/memoize-for.ts';
import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import { calls, events, extrinsics } from './tables.ts';

export const rawRetention = table({
  name: 'raw_retention',
  doc: 'How far the deletion of raw rows is, by stage. The days only grow.',
  columns: { stage: 'LowCardinality(String)', before: 'Date', at: "DateTime64(3, 'UTC')" },
  engine: 'ReplacingMergeTree(before)',
  orderBy: ['stage'],
});

/** The tables of which old rows may be deleted. Blocks, snapshots and prices stay. */
export const DELETABLE = [extrinsics, events, calls] as const;
export const isDeletable = (table: string): boolean => DELETABLE.some(({ name }) => name === table);

/**
 * The stages of a deletion, one after the other with time between them:
 * - `closed`: blocks of earlier days are refused, so that these days do not change any more;
 * - `frozen`: what was computed of all raw rows of earlier days is not computed again;
 * - `deleted`: the rows are gone.
 */
export type RetentionStage = 'closed' | 'frozen' | 'deleted';

interface RetentionBound {
  /** Days before this one. */
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

/** Most stores delete nothing, and are asked so often only. It is short beside the time between two stages. */
const NONE_MS = 60_000;

/** Reads the stages for those who need them often. */
export class RetentionReader {
  readonly #store: Pick<Store, 'rows'>;
  #noneUntil = 0;

  constructor(store: Pick<Store, 'rows'>) {
    this.#store = store;
  }

  /** Null where no stage was reached, or the first one within the last minute. */
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
