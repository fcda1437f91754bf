import type { MaterializedMetric } from '../../aggregate/metric.ts';
import { dailyTps } from '../../aggregate/metrics/activity/daily-tps.ts';
import type { Store } from '../../infra/ports.ts';
import { DATABASE, raw, type Sql, sql } from '../../infra/sql.ts';
import { ofRelays, type Window } from '../../ingest/raw/canonical.ts';
import { blocks, extrinsics } from '../../ingest/raw/tables.ts';

/**
 * The statements an engineer would write on the same tables, given that no block was ever replaced by one with
 * fewer extrinsics. With FINAL, since blocks are loaded again; without it they are wrong as soon as one is.
 */
export interface ByHand {
  readonly metric: MaterializedMetric;
  readonly select: (window: Window, final: Sql) => Sql;
}

export const FINAL = raw('FINAL');
export const NOT_FINAL = raw('');

const within = (window: Window) =>
  sql`${ofRelays(window)} AND time >= ${window.from} AND time < ${window.until}`;

const dailyTpsByHand: ByHand = {
  metric: dailyTps,
  select: (window, final) => sql`
    SELECT relay_chain, chain, date, signed + evm AS num_transactions_combined,
      num_transactions_combined / 86400 AS transactions_per_second, signed AS num_transactions_signed,
      evm AS evm_num_transactions, busiest / 60 AS max_transactions_per_second, busiest_at AS max_tps_at, num_blocks,
      if(chain = 'ecosystem', NULL, dateDiff('millisecond', first_time, last_time) / (1000 * (num_blocks - 1))) AS avg_block_time_seconds,
      dateDiff('millisecond', toDateTime64(date, 3, 'UTC'), assumeNotNull(last_time)) / 1000 AS covered_seconds,
      num_extrinsics, if(chain = 'ecosystem', NULL, toFloat64(day_fees) / 1e10) AS fees
    FROM (
      SELECT relay_chain, arrayJoin([toString(chain), 'ecosystem']) AS chain, toDate(assumeNotNull(time)) AS date,
        count() AS num_blocks, min(time) AS first_time, max(time) AS last_time, sum(extrinsics) AS num_extrinsics
      FROM ${blocks} ${final} WHERE ${within(window)} GROUP BY relay_chain, chain, date
    ) AS b LEFT JOIN (
      SELECT relay_chain, chain, toDate(minute) AS date, sum(minute_signed) AS signed, sum(minute_evm) AS evm,
        max(minute_signed + minute_evm) AS busiest, argMin(minute, (-toInt64(minute_signed + minute_evm), minute)) AS busiest_at,
        sum(minute_fees) AS day_fees
      FROM (
        SELECT relay_chain, arrayJoin([toString(one_chain), 'ecosystem']) AS chain, minute, sum(s) AS minute_signed,
          sum(e) AS minute_evm, sum(f) AS minute_fees
        FROM (
          SELECT relay_chain, chain AS one_chain, toStartOfMinute(time) AS minute, countIf(signed) AS s,
            countIf(ethereum) AS e, sum(ifNull(fee, 0)) AS f
          FROM ${extrinsics} ${final} WHERE ${within(window)} AND (signed OR ethereum) GROUP BY relay_chain, one_chain, minute
        ) GROUP BY relay_chain, chain, minute
      ) GROUP BY relay_chain, chain, date
    ) AS x USING (relay_chain, chain, date)`,
};

export const byHand: readonly ByHand[] = [dailyTpsByHand];

const handTable = (metric: MaterializedMetric) => raw(`${DATABASE}.by_hand_${metric.name}`);

/** An empty table like the metric's own, for the statement to write to. */
export async function createHandTable(store: Store, { metric }: ByHand): Promise<void> {
  await store.run(
    sql`CREATE OR REPLACE TABLE ${handTable(metric)} AS ${metric.table} ENGINE = MergeTree ORDER BY (${raw(metric.key.join(', '))})`,
  );
}

export async function runByHand(
  store: Store,
  { metric, select }: ByHand,
  window: Window,
  final: Sql,
): Promise<void> {
  const columns = raw(Object.keys(metric.columns).join(', '));
  await store.run(
    sql`INSERT INTO ${handTable(metric)} (${columns}) SELECT ${columns} FROM (${select(window, final)})`,
  );
}

/** Throws unless the last statement by hand made the rows that the metric has; the last bit of a fraction is free. */
export async function expectSameRows(store: Store, { metric }: ByHand, window: Window): Promise<void> {
  const columns = raw(
    Object.keys(metric.columns)
      .map(
        (column) =>
          `if(toTypeName(${column}) LIKE '%Float64%', toString(round(toFloat64OrNull(toString(${column})), 9)), toString(${column}))`,
      )
      .join(', '),
  );
  const inWindow = sql`WHERE ${ofRelays(window)} AND date >= ${window.from} AND date < ${window.until}`;
  const [row] = await store.rows<{ differing: number; same: number }>(sql`
    SELECT countIf(of != 3) AS differing, countIf(of = 3) AS same FROM (
      SELECT key, groupBitOr(side) AS of FROM (
        SELECT toString(tuple(${columns})) AS key, 1 AS side FROM ${metric.table} FINAL ${inWindow}
        UNION ALL SELECT toString(tuple(${columns})) AS key, 2 AS side FROM ${handTable(metric)} ${inWindow}
      ) GROUP BY key)`);
  if (row?.differing !== 0 || row.same === 0) {
    throw new Error(`${metric.name}: ${row?.differing} rows differ, ${row?.same} agree`);
  }
}
