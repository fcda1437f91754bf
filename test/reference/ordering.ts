/** The order of versions as plain arithmetic: what the expressions of `ingest/raw/ordering.ts` compute. */

const LINE_BITS = 20n;
const VERSION_BITS = 64;
const SEQUENCE_BITS = { block: 63, snapshot: 64 } as const;

export interface SnapshotOrder {
  readonly version: bigint;
  readonly sequence: bigint;
}
export interface BlockOrder extends SnapshotOrder {
  readonly finalized: boolean;
}

export const packBlockRank = ({ finalized, version, sequence }: BlockOrder): bigint =>
  ((finalized ? 1n : 0n) << 127n) | (version << 63n) | sequence;

export const packSnapshotRank = ({ version, sequence }: SnapshotOrder): bigint => (version << 64n) | sequence;

const unpack = (kind: keyof typeof SEQUENCE_BITS, rank: bigint): SnapshotOrder => ({
  version: BigInt.asUintN(VERSION_BITS, rank >> BigInt(SEQUENCE_BITS[kind])),
  sequence: BigInt.asUintN(SEQUENCE_BITS[kind], rank),
});

export const unpackBlockRank = (rank: bigint): BlockOrder => ({
  finalized: rank >> 127n === 1n,
  ...unpack('block', rank),
});

export const unpackSnapshotRank = (rank: bigint): SnapshotOrder => unpack('snapshot', rank);

/** The version of a line that names none. */
export const versionOf = (sequence: bigint, finalized: boolean): bigint =>
  (finalized ? 1n << 63n : 0n) + (sequence >> LINE_BITS);
