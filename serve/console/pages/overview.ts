import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../pages/html.ts';
import { relativeChange } from '../charts/relative-change.ts';
import { chartSection, lastOf } from '../charts/section.ts';
import { select } from '../charts/selection.ts';
import { tileFigures, tilesAsOf } from '../charts/tile.ts';
import type { ListReader } from '../lists/list-reader.ts';
import type { SeriesAnswer, SeriesData } from '../model/chart-state.ts';
import { DEFAULT_STATE } from '../model/chart-state.ts';
import { formatShort } from '../model/format.ts';
import { addDays } from '../model/periods.ts';
import { type ChartColumn, type Line, lineOf } from '../series/chart-metrics.ts';
import { chainName } from '../series/names.ts';
import { chainsTable } from './chains.ts';
import { type ConsolePages, sendPublicPage } from './console-pages.ts';
import { news } from './news.ts';

/** Tiles of each ecosystem. */
const TILES = [
  'daily-tps.num_transactions_combined',
  'daily-summary.num_accounts_active_signed_combined',
  'daily-fees.total_fees_usd',
  'daily-summary.num_transfers',
  'daily-summary.transfer_amount_usd',
  'daily-summary.num_xcm_messages',
] as const;
const ECOSYSTEMS = ['polkadot/ecosystem', 'kusama/ecosystem'] as const;
/** Enough for the change over 30 days. */
const DAYS = 61;

const tiles: readonly Line[] = ECOSYSTEMS.flatMap((ecosystem) =>
  TILES.map((tile) => {
    const line = lineOf(`${tile}@${ecosystem}`);
    if (typeof line === 'string') throw new Error(line);
    return line;
  }),
);

/** Serves the overview page. */
export function serveOverview(
  pages: FastifyInstance,
  sources: ConsolePages & { readonly listReader: ListReader },
): void {
  pages.get('/', async (request, reply) => {
    const { series, freshness } = sources;
    const reader = await sources.readers.open(request, reply);
    const store = reader.store();
    const until = addDays(series.today, -1);
    const first = tiles[0] as Line;
    const [answer, chart, newest] = await Promise.all([
      series.read(store, tiles, 'day', { from: addDays(until, 1 - DAYS), until }),
      select(series, store, { ...first, state: DEFAULT_STATE, named: { chains: [], parts: [] } }),
      news(sources, reader),
    ]);
    const body = html`<h1>Exact metrics of Polkadot, Kusama and their chains</h1>
<p class="lead">Computed from raw blocks, with every definition and every gap shown.<br><a href="/charts">All metrics</a> · <a href="/docs">API</a> · <a href="/profile/keys">Get an API key</a></p>
${ECOSYSTEMS.map((ecosystem) => tilesOf(ecosystem, answer))}
${answer.series.some(({ values }) => lastOf(values) !== null) && html`<p class="hint under-tiles">${tilesAsOf(answer)} Changes compare the mean of the last 7 or 30 days with that of the 7 or 30 days before.</p>`}
<div class="card"><h2><a href="/charts/${first.metric.id}?${String(new URLSearchParams(columnOf(first.column)))}">${first.column.shown.title}</a></h2>
${chartSection({
  title: first.column.shown.title,
  controls: null,
  lines: chart.lines,
  days: chart.days,
  answer: chart.answer,
  empty:
    freshness.chains.length === 0
      ? html`No blocks are stored yet. Load some with <code>chain-metrics ingest</code>, or follow a chain.`
      : html`No values from ${chart.days.from} to ${chart.days.until}. <a href="/charts/${first.metric.id}">Choose other days</a>.`,
  hasTable: false,
})}</div>
${newest}
<section class="card" aria-labelledby="chains"><h2 id="chains"><a href="/chains">Chains</a></h2>
${chainsTable(freshness.chains, series.now)}</section>`;
    return sendPublicPage(reply, {
      title: 'Overview',
      description: 'Exact metrics of Polkadot, Kusama and their chains, computed from raw blocks.',
      body,
      script: 'chart.js',
    });
  });
}

function tilesOf(ecosystem: (typeof ECOSYSTEMS)[number], answer: SeriesAnswer): Html {
  const some = answer.series.filter(({ relay_chain, chain }) => `${relay_chain}/${chain}` === ecosystem);
  if (some.every(({ values }) => lastOf(values) === null)) return html``;
  const label = chainName(ecosystem);
  return html`<section aria-label="${label}"><h2>${label}</h2><ul class="tiles">${some.map((one) => tile(one, ecosystem, answer))}</ul></section>`;
}

function tile(series: SeriesData, ecosystem: string, answer: SeriesAnswer): Html {
  const { metric, column } = tiles.find((line) =>
    series.id.startsWith(`${line.metric.id}.${line.column.name}@`),
  ) as Line;
  return html`<li><a class="tile" href="/charts/${metric.id}?${String(new URLSearchParams({ ...columnOf(column), chain: ecosystem }))}">
${tileFigures(series.title, series, answer)}
<span class="changes">${change(relativeChange(series.values, 7), '7 d')}${change(relativeChange(series.values, 30), '30 d')}</span></a></li>`;
}

/** The query parameters that open the page of a metric with this column and, for a USD column, with values in USD. */
const columnOf = ({ name }: ChartColumn): Record<string, string> => ({
  column: name,
  ...(name.endsWith('_usd') && { money: 'usd' }),
});

function change(value: number | null, label: string): Html {
  if (value === null) return html`<span class="change">${label} –</span>`;
  const kind = value < 0 ? 'down' : 'up';
  const text = formatShort(Number(Math.abs(value).toPrecision(2)), 'ratio');
  return html`<span class="change ${kind}">${label} <span aria-hidden="true">${value < 0 ? '▼' : '▲'}</span><span class="unseen">${value < 0 ? 'down' : 'up'}</span> ${text}</span>`;
}
