import type { Runtime, Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import type { SnapshotKind } from '../decode/snapshot.ts';
import { type ChainKey, ofChain } from './canonical.ts';
import { snapshots } from './tables.ts';

const name = 'LowCardinality(String)';

export const skippedSnapshots = table({
  name: 'skipped_snapshots',
  doc: 'Snapshots of days that a node could not provide, and why.',
  columns: { relay_chain: name, chain: name, kind: name, day: 'Date', reason: 'String', version: 'UInt64' },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['relay_chain', 'chain', 'kind', 'day'],
});

/** A kind of snapshot that a node could not provide for a UTC day, and why. */
export interface SkippedSnapshot {
  readonly day: string;
  readonly kind: SnapshotKind;
  readonly reason: string;
}

/** Consecutive days of one kind that were skipped for the same reason. */
export interface SkippedDays extends ChainKey {
  readonly kind: SnapshotKind;
  readonly reason: string;
  readonly from: string;
  readonly to: string;
}

export interface StoredSnapshot {
  readonly day: string;
  readonly kind: SnapshotKind;
}

const REASON_CHARACTERS = 200;

/** The stored kinds of snapshot of each day of a range, both ends included. */
export function readStoredSnapshots(
  store: Pick<Store, 'rows'>,
  place: ChainKey,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<StoredSnapshot[]> {
  return store.rows<StoredSnapshot>(sql`
    SELECT DISTINCT toString(toDate(as_of)) AS day, kind FROM ${snapshots}
    WHERE ${ofChain(place)} AND toDate(as_of) >= ${from} AND toDate(as_of) <= ${to}
    ORDER BY day, kind`);
}

/** Skipped snapshots that are still missing, of one chain or all: at most `rangesMax` ranges per chain. */
export function readSkippedSnapshots(
  store: Pick<Store, 'rows'>,
  place: ChainKey | undefined,
  rangesMax: number,
): Promise<SkippedDays[]> {
  return store.rows<SkippedDays>(sql`
    SELECT relay_chain, chain, kind, reason, toString(min(day)) AS from, toString(max(day)) AS to
    FROM (
      SELECT relay_chain, chain, kind, reason, day,
        day - row_number() OVER (PARTITION BY relay_chain, chain, kind, reason ORDER BY day) AS island
      FROM ${skippedSnapshots} FINAL
      WHERE ${ofChain(place)} AND (relay_chain, chain, kind, day) NOT IN (
        SELECT relay_chain, chain, kind, toDate(as_of) FROM ${snapshots} WHERE ${ofChain(place)})
    ) GROUP BY relay_chain, chain, kind, reason, island
    ORDER BY relay_chain, chain, kind, from LIMIT ${rangesMax} BY relay_chain, chain`);
}

/** Stores skipped snapshots; the latest reason of a day and kind counts. */
export async function recordSkippedSnapshots(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  place: ChainKey,
  skipped: readonly SkippedSnapshot[],
): Promise<void> {
  const version = clock.now();
  await store.insert(
    skippedSnapshots,
    skipped.map(({ day, kind, reason }) => ({
      ...place,
      kind,
      day,
      reason: reason.slice(0, REASON_CHARACTERS),
      version,
    })),
  );
}
