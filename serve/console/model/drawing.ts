/** Computes the drawing of a chart from an answer and a state. Server and browser share this code. */
import type { Unit } from '../../../aggregate/units.ts';
import { DAY_MS } from '../../../infra/days.ts';
import {
  type ChartState,
  type ChartStyle,
  type Period,
  type SeriesAnswer,
  type SeriesData,
  seriesColour,
} from './chart-state.ts';
import { dayAt, periodsIn } from './periods.ts';

export type Values = readonly (number | null)[];

export interface DrawnSeries {
  readonly data: SeriesData;
  /** Palette index. */
  readonly colour: number;
  /** Values in the unit of the axis: raw, or means, shares or indexed, depending on the state. */
  readonly values: Values;
  /** Positions on the axis: cumulative if stacked; null for values that a logarithmic axis cannot show. */
  readonly heights: Values;
  /** Index in `axes`. */
  readonly axis: number;
}

interface DrawnAxis {
  readonly unit: Unit;
  /** Null if several tokens share the axis. */
  readonly token: string | null;
}

export interface Drawing {
  readonly per: Period;
  /** Start of each period, in milliseconds. */
  readonly times: readonly number[];
  /** The visible series that have an axis. */
  readonly series: readonly DrawnSeries[];
  readonly axes: readonly DrawnAxis[];
  readonly style: ChartStyle;
  readonly isIndexed: boolean;
  readonly isLogarithmic: boolean;
  /** Index of the first period that is not over; the number of periods if all are over. */
  readonly provisional: number;
  /** Index ranges of periods in which a visible series has missing days. */
  readonly gaps: readonly (readonly [number, number])[];
  /** Explanations of choices that the chart cannot show. */
  readonly notes: readonly string[];
}

const AXES_MAX = 2;
const MEAN_DAYS = 7;

export function drawingOf(answer: SeriesAnswer, state: ChartState, hidden: ReadonlySet<string>): Drawing {
  const notes: string[] = [];
  const on = answer.series
    .map((data, i) => ({
      data,
      colour: seriesColour(answer, i),
      values: ownValues(data.values, answer.per, state),
    }))
    .filter(({ data }) => !hidden.has(data.id));
  const units = [...new Set(on.map(({ data }) => data.unit))];
  const seen = state.isIndexed ? on : on.filter(({ data }) => units.indexOf(data.unit) < AXES_MAX);
  if (seen.length < on.length) {
    const omitted = on.filter((one) => !seen.includes(one)).map(({ data }) => data.title);
    notes.push(
      `Not drawn, because a chart has two axes: ${omitted.join(', ')}. Hide other series, or index all to 100.`,
    );
  }
  const style = styleOf(
    seen.map(({ data }) => data),
    state,
    notes,
  );
  const isLogarithmic = state.isLogarithmic && style === 'lines';
  if (state.isLogarithmic && !isLogarithmic)
    notes.push('A logarithmic axis is not available for stacked series.');
  if (state.isSmoothed && answer.per !== 'day')
    notes.push('The 7-day mean is available for daily values only.');
  const placed = style === 'lines' ? linesOf(seen, isLogarithmic) : areasOf(seen, style, notes);
  if (
    hasValues(answer) &&
    seen.length > 0 &&
    placed.every(({ heights }) => heights.every((value) => value === null))
  ) {
    notes.push(emptyNote(state, isLogarithmic));
  }
  const times = timesOf(answer);
  return {
    per: answer.per,
    times,
    series: seen.map(({ data, colour }, i) => ({
      ...{ data, colour },
      ...(placed[i] as Placed),
      axis: state.isIndexed || style === 'share' ? 0 : units.indexOf(data.unit),
    })),
    axes: axesOf(
      seen.map(({ data }) => data),
      state.isIndexed,
      style,
    ),
    ...{ style, isLogarithmic, isIndexed: state.isIndexed },
    provisional: provisionalFrom(answer, times),
    gaps: union(
      seen.flatMap(({ data }) => data.gaps),
      answer.periods,
    ),
    notes,
  };
}

/** True if the answer has at least one value. */
export const hasValues = (answer: SeriesAnswer): boolean =>
  answer.series.some(({ values }) => values.some((value) => value !== null));

function emptyNote(state: ChartState, isLogarithmic: boolean): string {
  if (state.isSmoothed) return 'No 7-day mean: the range has too few days with values.';
  return isLogarithmic
    ? 'No values to draw: a logarithmic axis shows only values above zero.'
    : 'The visible series have no values in this range.';
}

/** Start of each period, in milliseconds. */
function timesOf(answer: SeriesAnswer): readonly number[] {
  const at = (place: number) => Date.parse(dayAt(periodsIn(answer), place));
  if (answer.per === 'month') return Array.from({ length: answer.periods }, (_, i) => at(i));
  const [first, step] = [at(0), at(1) - at(0)];
  return Array.from({ length: answer.periods }, (_, i) => first + i * step);
}

/** Last day of a period, in milliseconds. */
export const periodEnd = (answer: SeriesAnswer, place: number): number =>
  Date.parse(dayAt(periodsIn(answer), place + 1)) - DAY_MS;

/** A period as people name it: `12 Mar 2026`, `Week from 9 Mar 2026`, `March 2026`. */
export function periodName(at: number, per: Period): string {
  if (per === 'month') return MONTH_FORMAT.format(at);
  return per === 'week' ? `Week from ${DAY_FORMAT.format(at)}` : DAY_FORMAT.format(at);
}

const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});
const MONTH_FORMAT = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

type Own = Pick<DrawnSeries, 'data' | 'values'>;
type Placed = Pick<DrawnSeries, 'values' | 'heights'>;

const linesOf = (series: readonly Own[], isLogarithmic: boolean): readonly Placed[] =>
  series.map(({ values }) => ({
    values,
    heights: isLogarithmic ? values.map(positive) : values,
  }));

function ownValues(values: Values, per: Period, state: ChartState): Values {
  const smooth = state.isSmoothed && per === 'day' ? meansOf(values) : values;
  return state.isIndexed ? indexed(smooth) : smooth;
}

/** The 7-day mean over days with values. Null if the day has no value, or if the range starts less than 7 days before. */
function meansOf(values: Values): Values {
  return values.map((value, i) => {
    if (value === null || i < MEAN_DAYS - 1) return null;
    const known = values.slice(i - MEAN_DAYS + 1, i + 1).filter((one) => one !== null);
    return known.reduce((sum, one) => sum + one, 0) / known.length;
  });
}

/** Percentages of the first value that is not zero. */
function indexed(values: Values): Values {
  const base = Math.abs(values.find((value) => value !== null && value !== 0) ?? 1);
  return values.map((value) => (value === null ? null : finite((value / base) * 100)));
}

/** Falls back to lines if the values have no sum: indexed values, or different units or tokens. */
function styleOf(series: readonly SeriesData[], state: ChartState, notes: string[]): ChartStyle {
  if (state.style === 'lines') return 'lines';
  if (state.isIndexed) {
    notes.push('Indexed series are drawn as lines.');
    return 'lines';
  }
  if (new Set(series.map(({ unit, token }) => `${unit} ${token}`)).size > 1) {
    notes.push('Series with different units or tokens cannot be stacked and are drawn as lines.');
    return 'lines';
  }
  return state.style;
}

function axesOf(series: readonly SeriesData[], isIndexed: boolean, style: ChartStyle): readonly DrawnAxis[] {
  if (isIndexed) return [{ unit: 'count', token: null }];
  if (style === 'share') return [{ unit: 'ratio', token: null }];
  return [...new Set(series.map(({ unit }) => unit))].map((unit) => {
    const tokens = new Set(series.filter((one) => one.unit === unit).map(({ token }) => token));
    return { unit, token: tokens.size === 1 ? ([...tokens][0] ?? null) : null };
  });
}

/**
 * Stacks each series on those before it. Before its first value, a series counts as zero. A later missing value, or a
 * gap, makes the sum unknown, which is drawn as a gap.
 */
function areasOf(series: readonly Own[], style: ChartStyle, notes: string[]): readonly Placed[] {
  const own = series.map(({ values }) => values);
  const unknown = series.map(({ data, values }) => unknownIn(data, values));
  if (unknown.some((places) => places.includes(true))) {
    notes.push('Sums are not drawn for periods in which a series has no value.');
  }
  let floors: Values = new Array<number>(own[0]?.length ?? 0).fill(0);
  return (style === 'share' ? sharesOf(own, unknown) : own).map((values, k) => {
    const below = floors;
    const heights = values.map((value, i) => {
      const floor = below[i] ?? null;
      return value === null || floor === null ? null : finite(floor + value);
    });
    floors = below.map((floor, i) => (values[i] === null && !unknown[k]?.[i] ? floor : (heights[i] ?? null)));
    return { values, heights };
  });
}

/** For each period, whether its value is missing: null after the first value, or null within a gap. */
function unknownIn({ gaps }: SeriesData, values: Values): readonly boolean[] {
  const first = values.findIndex((value) => value !== null);
  const isBegun = (i: number) => first >= 0 && i > first;
  return values.map(
    (value, i) => value === null && (isBegun(i) || gaps.some(([from, until]) => from <= i && i <= until)),
  );
}

function sharesOf(series: readonly Values[], unknown: readonly (readonly boolean[])[]): readonly Values[] {
  const sums = (series[0] ?? []).map((_, i) =>
    unknown.some((places) => places[i])
      ? 0
      : series.reduce((sum, values) => sum + Math.max(0, values[i] ?? 0), 0),
  );
  return series.map((values) =>
    values.map((value, i) => {
      const sum = sums[i] ?? 0;
      return value === null || sum === 0 ? null : finite(Math.max(0, value) / sum);
    }),
  );
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
const positive = (value: number | null): number | null => (value !== null && value > 0 ? value : null);

function provisionalFrom({ provisional_from, periods }: SeriesAnswer, times: readonly number[]): number {
  if (provisional_from === null) return periods;
  const from = Date.parse(provisional_from);
  const place = times.findIndex((at) => at >= from);
  return place < 0 ? periods : place;
}

/** Sorts and merges overlapping ranges. */
function union(
  ranges: readonly (readonly [number, number])[],
  periods: number,
): readonly (readonly [number, number])[] {
  const joined: [number, number][] = [];
  for (const [from, until] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (until < 0 || from >= periods) continue;
    const open = joined.at(-1);
    if (open && from <= open[1] + 1) open[1] = Math.max(open[1], until);
    else joined.push([Math.max(0, from), Math.min(until, periods - 1)]);
  }
  return joined;
}
