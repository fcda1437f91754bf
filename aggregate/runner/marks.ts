import { lowestOf } from '../../infra/coordination/sequence.ts';
import { DAY_MS, isoDay } from '../../infra/days.ts';

/**
 * Per metric, the load up to which it is computed: 0 if its rows were deleted, absent if it was never computed here. A
 * change of a day by a load above it is due.
 */
export type Marks = ReadonlyMap<string, bigint>;

/** The running day and those before it that are computed before all other days. */
const LAST_DAYS = 3;

/** The first of the last days. */
export const firstOfLastDays = (now: number): string => isoDay(now - (LAST_DAYS - 1) * DAY_MS);

const MAX_SEQUENCE = 2n ** 64n - 1n;

/** Every load up to this number is in the rows of all of these metrics. */
export const lowestMark = (metrics: readonly { readonly name: string }[], marks: Marks): bigint =>
  lowestOf(
    metrics.map(({ name }) => marks.get(name) ?? 0n),
    MAX_SEQUENCE,
  );

/** Metrics with the same mark, which share a plan. */
export const byMark = <M extends { readonly name: string }>(
  metrics: readonly M[],
  marks: Marks,
): Map<bigint | undefined, M[]> => Map.groupBy(metrics, ({ name }) => marks.get(name));
