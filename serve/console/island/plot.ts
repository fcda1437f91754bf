/** The canvas of a chart: lines or areas, axes, and the shading of gaps and provisional periods. */
import uPlot from 'uplot';
import { DAY_MS } from '../../../infra/days.ts';
import type { Drawing, Values } from '../model/drawing.ts';
import { formatTicks } from '../model/format.ts';
import { extentOf } from '../model/value-axes.ts';
import { type Colours, colourOf } from './colours.ts';

interface PlotEvents {
  /** The period at the crosshair. */
  readonly onCursor: (place: number | null) => void;
  /** The first and last period of the selection. */
  readonly onBrush: (from: number, until: number) => void;
  readonly onReset: () => void;
}

const FONT_PX = 12;
/** Minimum space between grid lines, and between dates. */
const GRID_PX = 46;
const DATE_PX = 64;
const DRAG_PX = 6;
/** Height of the gap marker of weeks and months. */
const FOOT_PX = 10;
const SECONDS = [1, 2, 5, 10, 15, 30].flatMap((one) => [one, one * 60]);
const TIME_STEPS = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  ...SECONDS.sort((a, b) => a - b),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3600),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000].map((days) => days * 86_400),
];
/** Lengths of a month and a year in uPlot. */
const MONTH_MS = 30 * DAY_MS;
const YEAR_MS = 365 * DAY_MS;
const DATE_STEPS = [
  ...[1, 2, 7, 14].map((days) => days * DAY_MS),
  ...[1, 2, 3, 6].map((months) => months * MONTH_MS),
  ...[1, 2, 5, 10, 25, 100].map((years) => years * YEAR_MS),
];
const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const MONTH_FORMAT = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });

export function plot(element: HTMLElement, drawing: Drawing, colours: Colours, events: PlotEvents): uPlot {
  const { axes, series, times, style } = drawing;
  // Areas are filled down to zero, so the highest must be drawn first.
  const layers = style === 'lines' ? series : series.toReversed();
  const data = [times, ...layers.map(({ heights }) => heights)];
  const options: uPlot.Options = {
    ...sizeOf(element),
    padding: [12, axes.length > 1 ? 4 : 22, 0, 4],
    ms: 1,
    tzDate: (at) => uPlot.tzDate(new Date(at), 'Etc/UTC'),
    legend: { show: false },
    focus: { alpha: 0.25 },
    cursor: {
      y: false,
      // Snaps the crosshair to a period.
      move: (u, left, top) => [left < 0 ? left : u.valToPos(times[u.posToIdx(left)] ?? 0, 'x'), top],
      drag: { x: true, y: false, setScale: false, dist: DRAG_PX },
      points: { size: 8, width: 2, stroke: () => colours.card },
      bind: {
        dblclick: () => () => {
          events.onReset();
          return null;
        },
      },
    },
    scales: { x: { range: timeRange }, ...scalesOf(drawing) },
    axes: [dateAxis(drawing, colours), ...axes.map((_, i) => valueAxis(drawing, i, colours))],
    series: [{}, ...layers.map((one) => lineOf(one, style, colours))],
    hooks: {
      drawClear: [(u) => shadeGaps(u, drawing, colours)],
      draw: [(u) => shadeProvisional(u, drawing, colours)],
      setCursor: [(u) => events.onCursor(u.cursor.idx ?? null)],
      setSelect: [(u) => reportSelection(u, events)],
    },
  };
  // uPlot does not modify the arrays.
  return new uPlot(options, data as unknown as uPlot.AlignedData, element);
}

export const sizeOf = (element: HTMLElement) => ({
  width: Math.max(160, element.clientWidth),
  height: Math.max(160, element.clientHeight),
});

const scaleOf = (axis: number) => `y${axis}`;

/** Widens the range of a single period, which has no width. */
function timeRange(_: uPlot, from: number | null, until: number | null): uPlot.Range.MinMax {
  if (from === null || until === null) return [from, until];
  return from === until ? [from - DAY_MS, until + DAY_MS] : [from, until];
}

function scalesOf({ axes, style, isLogarithmic }: Drawing): uPlot.Scales {
  const range = (_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax =>
    low === null || high === null ? [0, 1] : [...extentOf(low, high, style)];
  return Object.fromEntries(
    axes.map((_, i) => [scaleOf(i), isLogarithmic ? { distr: 3 as const } : { range }]),
  );
}

function dateAxis({ per }: Drawing, { quiet, line, font }: Colours): uPlot.Axis {
  return {
    font: `${FONT_PX}px ${font}`,
    stroke: quiet,
    grid: { show: false },
    ticks: { stroke: line, size: 5, width: 1 },
    border: { show: true, stroke: line, width: 1 },
    size: 46,
    gap: 4,
    lineGap: 1.35,
    space: DATE_PX,
    incrs: DATE_STEPS.filter((step) => step >= MONTH_MS || per !== 'month'),
    values: (_, splits, _axis, _space, step) => splits.map((at, i) => dateLabel(at, step, splits[i - 1])),
  };
}

/** A day, a month or a year. The year is added below if it differs from that of the previous label. */
function dateLabel(at: number, step: number, before: number | undefined): string {
  const [year, last] = [at, before ?? 0].map((time) => new Date(time).getUTCFullYear());
  if (step >= YEAR_MS) return String(year);
  const label = (step >= MONTH_MS ? MONTH_FORMAT : DAY_FORMAT).format(at);
  return year === last ? label : `${label}\n${year}`;
}

function valueAxis({ axes, isLogarithmic }: Drawing, i: number, { quiet, line, font }: Colours): uPlot.Axis {
  const { unit } = axes[i] as Drawing['axes'][number];
  return {
    scale: scaleOf(i),
    side: i === 0 ? 3 : 1,
    font: `${FONT_PX}px ${font}`,
    stroke: quiet,
    grid: { show: i === 0, stroke: line, width: 1 },
    ticks: { show: false },
    gap: 8,
    space: GRID_PX,
    ...(unit === 'seconds' && !isLogarithmic ? { incrs: TIME_STEPS } : {}),
    size: (u, labels) => widthOf(u, labels ?? [], `${FONT_PX * devicePixelRatio}px ${font}`),
    values: (_, splits: (number | null)[]) => {
      const known = splits.filter((one) => one !== null);
      const labels = formatTicks(known, unit, isLogarithmic);
      return splits.map((one) => (one === null ? '' : (labels[known.indexOf(one)] ?? '')));
    },
  };
}

/** Width of an axis, from its widest label. */
function widthOf({ ctx }: uPlot, labels: readonly (string | null)[], font: string): number {
  ctx.font = font;
  const widths = labels.map((label) => ctx.measureText(label ?? '').width / devicePixelRatio);
  return Math.ceil(Math.max(18, ...widths)) + 12;
}

function lineOf(
  { data, colour, axis, heights }: Drawing['series'][number],
  style: Drawing['style'],
  colours: Colours,
): uPlot.Series {
  const stroke = colourOf(colours.series, colour);
  const look = style === 'lines' ? { width: 2 } : { width: 1, fill: colourOf(colours.areas, colour) };
  return {
    ...{ label: data.id, scale: scaleOf(axis), stroke, ...look },
    points: {
      fill: stroke,
      size: 5,
      filter: (_u, _at, isShown) => (isShown ? null : isolatedPlaces(heights)),
    },
  };
}

/** Values without neighbours: a line does not show them, so they get a point. */
const isolatedPlaces = (values: Values): number[] =>
  values.flatMap((value, i) => {
    const isIsolated = (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
    return value !== null && isIsolated ? [i] : [];
  });

/** Makes provisional periods paler. */
function shadeProvisional(u: uPlot, { provisional, times }: Drawing, { card }: Colours): void {
  if (provisional >= times.length) return;
  shade(u, card, [times[Math.max(0, provisional - 1)] ?? 0, times.at(-1) ?? 0], u.bbox.height);
}

/** Shades gaps: days at full height; weeks and months only at the bottom, because they also contain stored days. */
function shadeGaps(u: uPlot, { gaps, per, times }: Drawing, { line }: Colours): void {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  const height = per === 'day' ? u.bbox.height : FOOT_PX * devicePixelRatio;
  for (const [from, until] of gaps)
    shade(u, line, [(times[from] ?? 0) - half, (times[until] ?? 0) + half], height);
}

/** Fills the visible part of a time range, from the bottom of the chart up to a height. */
function shade(u: uPlot, colour: string, range: readonly number[], height: number): void {
  const { ctx, bbox } = u;
  const [left = 0, right = 0] = range.map((at) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, u.valToPos(at, 'x', true))),
  );
  ctx.save();
  ctx.globalAlpha = 0.55;
  ctx.fillStyle = colour;
  ctx.fillRect(left, bbox.top + bbox.height - height, right - left, height);
  ctx.restore();
}

function reportSelection(u: uPlot, events: PlotEvents): void {
  const { left, width } = u.select;
  if (width < DRAG_PX) return;
  const [from, until] = [u.posToIdx(left), u.posToIdx(left + width)];
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (until > from) events.onBrush(from, until);
}
