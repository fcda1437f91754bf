/**
 * Lines and areas in whole pixels of the canvas. Of all points in one column of pixels the lowest and the highest are
 * kept, in their order: the picture is the same, and a long line has few points. Browsers take ten times longer to
 * stroke a thick line of many corners than to fill its outline, so where columns have several points that is filled.
 */
import type uPlot from 'uplot';
import type { Drawing, Values } from '../drawing.ts';

/** A line without a gap. */
interface Stretch {
  /** Of each column its place, and its lowest and highest row in the order of the line. */
  readonly columns: Int32Array;
  /** Whether a column holds several points. */
  readonly isDense: boolean;
  /** Its first and its last place. */
  readonly places: readonly [number, number];
}

/** Numbers that stand for a column. */
const COLUMN = 3;
/** Half of the width of a line. */
const HALF_PX = 1;
/** Far outside of any canvas: lines that leave it end there. */
const FAR_PX = 1e7;

/** What builds the paths of the series of a drawing, in their order; they share the columns of its times. */
export function pathBuilder(drawing: Drawing): uPlot.Series.PathBuilder {
  const columns = sharedColumns(drawing);
  const scratch = new Int32Array(drawing.times.length * COLUMN);
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
    const [stroke, fill] = [new Path2D(), new Path2D()];
    const over = pixelsOf(u, at).stretchesOf(heights, from, Math.min(until, drawing.provisional - 1));
    for (const { columns, isDense } of over) {
      if (isDense) outline(fill, columns, HALF_PX * devicePixelRatio);
      else trace(stroke, columns);
    }
    return { stroke, fill };
  };
}

/** Areas between lines that lie on each other: each goes along its own line, and back along what is below it. */
function areaPaths(drawing: Drawing, pixelsOf: PixelsOf): uPlot.Series.PathBuilder {
  return (u, at, from, until) => {
    const pixels = pixelsOf(u, at);
    const [stroke, fill] = [new Path2D(), new Path2D()];
    const { heights = [], floors = [] } = drawing.series[at - 1] ?? {};
    for (const { columns, isDense, places } of pixels.stretchesOf(heights, from, until)) {
      // Of many points the edges would hide the areas.
      if (!isDense) trace(stroke, columns);
      for (const below of pixels.stretchesOf(floors, ...places)) enclose(fill, columns, below.columns);
    }
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
    const [columns, row, found] = [this.#columns, this.#row, this.#scratch];
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
      found[length++] = column;
      found[length++] = isLowLast ? high : low;
      found[length++] = isLowLast ? low : high;
    }
    return {
      columns: found.slice(0, length),
      isDense: length < (until - from + 1) * COLUMN,
      places: [from, until],
    };
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

function trace(path: Path2D, columns: Int32Array): void {
  for (let i = 0; i < columns.length; i += COLUMN) {
    const [x, first, last] = [columns[i] as number, columns[i + 1] as number, columns[i + 2] as number];
    if (i === 0) path.moveTo(x, first);
    else path.lineTo(x, first);
    if (last !== first) path.lineTo(x, last);
  }
}

/** The outline of a thick line: along its upper edge, and back along the lower one. */
function outline(path: Path2D, columns: Int32Array, half: number): void {
  // A column reaches to where the line left the one before it.
  const edge = (i: number, pick: (a: number, b: number, c: number) => number) =>
    pick(columns[i + 1] as number, columns[i + 2] as number, columns[Math.max(2, i - 1)] as number);
  path.moveTo((columns[0] as number) - half, edge(0, Math.min) - half);
  for (let i = 0; i < columns.length; i += COLUMN)
    path.lineTo(columns[i] as number, edge(i, Math.min) - half);
  for (let i = columns.length - COLUMN; i >= 0; i -= COLUMN)
    path.lineTo(columns[i] as number, edge(i, Math.max) + half);
  path.closePath();
}

/** The area between the highest points of a line and those of the one below it. */
function enclose(path: Path2D, columns: Int32Array, below: Int32Array): void {
  const highest = (of: Int32Array, i: number) => Math.min(of[i + 1] as number, of[i + 2] as number);
  path.moveTo(columns[0] as number, highest(columns, 0));
  for (let i = COLUMN; i < columns.length; i += COLUMN)
    path.lineTo(columns[i] as number, highest(columns, i));
  for (let i = below.length - COLUMN; i >= 0; i -= COLUMN) path.lineTo(below[i] as number, highest(below, i));
  path.closePath();
}
