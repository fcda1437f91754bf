import type { FastifyInstance, FastifyRequest } from 'fastify';
import { didYouMean } from '../../../infra/nearest-name.ts';
import type { QueryStore } from '../../http/readers.ts';
import { html } from '../../pages/html.ts';
import { assignColours, hashRank } from '../charts/colours.ts';
import { controls } from '../charts/controls.ts';
import { chartSection, seriesUrl } from '../charts/section.ts';
import { daysOf } from '../charts/selection.ts';
import { downloads, snippets } from '../charts/snippets.ts';
import { chartStateOf, hiddenIn, SERIES_MAX } from '../model/chart-state.ts';
import {
  type ChartMetric,
  chartMetrics,
  fullTitle,
  type Line,
  lineId,
  lineOf,
} from '../series/chart-metrics.ts';
import { chainName, lineName, seriesNames } from '../series/names.ts';
import type { SeriesReader } from '../series/series.ts';
import { type ConsolePages, queryOf, sendPublicPage, storeOf } from './console-pages.ts';

/** The default comparison. */
const USUAL = [
  'daily-tps.num_transactions_combined@polkadot/ecosystem',
  'daily-tps.num_transactions_combined@kusama/ecosystem',
];

/** Metrics that can be added here. Lines of parts can only be selected on the page of their metric. */
const wholeChains = chartMetrics.filter(({ parts }) => parts.length === 0);

/** Reads the lines that the URL compares. */
async function comparisonOf(
  { series, freshness }: Pick<ConsolePages, 'series' | 'freshness'>,
  request: FastifyRequest,
  store: QueryStore,
) {
  const query = queryOf(request);
  const [state, hidden] = [chartStateOf(query), hiddenIn(query)];
  const [metric, chain] = [query.get('metric') ?? '', query.get('of') ?? ''];
  const added = metric !== '' && chain !== '' ? [`${metric}@${chain}`] : [];
  const given = [...query.getAll('series').filter((id) => id !== query.get('remove')), ...added];
  const isUsual = !query.has('series') && added.length === 0;
  const ids = [...new Set(isUsual ? USUAL : given)];
  const found = await linesOf(ids.slice(0, IDS_MAX), series, store);
  const [drawn, unknown] = [
    found.filter(isLine),
    isUsual ? [] : found.filter((line) => typeof line === 'string'),
  ];
  const lines = drawn.slice(0, SERIES_MAX);
  if (drawn.length > SERIES_MAX || ids.length > IDS_MAX)
    unknown.push(`A chart has ${SERIES_MAX} series at most.`);
  if ((metric === '') !== (chain === '')) unknown.push('To add a series, choose a metric and a chain.');
  await freshness.refresh();
  const days = daysOf(
    state,
    series,
    freshness.chains.map((one) => one.days[0]),
  );
  const answer = await series.read(store, lines, state.per, days);
  const colours = assignColours(lines.map(lineId), hashRank);
  return { state, hidden, lines, unknown, days, answer: { ...answer, colours } };
}

const ID_CHARS_SHOWN = 100;
/** Most series ids of a URL that are looked up; some may have no rows. */
const IDS_MAX = 2 * SERIES_MAX;
const isLine = (line: Line | string): line is Line => typeof line !== 'string';

/** The line of each id, or a warning if it is invalid or has no rows. */
async function linesOf(
  ids: readonly string[],
  series: SeriesReader,
  store: QueryStore,
): Promise<(Line | string)[]> {
  // The lines of each metric are read once.
  const ofMetric = new Map<ChartMetric, ReturnType<SeriesReader['linesOf']>>();
  const knownOf = (metric: ChartMetric) => {
    const known = ofMetric.get(metric) ?? series.linesOf(store, metric);
    ofMetric.set(metric, known);
    return known;
  };
  return Promise.all(
    ids.map(async (id) => {
      const line = lineOf(id);
      if (!isLine(line)) return `${id.slice(0, ID_CHARS_SHOWN)} is not drawn: ${line.split(';', 1)[0]}.`;
      const known = await knownOf(line.metric);
      if (known.some((one) => lineId({ ...line, ...one }) === lineId(line))) return line;
      const names = [...new Set(known.map(({ chain }) => chain))];
      const near = names.includes(line.chain) ? '' : didYouMean(line.chain, names);
      return `${fullTitle(line)} of ${lineName(line)} is not drawn: it has no rows.${near && ` D${near.slice(1)}`}`;
    }),
  );
}

const SEVERAL = 'Comparison';

/** The title of the compared column if there is only one, because the series names then omit it. */
export function comparisonTitle(lines: readonly Line[]): string {
  const [column, ...others] = new Set(lines.map((line) => line.column));
  return column === undefined || others.length > 0 ? SEVERAL : column.shown.title;
}

/** Serves the comparison page: lines of any metrics and chains in one chart. */
export function serveCompare(pages: FastifyInstance, sources: ConsolePages): void {
  pages.get('/compare', async (request, reply) => {
    const { origin, freshness } = sources;
    const store = await storeOf(sources, request, reply);
    const { state, hidden, lines, unknown, days, answer } = await comparisonOf(sources, request, store);
    const units = new Set(answer.series.map(({ unit, token }) => `${unit} ${token ?? ''}`));
    const chains = freshness.chains.map((one) => `${one.relay_chain}/${one.chain}`);
    const relays = [...new Set(freshness.chains.map(({ relay_chain }) => relay_chain))];
    const source = seriesUrl(lines, answer, days);
    const [title, names] = [comparisonTitle(lines), seriesNames(lines)];
    const labels = title === SEVERAL ? names : names.map((name) => `${title}, ${name}`);
    const body = html`<h1>Compare</h1>
<p class="lead">Compare metrics of any chains in one chart. Two units get two axes; indexed to 100, all series share one.</p>
<div class="card">${chartSection({
      title,
      controls: controls({
        action: '/compare',
        state,
        days,
        isDaily: answer.per !== 'month' || lines.every(({ metric: { isMonthly } }) => !isMonthly),
        canStack: units.size === 1 && lines.every(({ column }) => column.shown.overChains === 'sum'),
        hasUsd: false,
        first: html`${
          lines.length > 0 &&
          html`<fieldset class="line"><legend>Series</legend>${lines.map(
            (line, i) =>
              html`<label class="choice"><input type="checkbox" name="series" value="${lineId(line)}" checked>${labels[i]}</label>`,
          )}</fieldset>`
        }
${
  lines.length < SERIES_MAX &&
  html`<fieldset class="line add"><legend>Add a series</legend><label class="select">Metric <select name="metric"><option value="">–</option>${wholeChains.map(
    ({ id, metric: { title }, columns }) =>
      html`<optgroup label="${title}">${columns.map(({ name, shown }) => html`<option value="${`${id}.${name}`}">${shown.title}</option>`)}</optgroup>`,
  )}</select></label><label class="select">Chain <select name="of"><option value="">–</option>${[...relays.map((relay) => `${relay}/ecosystem`), ...chains].map((id) => html`<option value="${id}">${chainName(id)}</option>`)}</select></label></fieldset>`
}`,
      }),
      ...{ lines, days, answer, state, hidden, unknown },
      empty: html`Choose a metric and a chain to draw.`,
    })}
${lines.length > 0 && html`<div class="take">${downloads(source)}</div>${snippets(origin() + source)}`}</div>`;
    return sendPublicPage(reply, {
      title: title === SEVERAL ? 'Compare' : `${title} · Compare`,
      description: 'Metrics of Polkadot, Kusama and their chains in one chart.',
      body,
      script: 'chart.js',
    });
  });
}
