/**
 * Lines and areas in whole pixels of the canvas. Of all points in one column of pixels the lowest and the highest are
 * kept, in their order: the picture is the same, and a long line has few points.
 */
import type uPlot from 'uplot';
import type { Drawing, Values } from '../drawing.ts';

/** A line without a gap: `x, y, x, y` and so on. */
type Stretch = Int32Array;

/** Points of a column, with two coordinates each. */
const COORDINATES_MAX = 4;
/** Far outside of any canvas: lines that leave it end there. */
const FAR_PX = 1e7;

/** What builds the paths of the series of a drawing, in their order; they share the columns of its times. */
export function pathBuilder(drawing: Drawing): uPlot.Series.PathBuilder {
  const columns = sharedColumns(drawing);
  const scratch = new Int32Array(drawing.times.length * COORDINATES_MAX);
  const { isLogarithmic } = drawing;
  const pixelsOf = (u: uPlot, at: number) =>
    new Pixels(u, { scale: u.series[at]?.scale ?? '', isLogarithmic, columns: columns(u), scratch });
  return drawing.style === 'lines' ? linePaths(drawing, pixelsOf) : areaPaths(drawing, pixelsOf);
}

type PixelsOf = (u: uPlot, at: number) => Pixels;

/** The part of a line that is over; what follows is drawn in another way. */
function linePaths(drawing: Drawing, pixelsOf: PixelsOf): uPlot.Series.PathBuilder {
  return (u, at, from, until) => {
    const { heights = [] } = drawing.series[at - 1] ?? {};
    const stroke = new Path2D();
    const over = pixelsOf(u, at).stretchesOf(heights, from, Math.min(until, drawing.provisional - 1));
    for (const stretch of over) trace(stroke, stretch);
    return { stroke };
  };
}

/**
 * Areas between lines that lie on each other, the lowest on zero. Each is the area below its own line without the one
 * below the line before it: neighbours run in opposite directions, so that what both enclose counts as outside. So
 * every line is traced once.
 */
function areaPaths(drawing: Drawing, pixelsOf: PixelsOf): uPlot.Series.PathBuilder {
  let below = new Path2D();
  return (u, at, from, until) => {
    const pixels = pixelsOf(u, at);
    const stroke = new Path2D();
    const ground = new Path2D();
    const isBack = at % 2 === 0;
    for (const stretch of pixels.stretchesOf(drawing.series[at - 1]?.heights ?? [], from, until)) {
      const line = new Path2D();
      const ends = [stretch.at(-2) as number, stretch[0] as number];
      if (isBack) traceBack(line, stretch);
      else trace(line, stretch);
      stroke.addPath(line);
      for (const x of isBack ? ends.reverse() : ends) line.lineTo(x, pixels.zero);
      line.closePath();
      ground.addPath(line);
    }
    const fill = new Path2D(ground);
    if (at > 1) fill.addPath(below);
    below = ground;
    return { stroke, fill };
  };
}

/** Places of a line that have a value, and none beside them: they would not be seen. Null where there are none. */
export function lonePlaces(values: Values, until: number): number[] | null {
  const found: number[] = [];
  for (let i = 0; i < until; i++) {
    const isLone = (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null;
    if (isLone && (values[i] ?? null) !== null) found.push(i);
  }
  return found.length === 0 ? null : found;
}

interface PixelOptions {
  readonly scale: string;
  readonly isLogarithmic: boolean;
  readonly columns: Int32Array;
  /** Room for the points of one stretch. */
  readonly scratch: Int32Array;
}

/** Where the values of one axis lie, by the scales as they are now. */
class Pixels {
  readonly #columns: Int32Array;
  readonly #scratch: Int32Array;
  readonly #row: (value: number) => number;

  constructor(u: uPlot, { scale, isLogarithmic, columns, scratch }: PixelOptions) {
    const { top, height } = u.bbox;
    const [low, high] = rangeOf(u, scale);
    this.#columns = columns;
    this.#scratch = scratch;
    this.#row = isLogarithmic
      ? (value) => clamped(u.valToPos(value, scale, true))
      : (value) => clamped(top + (1 - (value - low) / (high - low)) * height);
  }

  /** Where zero lies. */
  get zero(): number {
    return this.#row(0);
  }

  stretchesOf(values: Values, from: number, until: number): Stretch[] {
    const found: Stretch[] = [];
    for (let i = from; i <= until; i++) {
      if ((values[i] ?? null) === null) continue;
      const first = i;
      while (i < until && (values[i + 1] ?? null) !== null) i++;
      found.push(this.#stretch(values, first, i));
    }
    return found;
  }

  #stretch(values: Values, from: number, until: number): Stretch {
    const [columns, row, points] = [this.#columns, this.#row, this.#scratch];
    let length = 0;
    for (let i = from; i <= until; ) {
      const column = columns[i] as number;
      const first = row(values[i] as number);
      let [low, high, isLowLast] = [first, first, false];
      for (i++; i <= until && columns[i] === column; i++) {
        const next = row(values[i] as number);
        if (next < low) [low, isLowLast] = [next, true];
        else if (next > high) [high, isLowLast] = [next, false];
      }
      points[length++] = column;
      points[length++] = isLowLast ? high : low;
      if (low === high) continue;
      points[length++] = column;
      points[length++] = isLowLast ? low : high;
    }
    return points.slice(0, length);
  }
}

/** The columns of the times of a drawing, made again when another part of them is shown or elsewhere. */
function sharedColumns({ times }: Drawing): (u: uPlot) => Int32Array {
  const columns = new Int32Array(times.length);
  let known = '';
  return (u) => {
    const { left, width } = u.bbox;
    const [from, until] = rangeOf(u, 'x');
    const wanted = [left, width, from, until].join(' ');
    if (wanted === known) return columns;
    const perMs = width / (until - from);
    for (let i = 0; i < columns.length; i++)
      columns[i] = clamped(left + ((times[i] as number) - from) * perMs);
    known = wanted;
    return columns;
  };
}

function rangeOf(u: uPlot, scale: string): readonly [number, number] {
  const { min, max } = u.scales[scale] ?? {};
  return [min ?? 0, max ?? 1];
}

const clamped = (pixels: number): number => Math.round(Math.max(-FAR_PX, Math.min(FAR_PX, pixels)));

function trace(path: Path2D, points: Stretch): void {
  path.moveTo(points[0] as number, points[1] as number);
  for (let i = 2; i < points.length; i += 2) path.lineTo(points[i] as number, points[i + 1] as number);
}

function traceBack(path: Path2D, points: Stretch): void {
  path.moveTo(points.at(-2) as number, points.at(-1) as number);
  for (let i = points.length - 4; i >= 0; i -= 2) path.lineTo(points[i] as number, points[i + 1] as number);
}
