/** The axes of values: how far they reach, and what they count. */
import type { ChartStyle } from './chart-state.ts';
import type { Drawing } from './drawing.ts';
import { unitOf } from './format.ts';

/** Lowest and highest value of an axis: zero is part of it, unless that would press everything to one edge. */
export function extentOf(low: number, high: number, style: ChartStyle): readonly [number, number] {
  if (style === 'share') return [0, 1];
  if (low === high) return low === 0 ? [0, 1] : low > 0 ? [0, low * 2] : [low * 2, 0];
  const isFar = style === 'lines' && low > 0 && low > high / 2;
  const pad = (high - low) * 0.06;
  if (isFar) return [low - pad, high + pad];
  return [low < 0 ? low - pad : 0, high > 0 ? high + (high - Math.min(0, low)) * 0.04 : 0];
}

/** What the numbers of each axis count, the left one first; empty where they say so themselves. */
export function axisNames({ axes, series, isIndexed, isLogarithmic }: Drawing): readonly string[] {
  return axes.map(({ unit, token }, axis) => {
    // Labels in dollars say so themselves.
    const own = isIndexed ? 'first value = 100' : unit === 'usd' ? '' : unitOf(unit, token);
    const titles = series.filter((one) => one.axis === axis).map(({ data }) => data.title);
    const name =
      axes.length === 1 ? own : [titles.join(', '), own].filter((part) => part !== '').join(' in ');
    return isLogarithmic ? `${name} (logarithmic)`.trim() : name;
  });
}
