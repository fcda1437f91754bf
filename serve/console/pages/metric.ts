import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Column, displayOf, usdColumnOf } from '../../../aggregate/columns.ts';
import { METRIC_DOMAINS } from '../../../aggregate/metric.ts';
import type { Merge, Unit } from '../../../aggregate/units.ts';
import { HttpError } from '../../http/errors.ts';
import { type Html, html } from '../../pages/html.ts';
import { wideTable } from '../../pages/wide-table.ts';
import { chainPicker, choice, controls, partPicker } from '../charts/controls.ts';
import { grafanaDashboard } from '../charts/grafana.ts';
import { heatmaps } from '../charts/heatmap.ts';
import { chartSection, seriesUrl } from '../charts/section.ts';
import { namedIn, type Selection, select } from '../charts/selection.ts';
import { downloads, snippets } from '../charts/snippets.ts';
import { type ChartState, chartQuery, chartStateOf, DEFAULT_STATE, hiddenIn } from '../model/chart-state.ts';
import { inSentence } from '../model/format.ts';
import {
  type ChartColumn,
  type ChartMetric,
  chartColumnOf,
  chartMetric,
  lineId,
} from '../series/chart-metrics.ts';
import { type ConsolePages, queryOf, searchOf, sendPublicPage, storeOf } from './console-pages.ts';
import { type ShownMetric, shownMetric } from './shown-metrics.ts';

/** Serves the page of a metric: its chart, downloads, snippets and definition. */
export function serveMetricPage(pages: FastifyInstance, sources: ConsolePages): void {
  pages.get<{ Params: { metric: string } }>('/charts/:metric', async (request, reply) => {
    const shown = shownMetric(request.params.metric);
    if (shown === undefined)
      throw new HttpError('not_found', `No metric is called ${request.params.metric.slice(0, 100)}.`);
    const drawn = chartMetric(shown.id);
    const { metric } = shown;
    const store = await storeOf(sources, request, reply);
    const body = html`<p class="trail"><a href="/charts">Metrics</a> › <a href="/charts#${metric.domain}">${METRIC_DOMAINS[metric.domain]}</a></p>
<h1>${shown.title}</h1>
<p class="lead">${shown.endpoint.summary}.</p>
${drawn ? chartOf(sources, await selectionOf(sources, request, drawn, store), request) : withoutChart(shown)}
${definition(shown)}`;
    return sendPublicPage(reply, {
      title: shown.title,
      description: firstSentence(metric.doc),
      body,
      script: 'chart.js',
    });
  });
  pages.get<{ Params: { metric: string } }>('/charts/:metric/grafana.json', async (request, reply) => {
    const metric = chartMetric(request.params.metric);
    if (metric === undefined) return reply.callNotFound();
    const { lines } = await selectionOf(sources, request, metric, await storeOf(sources, request, reply));
    return reply
      .header('content-disposition', `attachment; filename="${metric.id.replaceAll('/', '-')}-grafana.json"`)
      .send(grafanaDashboard(metric, lines, sources.origin()));
  });
}

interface Shown extends Selection {
  readonly state: ChartState;
  readonly hidden: ReadonlySet<string>;
}

/** Reads the lines that the URL of a page selects. */
async function selectionOf(
  { series }: Pick<ConsolePages, 'series'>,
  request: FastifyRequest,
  metric: ChartMetric,
  store: Parameters<typeof select>[1],
): Promise<Shown> {
  const query = queryOf(request);
  // Chains have different tokens, so only values in USD are comparable.
  const state = chartStateOf(query, { ...DEFAULT_STATE, money: 'usd' });
  const column = chartColumnOf(metric, query.get('column'));
  const selection = await select(series, store, { metric, column, state, named: namedIn(query) });
  return { ...selection, state, hidden: hiddenIn(query) };
}

function chartOf({ origin }: ConsolePages, selection: Shown, request: FastifyRequest): Html {
  const { metric, column, chains, parts, chosen, unknown, notice, state, hidden, days, lines, answer } =
    selection;
  const first = html`${choice('column', 'Show', optionsOf(metric, column), baseOf(metric, column).name)}${chainPicker(chains, chosen.chains)}${parts.length > 0 && partPicker(titleOf(metric), parts, chosen.parts)}`;
  const source = seriesUrl(lines, answer, days);
  const compare = new URLSearchParams(lines.map((line): [string, string] => ['series', lineId(line)]));
  const embed = `/embed/${metric.id}${searchOf(request)}`;
  return html`<div class="card">${chartSection({
    title: column.shown.title,
    controls: controls({
      action: `/charts/${metric.id}`,
      state,
      days,
      isDaily: !metric.isMonthly,
      canStack: column.shown.overChains === 'sum' || isOneToken(metric, column),
      hasUsd: usdColumnOf(metric.metric.columns, baseOf(metric, column).name) !== undefined,
      first,
    }),
    lines,
    days,
    answer,
    ...{ state, hidden },
    unknown,
    notice,
    before: metric.id.endsWith('-heatmap') && answer.per === 'day' ? heatmaps(answer) : null,
    empty: html`No chain has a value of ${inSentence(column.shown.title)} between ${days.from} and ${days.until}. Choose other days.`,
  })}
<p class="hint">${sentence(withTitles(column.meaning, metric))} ${!metric.isMonthly && MERGED[column.shown.overTime]}</p>
${lines.length > 0 && html`<div class="take">${downloads(source)}<p class="actions"><a class="button second small" href="/compare?${String(compare)}&${String(chartQuery(state))}">Compare</a><a class="button second small" href="${embed}">Embed</a><a class="button second small" href="${`/charts/${metric.id}/grafana.json${searchOf(request)}`}" download>Grafana dashboard</a></p></div>${snippets(origin() + source, origin() + embed)}`}
</div>`;
}

/** Whether all lines have the same token, because they are parts of one chain. */
const isOneToken = ({ parts }: ChartMetric, { shown }: ChartColumn): boolean =>
  parts.length > 0 && shown.unit === 'native';

/** The titles of the part columns: `Kind of vote, side`. */
function titleOf({ parts, metric }: ChartMetric): string {
  const titles = parts.map((name) => displayOf(metric.columns[name] as Column).title);
  return titles.map((title, i) => (i === 0 ? title : inSentence(title))).join(', ');
}

/** The native counterpart of a USD column; returns any other column unchanged. */
const baseOf = ({ columns }: ChartMetric, column: ChartColumn): ChartColumn =>
  columns.find(({ name }) => `${name}_usd` === column.name) ?? column;

function optionsOf(metric: ChartMetric, column: ChartColumn) {
  const shown = metric.columns.filter((one) => baseOf(metric, one) === one || one === column);
  return [...new Set(shown.map((one) => baseOf(metric, one)))].map(({ name, shown: { title } }) => ({
    value: name,
    label: title,
  }));
}

const MERGED: Readonly<Record<Merge, string>> = {
  sum: 'A week or month is the sum of its days.',
  mean: 'A week or month is the mean of its days.',
  last: 'A week or month has the value of its last day.',
  max: 'A week or month has the highest value of its days.',
  min: 'A week or month has the lowest value of its days.',
  none: 'Days do not add up; a week or month shows the mean of its days.',
};

function withoutChart({ metric, endpoint, list }: ShownMetric): Html {
  const path = html`<code>${endpoint.path}</code>`;
  // The path rejects requests without its required parameters.
  const needsMore =
    endpoint.dates?.required || Object.values(endpoint.filters ?? {}).some(({ required }) => required);
  const api = needsMore ? path : html`<a href="${endpoint.path}?limit=100">${path}</a>`;
  const reason = metric.key.includes('date')
    ? 'This metric has no chart, because it has a row for every account and day.'
    : 'This metric is a list, not a line over time.';
  return html`<div class="card"><p>${reason} Its rows by the API: ${api}.</p>
${list !== undefined && html`<p class="actions"><a class="button" href="${list}">Open the list</a></p>`}</div>`;
}

const UNIT_NAMES: Readonly<Record<Unit, string>> = {
  count: 'count',
  native: 'native token',
  planck: 'planck',
  usd: 'USD',
  ratio: 'ratio',
  seconds: 'seconds',
  bytes: 'bytes',
  per_second: 'per second',
  height: 'block number',
  identifier: 'identifier',
  weight: 'weight',
  number: 'number',
  percent: 'percent',
};

function definition({ metric, endpoint, sources }: ShownMetric): Html {
  return html`<section class="card" aria-labelledby="definition"><h2 id="definition">Definition</h2>
<p>${withCode(metric.doc)}</p>
${wideTable(
  'Fields',
  html`<table><thead><tr><th scope="col">Field</th><th scope="col">Unit</th><th scope="col">Meaning and formula</th></tr></thead><tbody>${Object.entries(
    metric.columns,
  ).map(([name, column]) => {
    const { title, unit } = displayOf(column);
    return html`<tr><td><b>${title}</b><br><code>${name}</code></td><td>${unit === null ? '–' : UNIT_NAMES[unit]}</td><td>${withCode(column.description ?? '')}</td></tr>`;
  })}</tbody></table>`,
  'definition',
)}
<p class="hint">Computed from ${sources.join(', ')}. Columns for programs: <a href="/api/metrics/${endpoint.path.replace('/api/', '').replaceAll('/', '-')}/schema">Table Schema</a>. API: <a href="/docs#/Metrics/${endpoint.path.replace('/api/', '').replaceAll('/', '-')}"><code>GET ${endpoint.path}</code></a>.</p></section>`;
}

/** Renders names between backticks as code. */
const withCode = (text: string): Html[] =>
  text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));

/** Replaces the names of columns by their titles. */
const withTitles = (text: string, { metric: { columns } }: ChartMetric): string =>
  text.replaceAll(/\b[a-z]+(?:_[a-z0-9]+)+\b/g, (name) => {
    const column = columns[name];
    if (column === undefined) return name;
    return inSentence(displayOf(column).title);
  });

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

const firstSentence = (text: string): string => `${text.split(/\. |[.;:]$/, 1)[0]}.`;
