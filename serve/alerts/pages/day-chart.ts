import { scaleLinear } from 'd3-scale';
import { DAY_MS } from '../../../infra/days.ts';
import { type Html, html } from '../../pages/html.ts';

const WIDTH = 420;
const HEIGHT = 170;
const MARGIN = { top: 10, right: 16, bottom: 24, left: 52 };
const DATES_SHOWN = 4;

export interface DayChart {
  readonly title: string;
  /** Colour of the columns, by its number. */
  readonly colour: number;
  /** By day in their order; null where there is no value. */
  readonly days: readonly { readonly date: string; readonly value: number | null }[];
  readonly unit: 'count' | 'seconds';
  readonly empty: string;
}

/**
 * One quantity by day as columns, as SVG without a script. Each has a chart of its own with its own axis, so that equal
 * or much smaller numbers are not hidden by others.
 */
export function dayChart({ title, colour, days, unit, empty }: DayChart): Html {
  const values = days.flatMap(({ value }) => (value === null ? [] : [value]));
  const largest = Math.max(0, ...values);
  const heading = html`<h2>${title}</h2>`;
  if (values.length === 0)
    return html`<section class="card">${heading}<p class="hint">${empty}</p></section>`;
  const ticks = ticksOf(largest, unit);
  const y = scaleLinear([0, Math.max(largest, ticks.at(-1) ?? 1)], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const step = (WIDTH - MARGIN.left - MARGIN.right) / days.length;
  const x = (i: number) => MARGIN.left + i * step;
  const every = Math.ceil(days.length / DATES_SHOWN);
  const text = unit === 'seconds' ? durationText : (value: number) => value.toLocaleString('en-US');
  return html`<section class="card">${heading}<figure class="chart days"><svg class="line-${colour}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title} by day, at most ${text(largest)}">
${ticks.map(
  (
    value,
  ) => html`<line class="grid" x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${px(y(value))}" y2="${px(y(value))}"/>
<text class="tick" x="${MARGIN.left - 6}" y="${px(y(value) + 4)}" text-anchor="end">${text(value)}</text>`,
)}${days.map(({ date, value }, i) => {
  if (value === null) return null;
  // Nothing is also a value: a line at the bottom.
  const top = Math.min(y(value), y(0) - 1);
  return html`<rect x="${px(x(i) + step * 0.15)}" y="${px(top)}" width="${px(step * 0.7)}" height="${px(y(0) - top)}"><title>${dayText(date)}: ${text(value)}</title></rect>`;
})}${days.map(({ date }, i) => (days.length - 1 - i) % every === 0 && html`<text class="tick" x="${px(x(i) + step / 2)}" y="${HEIGHT - 6}" text-anchor="middle">${dayText(date)}</text>`)}
</svg></figure></section>`;
}

/** Of one day as people write it, without its year: all charts show the last weeks. */
const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const dayText = (date: string): string => DAY_FORMAT.format(new Date(date));

/** Steps between marks of a time, in seconds, from a second to weeks. */
const DURATIONS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200, 86_400, 604_800];

function ticksOf(largest: number, unit: DayChart['unit']): number[] {
  if (unit === 'count')
    return scaleLinear([0, Math.max(1, largest)], [0, 1])
      .nice(3)
      .ticks(3)
      .filter(Number.isInteger);
  const step = DURATIONS.find((one) => largest / one <= 4) ?? 604_800 * Math.ceil(largest / 604_800 / 4);
  return Array.from({ length: Math.max(1, Math.ceil(largest / step)) + 1 }, (_, i) => i * step);
}

/** A time in its largest unit. */
export function durationText(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${short(seconds / 60)} min`;
  if (seconds * 1000 < DAY_MS) return `${short(seconds / 3600)} h`;
  return `${short((seconds * 1000) / DAY_MS)} d`;
}

const short = (value: number): string => value.toFixed(value < 10 && !Number.isInteger(value) ? 1 : 0);
const px = (value: number): string => value.toFixed(1);
