import { type ScaleLinear, scaleLinear } from 'd3-scale';
import { type Html, html } from '../../pages/html.ts';
import type { SeriesAnswer, SeriesData } from '../chart-state.ts';
import { formatExact, formatTicks, unitOf } from '../format.ts';
import { lineName } from '../names.ts';
import { dayAt, periodsIn } from '../periods.ts';

/** A chart as SVG, for readers without a script. */

const WIDTH = 960;
const HEIGHT = 360;
const MARGIN = { top: 14, right: 16, bottom: 30, left: 68 };
/** Lines with more points are drawn without dots. */
const DOTS_MAX = 70;
const DATE_LABELS_MAX = 7;

/** The lines of an answer; all have the same unit. */
export function plot(answer: SeriesAnswer, label: string): Html {
  const drawn = answer.series.filter(({ values }) => values.some((value) => value !== null));
  if (drawn.length === 0) return html``;
  const x = scaleLinear()
    .domain([0, Math.max(1, answer.periods - 1)])
    .range([MARGIN.left, WIDTH - MARGIN.right]);
  const values = drawn.flatMap((one) => one.values.filter((value) => value !== null));
  const y = scaleLinear()
    .domain([values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0) || 1])
    .nice(5)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${gapsOf(drawn, x)}${valueAxis(y, drawn[0] as SeriesData)}${dateAxis(answer, x)}
${answer.series.map((one, i) => line(one, i, answer, x, y))}
</svg>`;
}

type Scale = ScaleLinear<number, number>;

function valueAxis(y: Scale, { unit, token }: SeriesData): Html[] {
  const ticks = y.ticks(5);
  const labels = formatTicks(ticks, unit);
  return ticks.map(
    (
      value,
      i,
    ) => html`<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${px(y(value))}" y2="${px(y(value))}"/>
<text class="tick" x="${MARGIN.left - 8}" y="${px(y(value) + 4)}" text-anchor="end">${labels[i]}${i === ticks.length - 1 && unit === 'native' && html` ${unitOf(unit, token)}`}</text>`,
  );
}

function dateAxis(answer: SeriesAnswer, x: Scale): Html[] {
  const step = Math.max(1, Math.ceil(answer.periods / DATE_LABELS_MAX));
  const places = Array.from({ length: Math.ceil(answer.periods / step) }, (_, i) => i * step);
  return places.map((place) => {
    const anchor = place === 0 ? 'start' : 'middle';
    return html`<text class="tick" x="${px(x(place))}" y="${HEIGHT - 8}" text-anchor="${anchor}">${dayAt(periodsIn(answer), place)}</text>`;
  });
}

/** Periods in which blocks of the only chain are missing; of several chains the table tells. */
function gapsOf(drawn: readonly SeriesData[], x: Scale): Html[] {
  const [only] = drawn;
  if (drawn.length > 1 || only === undefined) return [];
  const half = (x(1) - x(0)) / 2;
  return only.gaps.map(
    ([from, to]) =>
      html`<rect class="gap" x="${px(x(from) - half)}" width="${px(x(to) - x(from) + 2 * half)}" y="${MARGIN.top}" height="${HEIGHT - MARGIN.top - MARGIN.bottom}"><title>blocks are missing</title></rect>`,
  );
}

interface Point {
  readonly place: number;
  readonly value: number;
}

function line(of: SeriesData, index: number, answer: SeriesAnswer, x: Scale, y: Scale): Html {
  const stretches = stretchesOf(of.values);
  const path = (points: readonly Point[]) =>
    points.map(({ place, value }, i) => `${i === 0 ? 'M' : 'L'}${px(x(place))},${px(y(value))}`).join('');
  const dots =
    answer.periods <= DOTS_MAX ? stretches.flat() : stretches.filter((part) => part.length === 1).flat();
  return html`<g class="line-${index}">${stretches.map((part) => html`<path d="${path(part)}"/>`)}${dots.map(
    ({
      place,
      value,
    }) => html`<circle cx="${px(x(place))}" cy="${px(y(value))}" r="2.5"><title>${lineName(of)}
${dayAt(periodsIn(answer), place)}: ${formatExact(value, of.unit, of.token)}</title></circle>`,
  )}</g>`;
}

/** Points without an empty period between them. */
function stretchesOf(values: readonly (number | null)[]): Point[][] {
  const stretches: Point[][] = [];
  values.forEach((value, place) => {
    if (value === null) return;
    const open = stretches.at(-1);
    if (open && open.at(-1)?.place === place - 1) open.push({ place, value });
    else stretches.push([{ place, value }]);
  });
  return stretches;
}

const px = (value: number): string => value.toFixed(1);
