import { sequenceAt } from '../../infra/coordination/sequence.ts';
import type { Store } from '../../infra/ports.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import { table } from '../../infra/table.ts';
import type { Stream } from '../log/topics.ts';
import { blockSequenceSql, snapshotSequenceSql } from './ordering.ts';
import { dirtyDays, prices, snapshots } from './tables.ts';

/**
 * Versions of the code that turns the lines of a stream into raw rows: envelopes, decoders and views. Increase the version
 * with every change that may change rows. Stored rows cannot be decoded again without their lines, so rows of other
 * versions are reported as outdated.
 */
export const DECODER_VERSIONS: Readonly<Record<Stream, number>> = { blocks: 7, snapshots: 3 };

export const decoders = table({
  name: 'decoders',
  doc: 'The first sequence that each decoder version loaded, by stream; 0 if that version loaded everything.',
  columns: { stream: 'LowCardinality(String)', version: 'UInt32', since: 'UInt64' },
  engine: 'ReplacingMergeTree',
  orderBy: ['stream', 'version'],
});

/** Records the decoder versions of this process in the store, at its first start. */
export async function recordDecoders(store: Store, now: number): Promise<void> {
  const known = await store.rows<{ stream: string; version: number }>(
    sql`SELECT stream, version FROM ${decoders} FINAL`,
  );
  const [loaded] = await store.rows<{ newest: string }>(
    sql`SELECT toString(max(sequence)) AS newest FROM ${dirtyDays}`,
  );
  const newest = BigInt(loaded?.newest ?? 0);
  const next = [sequenceAt(now), newest + 1n].reduce((a, b) => (a > b ? a : b));
  const since = (newest === 0n ? 0n : next).toString();
  await store.insert(
    decoders,
    Object.entries(DECODER_VERSIONS)
      .filter(([stream, version]) => !known.some((one) => one.stream === stream && one.version === version))
      .map(([stream, version]) => ({ stream, version, since })),
  );
}

const sinceOf = (stream: Stream): Sql => sql`(SELECT max(since) FROM ${decoders} WHERE stream = ${stream})`;

/** The condition that another decoder version loaded a row of `blocks`. */
export const isOutdatedBlock = sql`${raw(blockSequenceSql('rank'))} < ${sinceOf('blocks')}`;

/** Counts the snapshots and prices that another decoder version loaded. */
export async function readOutdatedSnapshots(store: Pick<Store, 'rows'>): Promise<number> {
  const isOutdated = sql`${raw(snapshotSequenceSql('rank'))} < ${sinceOf('snapshots')}`;
  const [row] = await store.rows<{ total: number }>(
    sql`SELECT (SELECT count() FROM ${snapshots} FINAL WHERE ${isOutdated})
      + (SELECT count() FROM ${prices} FINAL WHERE ${isOutdated}) AS total`,
  );
  return row?.total ?? 0;
}
