/** Relative change of the mean of the last `periods` values against the mean of those before; null if unknown. */
export function relativeChange(values: readonly (number | null)[], periods: number): number | null {
  const [before, after] = [meanOf(values.slice(-2 * periods, -periods)), meanOf(values.slice(-periods))];
  return before === null || after === null || before === 0 ? null : after / before - 1;
}

/** Mean of the values that are not null; null if more than half are null. */
function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0 || known.length * 2 < values.length) return null;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
