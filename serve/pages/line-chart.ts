import { type ScaleLinear, type ScaleTime, scaleLinear, scaleUtc } from 'd3-scale';
import { line } from 'd3-shape';
import { type Html, html } from './html.ts';

const WIDTH = 960;
const HEIGHT = 380;
const MARGIN = { top: 14, right: 18, bottom: 34, left: 64 };
/** As many as there are distinguishable colours; further lines are not drawn. */
export const LINES_MAX = 8;
/** Lines with more points are drawn without dots. */
const DOTS_MAX = 70;
/** Days without a value break a line, unless values come by the month. */
const DAY_MS = 86_400_000;
const GAP_MS = 2 * DAY_MS;
const MONTHLY_GAP_MS = 32 * DAY_MS;

export interface Series {
  readonly name: string;
  readonly points: readonly { readonly at: Date; readonly value: number }[];
}

/** A line chart as SVG without a script; `empty` if there is no point. Each point shows its value as a tooltip. */
export function chart(series: readonly Series[], label: string, empty: Html): Html {
  const drawn = series.slice(0, LINES_MAX);
  const points = drawn.flatMap((one) => one.points);
  if (points.length === 0) return html`<p class="empty">${empty}</p>`;
  const times = points.map(({ at }) => at.getTime());
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const pad = first === last ? DAY_MS : 0;
  const x = scaleUtc()
    .domain([first - pad, last + pad])
    .range([MARGIN.left, WIDTH - MARGIN.right]);
  const values = points.map(({ value }) => value);
  const y = scaleLinear()
    .domain([Math.min(0, ...values), Math.max(...values, 0) || 1])
    .nice(5)
    .range([HEIGHT - MARGIN.bottom, MARGIN.top]);
  const isMonthly = drawn.every((one) => one.points.every(({ at }) => isLastOfMonth(at)));
  return html`<figure class="chart">
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${axes(x, y)}
${drawn.map((one, i) => lineOf(one, i, x, y, isMonthly ? MONTHLY_GAP_MS : GAP_MS))}
</svg>
<figcaption><ul class="legend">${drawn.map(({ name }, i) => html`<li class="line-${i}">${name}</li>`)}</ul></figcaption>
</figure>`;
}

type X = ScaleTime<number, number>;
type Y = ScaleLinear<number, number>;

function axes(x: X, y: Y): Html {
  const [first, last] = x.domain() as [Date, Date];
  const moments = x.ticks(Math.min(7, 1 + (last.getTime() - first.getTime()) / DAY_MS));
  // A short range has several ticks a day, whose labels would be the same.
  const days = moments.filter((at) => at.getTime() % DAY_MS === 0);
  const numbers = y.ticks(5);
  const number = y.tickFormat(5, '~s');
  return html`${numbers.map(
    (
      value,
    ) => html`<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${px(y(value))}" y2="${px(y(value))}"/>
<text class="tick" x="${MARGIN.left - 8}" y="${px(y(value) + 4)}" text-anchor="end">${number(value)}</text>`,
  )}${days.map(
    (at) =>
      html`<text class="tick" x="${px(x(at))}" y="${HEIGHT - 10}" text-anchor="middle">${dayOf(at)}</text>`,
  )}`;
}

function lineOf({ name, points }: Series, index: number, x: X, y: Y, gapMs: number): Html {
  const path = line<Series['points'][number]>()
    .x(({ at }) => Number(px(x(at))))
    .y(({ value }) => Number(px(y(value))));
  const stretches = stretchesOf(points, gapMs);
  const dots = points.length <= DOTS_MAX ? points : stretches.filter((part) => part.length === 1).flat();
  return html`<g class="line-${index}">${stretches.map((part) => html`<path d="${path(part)}"/>`)}${dots.map(
    ({ at, value }) => html`<circle cx="${px(x(at))}" cy="${px(y(value))}" r="3"><title>${name}
${dayOf(at)}: ${value.toLocaleString('en-US', { maximumFractionDigits: 6 })}</title></circle>`,
  )}</g>`;
}

/** Points without a gap between them. */
function stretchesOf(points: Series['points'], gapMs: number): Series['points'][number][][] {
  const stretches: Series['points'][number][][] = [];
  for (const point of points) {
    const open = stretches.at(-1);
    const before = open?.at(-1);
    if (open && before && point.at.getTime() - before.at.getTime() < gapMs) open.push(point);
    else stretches.push([point]);
  }
  return stretches;
}

const isLastOfMonth = (at: Date) => new Date(at.getTime() + DAY_MS).getUTCDate() === 1;
const dayOf = (at: Date): string => at.toISOString().slice(0, 10);
const px = (value: number): string => value.toFixed(1);
