/**
 * What a chart draws: the values of an answer after the choices of its state. Pages and the script in the browser use
 * the same code, so that both draw the same.
 */
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
  /** The place of its colour. */
  readonly colour: number;
  /** Its own values, with the unit of its axis: means, shares or per cent of the first one where these are chosen. */
  readonly values: Values;
  /** Where the line runs: on top of the series before it when stacked, without what a logarithmic axis cannot show. */
  readonly heights: Values;
  /** Its place in `axes`. */
  readonly axis: number;
}

interface DrawnAxis {
  readonly unit: Unit;
  /** Null where several tokens share the axis. */
  readonly token: string | null;
}

export interface Drawing {
  readonly per: Period;
  /** Beginning of each period, in milliseconds. */
  readonly times: readonly number[];
  /** Those that are switched on and have an axis. */
  readonly series: readonly DrawnSeries[];
  readonly axes: readonly DrawnAxis[];
  readonly style: ChartStyle;
  readonly isIndexed: boolean;
  readonly isLogarithmic: boolean;
  /** Place of the first period that is not over; the number of periods if all are. */
  readonly provisional: number;
  /** First and last place of periods in which a drawn series lacks days. */
  readonly gaps: readonly (readonly [number, number])[];
  /** What a visitor chose and does not see, and why. */
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
    const left = on.filter((one) => !seen.includes(one)).map(({ data }) => data.title);
    notes.push(
      `Not drawn, since there are two axes: ${left.join(', ')}. Switch others off, or index all to 100.`,
    );
  }
  const style = styleOf(
    seen.map(({ data }) => data),
    state,
    notes,
  );
  const isLogarithmic = state.isLogarithmic && style === 'lines';
  if (state.isLogarithmic && !isLogarithmic) notes.push('Stacked series have no logarithmic axis.');
  if (state.isSmoothed && answer.per !== 'day') notes.push('The mean of 7 days is drawn of days only.');
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

/** Whether anything can be drawn at all. */
export const hasValues = (answer: SeriesAnswer): boolean =>
  answer.series.some(({ values }) => values.some((value) => value !== null));

function emptyNote(state: ChartState, isLogarithmic: boolean): string {
  if (state.isSmoothed) return 'No mean of 7 days: the range holds too few days with values.';
  return isLogarithmic
    ? 'A logarithmic axis shows values above zero, of which there are none.'
    : 'The series that are switched on have no values in this range.';
}

/** Beginning of each period, in milliseconds. */
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

/** The mean of the days that have a value, where all seven are part of the range and the last has a value. */
function meansOf(values: Values): Values {
  return values.map((value, i) => {
    if (value === null || i < MEAN_DAYS - 1) return null;
    const known = values.slice(i - MEAN_DAYS + 1, i + 1).filter((one) => one !== null);
    return known.reduce((sum, one) => sum + one, 0) / known.length;
  });
}

/** Per cent of the first value that is not zero. */
function indexed(values: Values): Values {
  const base = Math.abs(values.find((value) => value !== null && value !== 0) ?? 1);
  return values.map((value) => (value === null ? null : finite((value / base) * 100)));
}

/** Amounts of different things have no sum, and per cent of a first value neither. */
function styleOf(series: readonly SeriesData[], state: ChartState, notes: string[]): ChartStyle {
  if (state.style === 'lines') return 'lines';
  if (state.isIndexed) {
    notes.push('Series that are indexed to 100 are drawn as lines.');
    return 'lines';
  }
  if (new Set(series.map(({ unit, token }) => `${unit} ${token}`)).size > 1) {
    notes.push('Amounts of different units or tokens have no sum and are drawn as lines.');
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
 * Each series on top of those before it. Before its first value a series adds nothing; where it has none later, or lacks
 * days, a sum with it is not known, which is a gap as that of a line.
 */
function areasOf(series: readonly Own[], style: ChartStyle, notes: string[]): readonly Placed[] {
  const own = series.map(({ values }) => values);
  const unknown = series.map(({ data, values }) => unknownIn(data, values));
  if (unknown.some((places) => places.includes(true))) {
    notes.push('A sum is not drawn where a part of it has no value.');
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

/** The places at which a series that has begun has no value. */
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

/** Ranges without overlaps, in their order. */
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
