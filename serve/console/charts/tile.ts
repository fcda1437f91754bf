import { type Html, html } from '../../pages/html.ts';
import type { SeriesAnswer, SeriesData } from '../model/chart-state.ts';
import { formatExact, formatShort } from '../model/format.ts';
import { dayAt, periodsIn } from '../model/periods.ts';
import { sparkline } from './plot.ts';

/** The content of a tile: title, newest value and line, and the day of the value if it is not the last one. */
export function tileFigures(title: string, { values, unit, token }: SeriesData, answer: SeriesAnswer): Html {
  const place = values.findLastIndex((value) => value !== null);
  const last = values[place] ?? null;
  const isOlder = place !== -1 && place < answer.periods - 1;
  return html`<span>${title}</span><strong title="${formatExact(last, unit, token)}">${formatShort(last, unit, token)}</strong>${isOlder && html`<span class="as-of">${answer.per === 'month' ? 'in' : 'on'} ${periodName(answer, place)}</span>`}
${sparkline(values)}`;
}

/** States the day or month of the values of tiles. */
export function tilesAsOf(answer: SeriesAnswer): string {
  const name = periodName(answer, answer.periods - 1);
  const isOver = answer.provisional_from === null;
  return `Values of ${name}, ${isOver ? `the last complete ${answer.per}` : `the current ${answer.per}`}.`;
}

/** A day, or a month as `YYYY-MM`. */
function periodName(answer: SeriesAnswer, place: number): string {
  const day = dayAt(periodsIn(answer), place);
  return answer.per === 'month' ? day.slice(0, 7) : day;
}
