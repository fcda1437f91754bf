import { raw, type Sql, sql } from '../../../infra/sql.ts';
import type { SnapshotKind } from '../../../ingest/decode/snapshot.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { snapshots } from '../../../ingest/raw/tables.ts';
import { count, timestamp } from '../../columns.ts';

/** The last snapshot of a kind per chain and UTC day of a window. */
export const snapshotOfDay = (window: Window, kind: SnapshotKind): Sql =>
  sql`(SELECT relay_chain, chain, day AS date, latest.1 AS as_of, latest.2 AS payload, latest.3 AS block_number
    FROM (${latestPer(sql`toDate(as_of)`, window, kind)}))`;

/** The last snapshot of a kind per chain and month of a window; `month` is the month's last day. */
export const snapshotOfMonth = (window: Window, kind: SnapshotKind): Sql =>
  sql`(SELECT relay_chain, chain, day AS month, latest.1 AS as_of, latest.2 AS payload, latest.3 AS block_number
    FROM (${latestPer(sql`toLastDayOfMonth(toDate(as_of))`, window, kind)}))`;

/** Nullable values are wrapped in a tuple: an aggregate function would skip nulls. */
const latestPer = (period: Sql, window: Window, kind: SnapshotKind) =>
  sql`SELECT relay_chain, chain, ${period} AS day, argMax((as_of, payload, block_number), as_of) AS latest
    FROM ${snapshots} FINAL
    WHERE ${ofRelays(window)} AND kind = ${kind}
      AND as_of >= toDateTime64(${window.from}, 3, 'UTC') AND as_of < toDateTime64(${window.until}, 3, 'UTC')
    GROUP BY relay_chain, chain, day`;

/** The newest snapshot of a kind per chain, over all time. */
export const newestSnapshot = (relayChain: string, kind: SnapshotKind): Sql => {
  const mine = sql`relay_chain = ${relayChain} AND kind = ${kind}`;
  return sql`(SELECT relay_chain, chain, as_of, payload, block_number FROM ${snapshots} FINAL
    WHERE ${mine} AND (relay_chain, chain, as_of) IN (
      SELECT relay_chain, chain, max(as_of) FROM ${snapshots} WHERE ${mine} GROUP BY relay_chain, chain))`;
};

/** SQL text of an amount in a payload, exact. */
export const amountOf = (field: string, payload = 'payload'): string =>
  `toUInt128(JSONExtractString(${payload}, '${field}'))`;

export const countOf = (field: string): Sql => raw(`JSONExtractUInt(payload, '${field}')`);

/** The snapshot of a row. */
export const snapshotColumns = {
  snapshot_block: count('block of the snapshot; null when it has none', {
    title: 'Block of the snapshot',
    unit: 'height',
    nullable: true,
  }),
  snapshot_at: timestamp('time of the snapshot', { title: 'Time of the snapshot' }),
};
