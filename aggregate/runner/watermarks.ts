import { lowestOf } from '../../infra/coordination/sequence.ts';
import { DAY_MS, isoDay } from '../../infra/days.ts';

/**
 * Per metric, the number up to which every load is computed: 0 if its rows were deleted, absent if it was never computed
 * in this store. Changes by loads above it are due.
 */
export type Watermarks = ReadonlyMap<string, bigint>;

/** The running day and the days before it that go ahead of older days. */
const LAST_DAYS = 3;

/** The first of the last days. */
export const firstOfLastDays = (now: number): string => isoDay(now - (LAST_DAYS - 1) * DAY_MS);

const MAX_SEQUENCE = 2n ** 64n - 1n;

/** The number up to which the rows of all these metrics hold every load. */
export const findLowestWatermark = (
  metrics: readonly { readonly name: string }[],
  marks: Watermarks,
): bigint =>
  lowestOf(
    metrics.map(({ name }) => marks.get(name) ?? 0n),
    MAX_SEQUENCE,
  );

/** Groups metrics that share a plan because they have the same watermark. */
export const groupByWatermark = <M extends { readonly name: string }>(
  metrics: readonly M[],
  marks: Watermarks,
): Map<bigint | undefined, M[]> => Map.groupBy(metrics, ({ name }) => marks.get(name));
