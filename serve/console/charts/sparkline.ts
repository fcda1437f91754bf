import { type Html, html } from '../../pages/html.ts';

const WIDTH = 160;
const HEIGHT = 36;

/** A line without axes; null values break it. What it says stands beside it in words. */
export function sparkline(values: readonly (number | null)[]): Html {
  const known = values.filter((value) => value !== null);
  if (known.length < 2)
    return html`<svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true"></svg>`;
  const [low, high] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [0, 0]);
  const x = (place: number) => ((place / (values.length - 1)) * (WIDTH - 4) + 2).toFixed(1);
  const y = (value: number) => (HEIGHT - 3 - ((value - low) / (high - low || 1)) * (HEIGHT - 6)).toFixed(1);
  const path = values
    .map((value, i) =>
      value === null ? '' : `${(values[i - 1] ?? null) === null ? 'M' : 'L'}${x(i)},${y(value)}`,
    )
    .join('');
  return html`<svg class="spark line-0" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true"><path d="${path}"/></svg>`;
}
