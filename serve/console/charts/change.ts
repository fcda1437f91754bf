/** The relative change of the newest whole periods against as many before them; null where either is unknown or zero. */
export function changeOf(values: readonly (number | null)[], periods: number): number | null {
  const [before, after] = [meanOf(values.slice(-2 * periods, -periods)), meanOf(values.slice(-periods))];
  return before === null || after === null || before === 0 ? null : after / before - 1;
}

/** Mean of the known values; null when less than half of them are known. */
function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0 || known.length * 2 < values.length) return null;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
