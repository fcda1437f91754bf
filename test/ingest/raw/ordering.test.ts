import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sequenceAt } from '../../../infra/coordination/sequence.ts';
import type { Store } from '../../../infra/ports.ts';
import { raw, sql } from '../../../infra/sql.ts';
import {
  blockRankSql,
  blockSequenceSql,
  readAtSql,
  snapshotRankSql,
  snapshotSequenceSql,
} from '../../../ingest/raw/ordering.ts';
import {
  packBlockRank,
  packSnapshotRank,
  unpackBlockRank,
  unpackSnapshotRank,
  versionOf,
} from '../../reference/ordering.ts';
import { openStore } from '../../support/open-store.ts';

const SEQUENCES = [
  0n,
  1n,
  sequenceAt(1_700_000_000_001) + 17n,
  sequenceAt(1_700_000_000_002),
  (1n << 63n) - 1n,
];
/** Empty: the line names none. */
const VERSIONS = ['', '0', '1', '18446744073709551614', '18446744073709551615'];

const blocks = SEQUENCES.flatMap((sequence) =>
  VERSIONS.flatMap((given) =>
    [true, false].map((finalized) => {
      const version = given === '' ? versionOf(sequence, finalized) : BigInt(given);
      return { given, order: { finalized, version, sequence } };
    }),
  ),
);
const snapshots = SEQUENCES.flatMap((sequence) =>
  VERSIONS.map((given) => {
    const version = given === '' ? versionOf(sequence, true) : BigInt(given);
    return { given, order: { version, sequence } };
  }),
);

describe('in TypeScript', () => {
  test('the rank of a block unpacks into what it was packed of', () => {
    for (const { order } of blocks) expect(unpackBlockRank(packBlockRank(order))).toEqual(order);
  });

  test('the rank of a snapshot unpacks into what it was packed of', () => {
    for (const { order } of snapshots) expect(unpackSnapshotRank(packSnapshotRank(order))).toEqual(order);
  });

  test('finality counts before the version, the version before the sequence', () => {
    const ranks = [
      { finalized: false, version: 1n, sequence: 9n },
      { finalized: false, version: 2n, sequence: 1n },
      { finalized: false, version: 2n, sequence: 2n },
      { finalized: true, version: 0n, sequence: 0n },
    ].map(packBlockRank);
    expect(ranks).toEqual([...ranks].sort((a, b) => (a < b ? -1 : 1)));
  });

  test('stored ranks keep their values', () => {
    expect(packBlockRank({ finalized: true, version: 1n << 63n, sequence: 5n })).toBe(
      (1n << 127n) | (1n << 126n) | 5n,
    );
    expect(packSnapshotRank({ version: 3n, sequence: 5n })).toBe((3n << 64n) | 5n);
  });
});

describe('in SQL', () => {
  let store: Store;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ store, close } = await openStore());
  });
  afterAll(() => close());

  const columns = { finalized: 'finalized', version: 'version', sequence: 'sequence' };
  const valuesOf = (lines: readonly { given: string; order: { sequence: bigint; finalized?: boolean } }[]) =>
    raw(
      lines
        .map(({ given, order }) => `(${order.finalized ?? true}, '${given}', ${order.sequence})`)
        .join(', '),
    );
  const evaluate = (lines: Parameters<typeof valuesOf>[0], rank: string, sequence: string) =>
    store.rows<{ packed: string; unpacked: string }>(
      sql`SELECT toString(${raw(rank)}) AS packed, toString(${raw(sequence)}) AS unpacked
        FROM values('finalized Bool, version String, sequence UInt64', ${valuesOf(lines)})`,
    );

  test('the rank of a block is the same, and so is the sequence in it', async () => {
    const rank = blockRankSql(columns);
    expect(await evaluate(blocks, rank, blockSequenceSql(rank))).toEqual(
      blocks.map(({ order }) => ({
        packed: String(packBlockRank(order)),
        unpacked: String(order.sequence),
      })),
    );
  });

  test('the rank of a snapshot is the same, and so is the sequence in it', async () => {
    const rank = snapshotRankSql(columns);
    expect(await evaluate(snapshots, rank, snapshotSequenceSql(rank))).toEqual(
      snapshots.map(({ order }) => ({
        packed: String(packSnapshotRank(order)),
        unpacked: String(order.sequence),
      })),
    );
  });

  test('a line was read at the milliseconds of its sequence', async () => {
    const sequence = `toUInt64(${sequenceAt(1_700_000_000_001) + 17n})`;
    expect(await store.rows(sql`SELECT toString(${raw(readAtSql(sequence))}) AS at`)).toEqual([
      { at: '2023-11-14 22:13:20.001' },
    ]);
  });
});
