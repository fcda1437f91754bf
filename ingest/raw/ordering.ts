import { LINE_BITS } from '../../infra/coordination/sequence.ts';

/**
 * `rank` orders the stored versions of one block or snapshot, and no two loads share one. From its upper bits down:
 *
 *     block     finalized: 1 bit | version: 64 bits | sequence: 63 bits
 *     snapshot                     version: 64 bits | sequence: 64 bits
 *
 * `sequence` is the order of reading: the upper bits are milliseconds, the lower `LINE_BITS` bits number the lines. A line
 * without a version gets the milliseconds of its sequence as version. If its content is final, the uppermost bit of that
 * version is set too, so that it outranks a version of a producer that is only a time. Functions that end in `Sql` take
 * and return the text of ClickHouse expressions.
 */
export const RANK = 'UInt128';

const SEQUENCE_BITS = { block: 63n, snapshot: 64n } as const;
const VERSION_BITS = 64n;
const FINALIZED_BIT = SEQUENCE_BITS.block + VERSION_BITS;
/** Greater than every version that is only a time. */
const FINAL_VERSION = 1n << (VERSION_BITS - 1n);

type Ranked = keyof typeof SEQUENCE_BITS;

const millisecondsSql = (sequence: string) => `bitShiftRight(${sequence}, ${LINE_BITS})`;

/** The time in a sequence: when the line was read. */
export const readAtSql = (sequence: string) =>
  `fromUnixTimestamp64Milli(toInt64(${millisecondsSql(sequence)}), 'UTC')`;

/** `version` is the version of the line as text, or empty; `finalized` is a Bool. */
export function blockRankSql(columns: { finalized: string; version: string; sequence: string }): string {
  const { finalized, sequence } = columns;
  const final = `if(${finalized}, ${FINAL_VERSION}, toUInt64(0))`;
  const version = `if(${columns.version} = '', ${final} + ${millisecondsSql(sequence)}, toUInt64OrZero(${columns.version}))`;
  return `bitOr(bitOr(bitShiftLeft(toUInt128(${finalized}), ${FINALIZED_BIT}), bitShiftLeft(toUInt128(${version}), ${SEQUENCE_BITS.block})), toUInt128(${sequence}))`;
}

/** Snapshots are always final. */
export function snapshotRankSql(columns: { version: string; sequence: string }): string {
  const { sequence } = columns;
  const version = `if(${columns.version} = '', ${FINAL_VERSION} + ${millisecondsSql(sequence)}, toUInt64OrZero(${columns.version}))`;
  return `bitOr(bitShiftLeft(toUInt128(${version}), ${SEQUENCE_BITS.snapshot}), toUInt128(${sequence}))`;
}

const sequenceSql = (kind: Ranked, rank: string) =>
  `toUInt64(bitAnd(${rank}, ${(1n << SEQUENCE_BITS[kind]) - 1n}))`;

/** Whether a block is final, by its rank. */
export const isFinalSql = (rank: string) => `bitShiftRight(${rank}, ${FINALIZED_BIT}) = 1`;

/** The sequence in the rank of a block, which all its rows share. */
export const blockSequenceSql = (rank: string) => sequenceSql('block', rank);
export const snapshotSequenceSql = (rank: string) => sequenceSql('snapshot', rank);
