/** Ranges and titles of the value axes. */
import type { ChartStyle } from './chart-state.ts';
import type { Drawing } from './drawing.ts';
import { unitOf } from './format.ts';

/** The range of an axis. It includes zero, unless all values are far from zero. */
export function extentOf(low: number, high: number, style: ChartStyle): readonly [number, number] {
  if (style === 'share') return [0, 1];
  if (low === high) return low === 0 ? [0, 1] : low > 0 ? [0, low * 2] : [low * 2, 0];
  const isFar = style === 'lines' && low > 0 && low > high / 2;
  const pad = (high - low) * 0.06;
  if (isFar) return [low - pad, high + pad];
  return [low < 0 ? low - pad : 0, high > 0 ? high + (high - Math.min(0, low)) * 0.04 : 0];
}

/** The titles of the axes, the left one first. Empty if the labels contain the unit. */
export function axisNames({ axes, series, isIndexed, isLogarithmic }: Drawing): readonly string[] {
  return axes.map(({ unit, token }, axis) => {
    // Dollar labels contain the unit.
    const own = isIndexed ? 'first value = 100' : unit === 'usd' ? '' : unitOf(unit, token);
    const titles = series.filter((one) => one.axis === axis).map(({ data }) => data.title);
    const name =
      axes.length === 1 ? own : [titles.join(', '), own].filter((part) => part !== '').join(' in ');
    return isLogarithmic ? `${name} (logarithmic)`.trim() : name;
  });
}
