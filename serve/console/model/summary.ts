import type { SeriesData } from './chart-state.ts';
import { type Drawing, type DrawnSeries, periodName, type Values } from './drawing.ts';
import { formatExact, formatShort } from './format.ts';

/** Describes a series for screen readers: its first, last, lowest and highest value. */
export function summaryOf({ data, values, axis }: DrawnSeries, { times, per, axes }: Drawing): string {
  const at = placesOf(values);
  if (at === null) return `${data.title}: no values.`;
  const { unit, token } = displayUnit(data, axes[axis]);
  const point = (place: number) =>
    `${formatExact(values[place], unit, token)} (${periodName(times[place] ?? 0, per)})`;
  const lack = at.missing === 0 ? '' : ` ${at.missing} of ${values.length} without a value.`;
  return `${data.title}: first ${point(at.first)}, last ${point(at.last)}, lowest ${point(at.low)}, highest ${point(at.high)}.${lack}`;
}

/** Indexes of the first, last, lowest and highest value; null if there are no values. */
function placesOf(values: Values) {
  let [first, last, low, high, missing] = [-1, -1, -1, -1, 0];
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? null;
    if (value === null) {
      missing++;
      continue;
    }
    if (first < 0) first = low = high = i;
    last = i;
    if (value < (values[low] ?? 0)) low = i;
    if (value > (values[high] ?? 0)) high = i;
  }
  return first < 0 ? null : { first, last, low, high, missing };
}

/** The last value of a finished period, or else of a provisional one. */
const newestOf = (values: Values, provisional: number): number | null | undefined =>
  lastKnown(values.slice(0, provisional)) ?? lastKnown(values);

const lastKnown = (values: Values) => values.findLast((value) => value !== null);

/** The unit in which a value is shown: that of its axis, with its own token. */
export function displayUnit(data: SeriesData, axis: Drawing['axes'][number] | undefined) {
  const unit = axis?.unit ?? data.unit;
  return { unit, token: unit === data.unit ? data.token : null };
}

/** The legend value of a series: at a period, or else of the last finished period. Empty if it is not drawn. */
export function legendValue({ series, axes, provisional }: Drawing, id: string, at: number | null): string {
  const one = series.find(({ data }) => data.id === id);
  if (one === undefined) return '';
  const value = at === null ? newestOf(one.values, provisional) : one.values[at];
  const { unit, token } = displayUnit(one.data, axes[one.axis]);
  return formatShort(value, unit, token);
}
