import { type Html, html } from '../../pages/html.ts';
import type { SeriesAnswer, SeriesData } from '../model/chart-state.ts';
import { formatExact } from '../model/format.ts';
import { dayAt, periodsIn } from '../model/periods.ts';
import { chainName } from '../series/names.ts';

const CELL = 14;
const SIDE = CELL - 3;
const LEFT = 34;
const TOP = 18;
const LEVELS = 4;
/** Most weeks of a heatmap; a longer range shows the newest. */
const WEEKS_MAX = 54;
const DAYS = ['Mon', '', 'Wed', '', 'Fri', '', ''] as const;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** Draws each series as a calendar with a column per week and a cell per day. A darker cell has a larger value. */
export const heatmaps = (answer: SeriesAnswer): Html =>
  html`<div>${answer.series.map((one) => heatmap(one, answer))}</div>`;

function heatmap(series: SeriesData, answer: SeriesAnswer): Html {
  const name = chainName(`${series.relay_chain}/${series.chain}`);
  const first = Math.max(0, series.values.length - WEEKS_MAX * 7);
  const days = series.values
    .slice(first)
    .map((value, i) => ({ value, day: dayAt(periodsIn(answer), first + i) }));
  const offset = (new Date(`${days[0]?.day}T00:00:00Z`).getUTCDay() + 6) % 7;
  const largest = days.reduce((most, { value }) => Math.max(most, value ?? 0), 0);
  const total = days.reduce((sum, { value }) => sum + (value ?? 0), 0);
  const weeks = Math.ceil((days.length + offset) / 7);
  const label = `${name}: ${formatExact(total, series.unit, series.token)} in ${days.length} days, ${formatExact(largest, series.unit, series.token)} on the busiest`;
  return html`<figure class="heatmap"><figcaption>${label}</figcaption><div class="scroll" tabindex="0" role="group" aria-label="Calendar of ${name}">
<svg viewBox="0 0 ${LEFT + weeks * CELL} ${TOP + 7 * CELL}" width="${LEFT + weeks * CELL}" role="img" aria-label="${label}">
${DAYS.map((text, i) => html`<text class="tick" x="0" y="${TOP + i * CELL + SIDE - 1}">${text}</text>`)}
${days.map(({ value, day }, i) => {
  const [week, weekday] = [Math.floor((i + offset) / 7), (i + offset) % 7];
  const x = LEFT + week * CELL;
  const month =
    day.endsWith('-01') &&
    html`<text class="tick" x="${x}" y="11">${MONTHS[Number(day.slice(5, 7)) - 1]}</text>`;
  return html`${month}<rect class="${levelOf(value, largest)}" x="${x}" y="${TOP + weekday * CELL}" width="${SIDE}" height="${SIDE}" rx="2"><title>${day}: ${formatExact(value, series.unit, series.token)}</title></rect>`;
})}
</svg></div>${keyOf(largest, series)}</figure>`;
}

/** The legend of the colours. Small integers leave some levels empty, which the legend omits. */
function keyOf(largest: number, { values, unit, token }: SeriesData): Html {
  const isWhole = values.every((value) => value === null || Number.isInteger(value));
  const bounds = Array.from({ length: LEVELS }, (_, i) => ((i + 1) * largest) / LEVELS);
  const upTo = bounds.map((bound) => (isWhole ? Math.floor(bound) : bound));
  const entries = [
    ['unknown', 'no value'],
    ['level-0', formatExact(0, unit, token)],
    ...upTo.map((bound, i) => [`level-${i + 1}`, `up to ${formatExact(bound, unit, token)}`] as const),
  ] as const;
  const shown = entries.filter((_, i) => i < 2 || (upTo[i - 2] ?? 0) > (upTo[i - 3] ?? 0));
  return html`<ul class="key">${shown.map(
    ([look, text]) =>
      html`<li><svg viewBox="-1 -1 ${SIDE + 2} ${SIDE + 2}" aria-hidden="true"><rect class="${look}" width="${SIDE}" height="${SIDE}" rx="2"/></svg>${text}</li>`,
  )}</ul>`;
}

/** An unknown value is not zero and has its own colour. */
function levelOf(value: number | null, largest: number): string {
  if (value === null) return 'unknown';
  return `level-${value <= 0 ? 0 : Math.max(1, Math.ceil((value / largest) * LEVELS))}`;
}
