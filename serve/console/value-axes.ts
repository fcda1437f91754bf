/** The axes of values: how far they reach, which of their values have a label, and what they count. */
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

/** The same of a logarithmic axis, which begins and ends at a number of one digit. */
export function logExtentOf(low: number, high: number): readonly [number, number] {
  if (low <= 0) return [1, 10];
  const [from, until] = [low, high].map((value, i) => {
    const decade = 10 ** Math.floor(Math.log10(value));
    // Quotients of a decade have noise.
    const digit = Number((value / decade).toPrecision(9));
    return (i === 0 ? Math.floor : Math.ceil)(digit) * decade;
  }) as [number, number];
  return from === until ? [from / 10, until * 10] : [from, until];
}

/** Digits that the labels of each decade begin with, the closest ones first. */
const DIGITS = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1]];

/** The closest numbers of one digit on a logarithmic axis that are at most so many. */
export function logTicks(from: number, until: number, most: number): readonly number[] {
  const first = Math.floor(Math.log10(from));
  const decades = Array.from({ length: Math.ceil(Math.log10(until)) - first + 1 }, (_, i) => first + i);
  const isWithin = (tick: number) => tick >= from * (1 - 1e-9) && tick <= until * (1 + 1e-9);
  const closest = DIGITS.map((digits) =>
    decades.flatMap((decade) => digits.map((digit) => digit * 10 ** decade)).filter(isWithin),
  );
  const fitting = closest.find((ticks) => ticks.length <= most);
  if (fitting !== undefined) return fitting;
  const whole = closest.at(-1) ?? [];
  return whole.filter((_, i) => i % Math.ceil(whole.length / Math.max(1, most)) === 0);
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
