/** The SVG of a chart for browsers without JavaScript. It contains lines only; labels are HTML beside it. */
import { type Html, html } from '../../pages/html.ts';
import { type Drawing, periodName, type Values } from '../model/drawing.ts';
import { formatShort } from '../model/format.ts';
import { axisNames, extentOf } from '../model/value-axes.ts';

const WIDTH = 720;
const HEIGHT = 240;
/** Height of the gap marker of weeks and months. */
const FOOT = 8;

export function plot(drawing: Drawing, label: string): Html {
  const { axes, series, times, gaps, provisional, per, style, isLogarithmic } = drawing;
  const scale = isLogarithmic ? Math.log10 : (value: number) => value;
  const extents = axes.map((_, axis) => {
    const numbers = series.filter((one) => one.axis === axis).flatMap(({ heights }) => numbersIn(heights));
    const [low, high] = rangeOf(numbers);
    return isLogarithmic ? ([low, high] as const) : extentOf(low, high, style);
  });
  const names = axes.map(({ unit, token }, axis) => {
    const [from, until] = (extents[axis] ?? []).map((value) => formatShort(value, unit, token));
    return [axisNames(drawing)[axis], `${from} to ${until}`].filter(Boolean).join(': ');
  });
  const lines = series.map(({ heights, axis, colour }) => {
    const [low, high] = (extents[axis] ?? [0, 1]).map(scale) as [number, number];
    const values = heights.map((value) => (value === null ? null : scale(value)));
    return html`<path class="line-${colour}" d="${pathOf(values, [low, high], style !== 'lines')}"/>`;
  });
  const x = (place: number) => px(Math.min(WIDTH, Math.max(0, place * stepOf(times.length))));
  const height = per === 'day' ? HEIGHT : FOOT;
  return html`<p class="chart-axes">${names.map((name) => html`<span>${name}</span>`)}</p>
<svg class="plain${style !== 'lines' && ' areas'}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${gaps.map(
    ([from, until]) =>
      html`<path class="gap" d="M${x(from - 0.5)},${HEIGHT}V${HEIGHT - height}H${x(until + 0.5)}V${HEIGHT}Z"/>`,
  )}${lines.toReversed()}${provisional < times.length && html`<path class="veil" d="M${x(provisional - 1)},0V${HEIGHT}H${WIDTH}V0Z"/>`}</svg>
<p class="chart-axes">${[...new Set([times[0], times.at(-1)])].map((at) => html`<span>${at !== undefined && periodName(at, per)}</span>`)}</p>`;
}

/** A line without axes, for a tile that shows the newest value as text. */
export const sparkline = (values: Values): Html =>
  html`<svg class="spark line-0" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path d="${pathOf(values, rangeOf([0, ...numbersIn(values)]))}"/></svg>`;

const numbersIn = (values: Values): number[] => values.filter((value) => value !== null);

const rangeOf = (numbers: readonly number[]): readonly [number, number] => [
  numbers.reduce((a, b) => Math.min(a, b), numbers[0] ?? 0),
  numbers.reduce((a, b) => Math.max(a, b), numbers[0] ?? 0),
];

/** The path of a line or an area. Null values break it; an isolated value is a dot. */
function pathOf(values: Values, [low, high]: readonly [number, number], isArea = false): string {
  const step = stepOf(values.length);
  const y = (value: number) => px(HEIGHT * (1 - (value - low) / (high - low || 1)));
  let path = '';
  let first = 0;
  values.forEach((value, place) => {
    if (value === null) return;
    const isFirst = (values[place - 1] ?? null) === null;
    const isLast = (values[place + 1] ?? null) === null;
    if (isFirst) first = place;
    path += `${isFirst ? 'M' : 'L'}${px(place * step)},${y(value)}`;
    if (isFirst && isLast) path += 'h0';
    else if (isLast && isArea) path += `V${y(0)}H${px(first * step)}Z`;
  });
  return path;
}

/** Distance between two periods in SVG units. */
const stepOf = (periods: number): number => WIDTH / Math.max(1, periods - 1);
const px = (value: number): string => String(Math.round(value));
