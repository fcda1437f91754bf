import { type ScaleLinear, type ScaleLogarithmic, scaleLinear, scaleLog } from 'd3-scale';
import { DAY_MS } from '../../../infra/days.ts';
import { type Html, html } from '../../pages/html.ts';
import { dateTicks } from '../date-ticks.ts';
import { type Drawing, type DrawnSeries, periodName, type Values } from '../drawing.ts';
import { formatExact, formatTicks } from '../format.ts';
import { toldUnit } from '../summary.ts';
import { extentOf, logExtentOf, logTicks } from '../value-axes.ts';
import { dateLabels } from './date-labels.ts';

/** A drawing as SVG, for readers without a script. */

const WIDTH = 720;
const HEIGHT = 270;
const MARGIN = { top: 6, bottom: 26, right: 10 };
/** Least room of the labels of an axis, and of each of their letters on a phone. */
const AXIS = 40;
const LETTER = 9;
const AXIS_GAP = 6;
/** Lines with more points are drawn without dots. */
const DOTS_MAX = 70;
const TICKS = 6;
/** So many pixels wide is the room of dates on a phone, where letters are as large as elsewhere. */
const DATES_PX = 320;
/** Height of the mark of weeks and months in which days are missing. */
const FOOT = 8;
const BOTTOM = HEIGHT - MARGIN.bottom;

export function plot(drawing: Drawing, label: string): Html {
  const { axes, series, times } = drawing;
  const known = (axis: number) =>
    series
      .filter((one) => one.axis === axis)
      .flatMap(({ heights }) => heights.filter((value) => value !== null));
  const scales = axes.map((_, axis) => scaleOf(known(axis), drawing));
  const labelled = scales.map((scale, axis) => ticksOf(scale, axis, drawing));
  const roomOf = (ticks: readonly Tick[]) =>
    Math.max(AXIS, AXIS_GAP + LETTER * Math.max(...ticks.map((tick) => tick.label.length)));
  const left = roomOf(labelled[0] ?? []);
  const right = WIDTH - (labelled[1] ? roomOf(labelled[1]) : MARGIN.right);
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const x = scaleLinear()
    .domain(first === last ? [first - DAY_MS, last + DAY_MS] : [first, last])
    .range([left, right]);
  const at: Placing = {
    x: (place) => x(times[place] ?? 0),
    y: (axis, value) => scales[axis]?.(value) ?? 0,
    ...{ left, right },
  };
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${gapsOf(drawing, at)}${labelled.map((ticks, axis) => valueAxis(ticks, axis, at))}
${dateLabels(dateTicks(first, last, DATES_PX, drawing.per), (at) => px(x(at)), BOTTOM)}
${series.map((one) => (drawing.style === 'lines' ? line(one, drawing, at) : area(one, drawing, at)))}${veil(drawing, at)}
</svg>`;
}

type Scale = ScaleLinear<number, number> | ScaleLogarithmic<number, number>;

interface Placing {
  readonly x: (place: number) => number;
  readonly y: (axis: number, value: number) => number;
  readonly left: number;
  readonly right: number;
}

interface Tick {
  readonly value: number;
  readonly label: string;
}

function scaleOf(values: readonly number[], { style, isLogarithmic }: Drawing): Scale {
  const low = values.reduce((a, b) => Math.min(a, b), values[0] ?? 0);
  const high = values.reduce((a, b) => Math.max(a, b), low);
  const range = [BOTTOM, MARGIN.top];
  return isLogarithmic
    ? scaleLog().domain(logExtentOf(low, high)).range(range)
    : scaleLinear()
        .domain(extentOf(low, high, style))
        .range(range);
}

function ticksOf(scale: Scale, axis: number, { axes, isLogarithmic }: Drawing): readonly Tick[] {
  const [from = 0, until = 1] = scale.domain();
  const ticks = isLogarithmic ? logTicks(from, until, TICKS) : scale.ticks(TICKS);
  const labels = formatTicks(ticks, axes[axis]?.unit ?? 'count', isLogarithmic);
  return ticks.map((value, i) => ({ value, label: labels[i] ?? '' }));
}

function valueAxis(ticks: readonly Tick[], axis: number, { left, right, y }: Placing): Html[] {
  const [x, anchor] = axis === 0 ? [left - AXIS_GAP, 'end'] : [right + AXIS_GAP, 'start'];
  return ticks.map(({ value, label }) => {
    const at = px(y(axis, value));
    const grid = axis === 0 && html`<line class="grid" x1="${left}" x2="${right}" y1="${at}" y2="${at}"/>`;
    return html`${grid}<text class="tick" x="${x}" y="${at}" dy="0.35em" text-anchor="${anchor}">${label}</text>
`;
  });
}

/** Periods in which days are missing: days in full, longer ones, which have other days, at their foot. */
function gapsOf({ gaps, per, times }: Drawing, { x, left, right }: Placing): Html[] {
  const half = times.length > 1 ? (x(1) - x(0)) / 2 : 4;
  const height = per === 'day' ? BOTTOM - MARGIN.top : FOOT;
  return gaps
    .map(([from, until]) => [Math.max(left, x(from) - half), Math.min(right, x(until) + half)] as const)
    .map(
      ([from, until]) =>
        html`<rect class="gap" x="${px(from)}" width="${px(until - from)}" y="${BOTTOM - height}" height="${height}"><title>blocks are missing</title></rect>`,
    );
}

/** A line, dashed where its periods are not over. */
function line(one: DrawnSeries, drawing: Drawing, at: Placing): Html {
  const { provisional, times } = drawing;
  const parts = stretchesOf(one.heights);
  const point = (place: number) => `${px(at.x(place))},${px(at.y(one.axis, one.heights[place] ?? 0))}`;
  const path = (places: readonly number[], look: string) =>
    places.length > 1 &&
    html`<path${look !== '' && html` class="${look}"`} d="M${places.map(point).join('L')}"/>`;
  const dots = times.length <= DOTS_MAX ? parts.flat() : parts.filter(({ length }) => length === 1).flat();
  return html`<g class="line-${one.colour}">${parts.map(
    (places) =>
      html`${path(
        places.filter((place) => place < provisional),
        '',
      )}${path(
        places.filter((place) => place >= provisional - 1),
        'rest',
      )}`,
  )}${dots.map((place) => dot(one, place, drawing, at))}</g>`;
}

function dot(one: DrawnSeries, place: number, drawing: Drawing, at: Placing): Html {
  const { unit, token } = toldUnit(one.data, drawing.axes[one.axis]);
  return html`<circle cx="${px(at.x(place))}" cy="${px(at.y(one.axis, one.heights[place] ?? 0))}" r="1.8"><title>${one.data.title}
${periodName(drawing.times[place] ?? 0, drawing.per)}: ${formatExact(one.values[place], unit, token)}</title></circle>`;
}

/** What lies between a series and those below it. */
function area(one: DrawnSeries, drawing: Drawing, at: Placing): Html {
  const edge = (places: readonly number[], values: Values) =>
    places.map((place) => `${px(at.x(place))},${px(at.y(one.axis, values[place] ?? 0))}`).join('L');
  return html`<g class="line-${one.colour}">${stretchesOf(one.heights).map((places) =>
    places.length === 1
      ? places.map((place) => dot(one, place, drawing, at))
      : html`<path class="area" d="M${edge(places, one.heights)}L${edge(places.toReversed(), one.floors)}Z"/><path class="edge" d="M${edge(places, one.heights)}"/>`,
  )}</g>`;
}

/** Areas cannot be dashed: what is not over is paler. */
function veil({ style, provisional, times }: Drawing, { x, right }: Placing): Html | null {
  if (style === 'lines' || provisional >= times.length) return null;
  const from = x(Math.max(0, provisional - 1));
  return html`<rect class="veil" x="${px(from)}" width="${px(right - from)}" y="${MARGIN.top}" height="${BOTTOM - MARGIN.top}"/>`;
}

/** Places of values without an empty period between them. */
function stretchesOf(values: Values): number[][] {
  const stretches: number[][] = [];
  values.forEach((value, place) => {
    if (value === null) return;
    const open = stretches.at(-1);
    if (open?.at(-1) === place - 1) open.push(place);
    else stretches.push([place]);
  });
  return stretches;
}

const px = (value: number): string => value.toFixed(1);
