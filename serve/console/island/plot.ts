/** The canvas of a chart: lines, areas, axes, the shading of gaps and the dashes of what is not over. */
import uPlot from 'uplot';
import { DAY_MS } from '../../../infra/days.ts';
import type { Period } from '../chart-state.ts';
import { dateTicks } from '../date-ticks.ts';
import type { Drawing } from '../drawing.ts';
import { formatTicks } from '../format.ts';
import { extentOf, logExtentOf, logTicks } from '../value-axes.ts';
import { type Colours, colourOf } from './colours.ts';
import { lonePlaces, pathBuilder } from './paths.ts';

interface PlotEvents {
  /** The period at the crosshair. */
  readonly onCursor: (place: number | null) => void;
  /** The first and last period that were marked. */
  readonly onBrush: (from: number, until: number) => void;
  readonly onReset: () => void;
}

const FONT_PX = 12;
/** Space between lines of the grid. */
const GRID_PX = 46;
const DRAG_PX = 6;
/** Height of the mark of weeks and months in which days are missing. */
const FOOT_PX = 10;
const DASH = [4, 4];
const SECONDS = [1, 2, 5, 10, 15, 30].flatMap((one) => [one, one * 60]);
const TIME_STEPS = [
  ...[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  ...SECONDS.sort((a, b) => a - b),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3600),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000].map((days) => days * 86_400),
];

/** A canvas, and what it shows. */
export interface Plot {
  readonly u: uPlot;
  /** Draws something else on it; false where that needs other axes or series, and so another canvas. */
  readonly show: (drawing: Drawing) => boolean;
}

/** What is drawn now. A canvas is kept while its axes and series stay, since making one takes as long as drawing on it. */
interface Now {
  drawing: Drawing;
  paths: uPlot.Series.PathBuilder;
}

export function plot(element: HTMLElement, first: Drawing, colours: Colours, events: PlotEvents): Plot {
  const now: Now = { drawing: first, paths: pathBuilder(first) };
  const options: uPlot.Options = {
    ...sizeOf(element),
    padding: [12, first.axes.length > 1 ? 4 : 22, 0, 4],
    legend: { show: false },
    focus: { alpha: 0.25 },
    cursor: {
      y: false,
      // The crosshair stands on a period, not between two.
      move: (u, left, top) => [
        left < 0 ? left : u.valToPos(now.drawing.times[u.posToIdx(left)] ?? 0, 'x'),
        top,
      ],
      drag: { x: true, y: false, setScale: false, dist: DRAG_PX },
      points: {
        size: 8,
        width: 2,
        stroke: () => colours.card,
        fill: (_, i) => strokeOf(first, colours, i),
      },
      bind: {
        dblclick: () => () => {
          events.onReset();
          return null;
        },
      },
    },
    scales: { x: { time: false, range: timeRange }, ...scalesOf(now) },
    axes: [dateAxis(first, colours), ...first.axes.map((_, i) => valueAxis(now, i, colours))],
    series: [{}, ...first.series.map((_, i) => lineOf(now, i, colours))],
    hooks: {
      drawClear: [(u) => shadeGaps(u, now.drawing, colours)],
      drawSeries: [(u, i) => dashRest(u, i, now.drawing, colours)],
      draw: [(u) => veilRest(u, now.drawing, colours)],
      setCursor: [(u) => events.onCursor(u.cursor.idx ?? null)],
      setSelect: [(u) => brushed(u, events)],
    },
  };
  const u = new uPlot(options, dataOf(first), element);
  return {
    u,
    show: (drawing) => {
      if (shapeOf(drawing) !== shapeOf(now.drawing)) return false;
      now.drawing = drawing;
      now.paths = pathBuilder(drawing);
      for (const one of u.series) one.width = lineWidth(drawing);
      u.setData(dataOf(drawing));
      return true;
    },
  };
}

// It reads the arrays and never writes to them.
const dataOf = ({ times, series }: Drawing) =>
  [times, ...series.map(({ heights }) => heights)] as unknown as uPlot.AlignedData;

/** What of a drawing cannot change without another canvas. */
const shapeOf = ({ per, times, axes, series, isLogarithmic }: Drawing): string =>
  JSON.stringify([
    ...[per, times[0], times.length, isLogarithmic, axes.map(({ unit }) => unit === 'seconds')],
    series.map(({ colour, axis }) => [colour, axis]),
  ]);

export const sizeOf = (element: HTMLElement) => ({
  width: Math.max(160, element.clientWidth),
  height: Math.max(160, element.clientHeight),
});

const scaleOf = (axis: number) => `y${axis}`;
const strokeOf = ({ series }: Drawing, { series: all }: Colours, i: number) =>
  colourOf(all, series[i - 1]?.colour ?? 0);

/** A single moment has no width. */
function timeRange(_: uPlot, from: number | null, until: number | null): uPlot.Range.MinMax {
  if (from === null || until === null) return [from, until];
  return from === until ? [from - DAY_MS, until + DAY_MS] : [from, until];
}

function scalesOf(now: Now): uPlot.Scales {
  const { axes, isLogarithmic } = now.drawing;
  const range = (_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax =>
    low === null || high === null ? [0, 1] : [...extentOf(low, high, now.drawing.style)];
  return Object.fromEntries(
    axes.map((_, i) => [scaleOf(i), isLogarithmic ? { distr: 3 as const, range: decades } : { range }]),
  );
}

function decades(_: uPlot, low: number | null, high: number | null): uPlot.Range.MinMax {
  return [...logExtentOf(low ?? 0, high ?? 0)];
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
    splits: (u, _axis, from, until) => ticksOf(u, from, until, per).map(({ at }) => at),
    values: (u) => {
      const { min = 0, max = 0 } = u.scales.x ?? {};
      return ticksOf(u, min, max, per).map(({ label, year }) => (year === '' ? label : `${label}\n${year}`));
    },
  };
}

function ticksOf(u: uPlot, from: number, until: number, per: Period) {
  const width = u.bbox.width > 0 ? u.bbox.width / devicePixelRatio : u.width - 80;
  return dateTicks(from, until, width, per);
}

function valueAxis(now: Now, i: number, { quiet, line, font }: Colours): uPlot.Axis {
  const unit = () => now.drawing.axes[i]?.unit ?? 'count';
  return {
    scale: scaleOf(i),
    side: i === 0 ? 3 : 1,
    font: `${FONT_PX}px ${font}`,
    stroke: quiet,
    grid: { show: i === 0, stroke: line, width: 1 },
    ticks: { show: false },
    gap: 8,
    space: GRID_PX,
    ...(now.drawing.isLogarithmic ? LOG_TICKS : {}),
    ...(unit() === 'seconds' && !now.drawing.isLogarithmic ? { incrs: TIME_STEPS } : {}),
    size: (u, labels) => widthOf(u, labels, `${FONT_PX * devicePixelRatio}px ${font}`),
    values: (_, splits: (number | null)[]) => {
      const known = splits.filter((one) => one !== null);
      const labels = formatTicks(known, unit(), now.drawing.isLogarithmic);
      return splits.map((one) => (one === null ? '' : (labels[known.indexOf(one)] ?? '')));
    },
  };
}

/** Every line of the grid has its label. */
const LOG_TICKS: Pick<uPlot.Axis, 'splits' | 'filter'> = {
  splits: ({ bbox }, _, from, until) => [
    ...logTicks(from, until, Math.floor(bbox.height / devicePixelRatio / GRID_PX)),
  ],
  filter: (_, splits) => splits,
};

/** The widest label decides how much room an axis takes. */
function widthOf(u: uPlot, labels: readonly (string | null)[] | null, font: string): number {
  if (labels === null) return 40;
  const widths = labels.map((label) => textWidth(u, label ?? '', font) / devicePixelRatio);
  return Math.ceil(Math.max(18, ...widths)) + 12;
}

/** Labels are the same ones at most drawings, and measuring takes longer than to draw them. */
const knownWidths = new Map<string, number>();
const KNOWN_WIDTHS_MAX = 1000;

function textWidth({ ctx }: uPlot, text: string, font: string): number {
  const key = `${font} ${text}`;
  const known = knownWidths.get(key);
  if (known !== undefined) return known;
  ctx.save();
  ctx.font = font;
  const { width } = ctx.measureText(text);
  ctx.restore();
  if (knownWidths.size >= KNOWN_WIDTHS_MAX) knownWidths.clear();
  knownWidths.set(key, width);
  return width;
}

function lineOf(now: Now, i: number, colours: Colours): uPlot.Series {
  const { colour, axis } = now.drawing.series[i] as Drawing['series'][number];
  const stroke = colourOf(colours.series, colour);
  const lone = (at: number) => lonePlaces(now.drawing.series[at - 1]?.heights ?? [], overUntil(now.drawing));
  return {
    ...{ scale: scaleOf(axis), stroke, width: lineWidth(now.drawing) },
    // Of lines the outline is filled.
    fill: () => (now.drawing.style === 'lines' ? stroke : colourOf(colours.areas, colour)),
    points: { fill: stroke, size: 5, filter: (_, at, show) => (show ? null : lone(at)) },
    paths: (...given) => now.paths(...given),
  };
}

/** Lines are drawn in another way from where they are not over. */
const overUntil = ({ style, provisional, times }: Drawing): number =>
  style === 'lines' ? provisional : times.length;

const lineWidth = ({ style }: Drawing): number => (style === 'lines' ? 2 : 1);

/** The part of a line that is not over. */
function dashRest(u: uPlot, at: number, drawing: Drawing, colours: Colours): void {
  const one = drawing.series[at - 1];
  if (one === undefined || drawing.style !== 'lines' || drawing.provisional >= drawing.times.length) return;
  const { ctx } = u;
  ctx.save();
  clip(u);
  ctx.globalAlpha = u.series[at]?.alpha ?? 1;
  ctx.strokeStyle = strokeOf(drawing, colours, at);
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash(DASH.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  let isOpen = false;
  for (let i = Math.max(0, drawing.provisional - 1); i < drawing.times.length; i++) {
    const value = one.heights[i] ?? null;
    if (value === null) {
      isOpen = false;
      continue;
    }
    const [x, y] = [xOf(u, drawing, i), u.valToPos(value, scaleOf(one.axis), true)];
    if (isOpen) ctx.lineTo(x, y);
    else ctx.moveTo(x, y);
    // Without neighbours there is no line.
    if (!isOpen && (one.heights[i + 1] ?? null) === null) dot(ctx, x, y);
    isOpen = true;
  }
  ctx.stroke();
  ctx.restore();
}

function dot(ctx: CanvasRenderingContext2D, x: number, y: number): void {
  const size = 5 * devicePixelRatio;
  ctx.fillStyle = ctx.strokeStyle;
  ctx.fillRect(x - size / 2, y - size / 2, size, size);
}

/** Areas cannot be dashed: what is not over is paler. */
function veilRest(u: uPlot, drawing: Drawing, { card }: Colours): void {
  if (drawing.style === 'lines' || drawing.provisional >= drawing.times.length) return;
  const { ctx, bbox } = u;
  const from = xOf(u, drawing, Math.max(0, drawing.provisional - 1));
  ctx.save();
  clip(u);
  ctx.globalAlpha = 0.55;
  ctx.fillStyle = card;
  ctx.fillRect(from, bbox.top, bbox.left + bbox.width - from, bbox.height);
  ctx.restore();
}

/** Periods in which days are missing are hatched: days in full, longer ones, which have other days, at their foot. */
function shadeGaps(u: uPlot, drawing: Drawing, { line }: Colours): void {
  const { ctx, bbox } = u;
  if (drawing.gaps.length === 0) return;
  const half = Math.max(1.5, Math.abs(xOf(u, drawing, 1) - xOf(u, drawing, 0)) / 2 || 4);
  const height = drawing.per === 'day' ? bbox.height : FOOT_PX * devicePixelRatio;
  ctx.save();
  clip(u);
  ctx.beginPath();
  for (const [from, until] of drawing.gaps) {
    const left = xOf(u, drawing, from) - half;
    ctx.rect(left, bbox.top + bbox.height - height, xOf(u, drawing, until) + half - left, height);
  }
  ctx.clip();
  ctx.strokeStyle = line;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  const step = 7 * devicePixelRatio;
  for (let x = bbox.left - bbox.height; x < bbox.left + bbox.width; x += step) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.restore();
}

const xOf = (u: uPlot, { times }: Drawing, place: number) => u.valToPos(times[place] ?? 0, 'x', true);

function clip({ ctx, bbox }: uPlot): void {
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
}

function brushed(u: uPlot, events: PlotEvents): void {
  const { left, width } = u.select;
  if (width < DRAG_PX) return;
  const [from, until] = [u.posToIdx(left), u.posToIdx(left + width)];
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (until > from) events.onBrush(from, until);
}
