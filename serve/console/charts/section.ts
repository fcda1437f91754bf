import { type Html, html } from '../../pages/html.ts';
import { wideTable } from '../../pages/wide-table.ts';
import { type ChartState, DEFAULT_STATE, type SeriesAnswer, seriesColour } from '../model/chart-state.ts';
import { drawingOf, hasValues } from '../model/drawing.ts';
import { formatExact } from '../model/format.ts';
import { dayAt, periodsIn } from '../model/periods.ts';
import { legendValue } from '../model/summary.ts';
import type { Line } from '../series/chart-metrics.ts';
import { lineId } from '../series/chart-metrics.ts';
import { chainName, seriesNames } from '../series/names.ts';
import type { Days } from '../series/series.ts';
import { plot } from './plot.ts';

/** Most periods in the table; downloads have all. */
const TABLE_ROWS = 60;

/** A chart with its controls, its legend and a table of its values. */
interface ChartSection {
  readonly title: string;
  readonly controls: Html | null;
  readonly lines: readonly Line[];
  readonly days: Days;
  readonly answer: SeriesAnswer;
  /** Drawing options, and the ids of hidden lines. */
  readonly state?: ChartState;
  readonly hidden?: ReadonlySet<string>;
  /** Another view of the same values, shown above the chart. */
  readonly before?: Html | null;
  /** Warnings about requested lines that do not exist. */
  readonly unknown?: readonly string[];
  /** Notice if only some of the lines are drawn. */
  readonly notice?: string | null;
  /** Shown if there is nothing to draw. */
  readonly empty: Html;
  readonly hasTable?: boolean;
}

export function chartSection(section: ChartSection): Html {
  const { title, answer, hidden = new Set(), hasTable = true, unknown = [], notice = null } = section;
  const isEmpty = !hasValues(answer);
  const names = seriesNames(section.lines);
  const drawing = namedDrawing(answer, names, section.state ?? DEFAULT_STATE, hidden);
  const drawn = html`${plot(drawing, title)}
${drawing.notes.map((note) => html`<p class="hint">${note}</p>`)}`;
  return html`<section class="chart" data-chart aria-label="${title}">
${section.controls}${unknown.length > 0 && html`<p class="note warn">${unknown.join(' ')}</p>`}${!isEmpty && section.before}
<figure data-plot data-source="${seriesUrl(section.lines, answer, section.days)}" data-title="${title}" data-colours="${answer.series.map((_, i) => seriesColour(answer, i)).join(' ')}">${
    isEmpty ? html`<p class="empty">${section.empty}</p>` : drawn
  }</figure>
<ul class="legend" data-legend>${answer.series.map(
    ({ id }, i) =>
      html`<li class="line-${seriesColour(answer, i)}${hidden.has(id) && ' off'}" data-series="${id}"><bdi>${names[i]}</bdi> <b>${legendValue(drawing, id, null)}</b></li>`,
  )}</ul>
${notes(answer, notice)}
${hasTable && !isEmpty && table(answer, names)}
</section>`;
}

/** The drawing of a chart, with the names of its series. */
function namedDrawing(
  answer: SeriesAnswer,
  names: readonly string[],
  state: ChartState,
  hidden: ReadonlySet<string>,
) {
  const series = answer.series.map((one, i) => ({ ...one, title: names[i] ?? one.title }));
  return drawingOf({ ...answer, series }, state, hidden);
}

/** The `/api/series` URL of the data of a chart. */
export function seriesUrl(lines: readonly Line[], { per }: SeriesAnswer, { from, until }: Days): string {
  const query = new URLSearchParams(lines.map((line): [string, string] => ['series', lineId(line)]));
  query.set('start_date', from);
  query.set('end_date', until);
  query.set('per', per);
  return `/api/series?${query}`;
}

export const lastOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null;

/** Notes about gaps and about the period that is not over. */
function notes(answer: SeriesAnswer, notice: string | null): Html | null {
  const incomplete = answer.series
    .filter(({ gaps }) => gaps.length > 0)
    .map(({ relay_chain, chain }) => chainName(`${relay_chain}/${chain}`));
  const names = [...new Set(incomplete)];
  const isProvisional = answer.provisional_from !== null && hasValues(answer);
  if (names.length === 0 && !isProvisional && notice === null) return null;
  return html`<p class="hint">${notice !== null && `${notice} `}${names.length > 0 && html`Blocks are missing in the shaded ${answer.per}s of ${names.join(', ')} (<a href="/status">status</a>). `}${isProvisional && `The current ${answer.per} (${answer.provisional_from}) is paler, because its value still changes. The legend shows the values of the last complete ${answer.per}.`}</p>`;
}

function table(answer: SeriesAnswer, names: readonly string[]): Html {
  const from = Math.max(0, answer.periods - TABLE_ROWS);
  const places = Array.from({ length: answer.periods - from }, (_, i) => answer.periods - 1 - i);
  return html`<details class="values" data-table><summary>Table of these values</summary>
${wideTable(
  'Values',
  html`<table><thead><tr><th scope="col">${HEADS[answer.per]}</th>${names.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
<tbody>${places.map(
    (place) =>
      html`<tr><th scope="row">${dayAt(periodsIn(answer), place)}</th>${answer.series.map(({ values, unit, token }) => html`<td class="number">${formatExact(values[place] ?? null, unit, token)}</td>`)}</tr>`,
  )}</tbody></table>`,
)}
${from > 0 && html`<p class="hint">The newest ${TABLE_ROWS} of ${answer.periods}; the downloads have all.</p>`}</details>`;
}

const HEADS = { day: 'Day', week: 'Week from', month: 'Month from' } as const;
