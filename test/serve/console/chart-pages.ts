import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import {
  type ChartState,
  chartQuery,
  chartStateOf,
  type SeriesAnswer,
  type SeriesData,
} from '../../../serve/console/model/chart-state.ts';
import { lineName } from '../../../serve/console/series/names.ts';
import { assetUrl, serveAssets } from '../../../serve/pages/assets.ts';
import { type Html, html } from '../../../serve/pages/html.ts';
import { contentPolicy } from '../../../serve/pages/protection.ts';

const LAST_DAY = Date.UTC(2026, 5, 30);
export const HOSTILE = '<img src=x onerror=alert(1)>\u202etxet\u0007</script>';

/** What the pages of a case show, for a range of days. */
export type Case = (days: number) => readonly SeriesData[];

export function series(
  chain: string,
  values: SeriesData['values'],
  more: Partial<SeriesData> = {},
): SeriesData {
  return {
    id: `daily-tps.num_blocks@polkadot/${chain}`,
    title: 'Blocks',
    relay_chain: 'polkadot',
    chain,
    parts: [],
    unit: 'count',
    token: null,
    values,
    gaps: [],
    ...more,
  };
}

export const wave = (days: number, height: number, shift = 0): number[] =>
  Array.from({ length: days }, (_, i) =>
    Math.round(height * (1.2 + Math.sin((i + shift) / 9) + (i % 7) / 9)),
  );

export const CASES: Readonly<Record<string, Case>> = {
  chains: (days) => [
    series('polkadot', wave(days, 420_000)),
    series(
      'moonbeam',
      wave(days, 210_000, 5).map((value, i) => (i > 20 && i < 31 ? null : value)),
      {
        gaps: [[21, 30]],
      },
    ),
    series('hydration', wave(days, 90_000, 11)),
  ],
  units: (days) => [
    series('polkadot', wave(days, 420_000)),
    series(
      'polkadot',
      wave(days, 90).map((value) => value / 7),
      { id: 'daily-fees.fees@polkadot/polkadot', title: 'Fees', unit: 'native', token: 'DOT' },
    ),
  ],
  embedded: (days) => [series('polkadot', wave(days, 420_000))],
  none: () => [],
  nulls: (days) => [series('polkadot', Array(days).fill(null))],
  one: (days) => [series('polkadot', Array(days).fill(null).with(-1, 7))],
  negative: (days) => [
    series(
      'polkadot',
      wave(days, 5).map((value) => 4 - value),
      { unit: 'usd' },
    ),
  ],
  huge: (days) => [
    series(
      'polkadot',
      wave(days, 1).map((value) => value * 1e300),
    ),
    series('moonbeam', Array(days).fill(-1e308)),
    series('tiny', Array(days).fill(1e-300)),
  ],
  ratios: (days) => [
    series(
      'polkadot',
      wave(days, 20).map((value) => value / 100),
      { unit: 'ratio' },
    ),
  ],
  hostile: (days) => [
    series('evil', wave(days, 9), { title: HOSTILE }),
    series('polkadot', wave(days, 9, 3)),
  ],
  many: () => Array.from({ length: 10 }, (_, i) => series(`chain-${i}`, wave(3650, 1000 * (i + 1), i))),
};

/** Pages as the console's: a chart section for each case, whose controls hold the whole state in the address. */
export async function chartPages(requests: string[]): Promise<FastifyInstance> {
  const app = Fastify();
  serveAssets(app);
  app.addHook('onRequest', async ({ url }) => {
    if (!url.startsWith('/assets')) requests.push(url);
  });
  app.get<{ Params: { name: string } }>('/chart/:name', (request, reply) => {
    reply.header('content-security-policy', contentPolicy(request)).type('text/html; charset=utf-8');
    return reply.send(page(request.params.name, queryOf(request)).text);
  });
  app.get<{ Params: { name: string } }>('/api/series/:name', (request, reply) =>
    reply.header('x-demo-data', 'true').send(answer(request.params.name, queryOf(request))),
  );
  return app;
}

const queryOf = ({ url }: FastifyRequest) => new URL(url, 'http://here').searchParams;

function answer(name: string, query: URLSearchParams): SeriesAnswer {
  const state = chartStateOf(query);
  const [from, until] = daysOf(state);
  const days = Math.round((until - from) / DAY_MS) + 1;
  const chosen = query.getAll('chain');
  const all = (CASES[name]?.(days) ?? []).filter(
    ({ chain }) => chosen.length === 0 || chosen.includes(chain),
  );
  const periods = all[0]?.values.length ?? 0;
  return { per: 'day', start: isoDay(from), periods, provisional_from: '2026-06-30', series: all };
}

function daysOf({ range }: ChartState): readonly [number, number] {
  if (typeof range === 'object') return [Date.parse(range.from), Date.parse(range.until)];
  const days = range === 'all' ? 3650 : Number.parseInt(range, 10);
  return [LAST_DAY - (days - 1) * DAY_MS, LAST_DAY];
}

function page(name: string, query: URLSearchParams): Html {
  const state = chartStateOf(query);
  const { series: all } = answer(name, query);
  const [from, until] = daysOf(state).map(isoDay) as [string, string];
  const isOne = new Set(all.map(({ title }) => title)).size <= 1;
  const names = all.map((one) => (isOne ? lineName(one) : `${one.title}, ${lineName(one)}`));
  const source = `/api/series/${name}?${query}`;
  return html`<!doctype html><html lang="en"><head><title>${name} ${chartQuery(state).toString()}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetUrl('style.css')}"><link rel="stylesheet" href="${assetUrl('chart.css')}">
<script type="module" src="${assetUrl('chart.js')}"></script></head><body><div class="frame wide"><main><h1>Chart</h1>
<div class="card"><section class="chart" data-chart>${name !== 'embedded' && form(name, state, query.getAll('chain'))}
<figure data-plot data-source="${source}" data-title="Blocks"><svg viewBox="0 0 960 380" role="img" aria-label="from the server"></svg></figure>
<ul class="legend" data-legend>${all.map(({ id }, i) => html`<li class="line-${i}" data-series="${id}"><bdi>${names[i]}</bdi> <b>1</b></li>`)}</ul>
<details data-table><summary>Table</summary><p id="days">${from} ${until}</p></details>
</section><a id="take" href="${source}&start_date=${from}">CSV</a></div></main></div></body></html>`;
}

function form(name: string, state: ChartState, chosen: readonly string[]): Html {
  const own = typeof state.range === 'object' ? state.range : { from: '', until: '' };
  const select = (field: string, values: readonly string[], value: unknown) =>
    html`<label>${field} <select name="${field}">${values.map((one) => html`<option${one === value && html` selected`}>${one}</option>`)}</select></label>`;
  const check = (field: string, value: string, isOn: boolean, look = '') =>
    html`<label class="${look}"><input type="checkbox" name="${field}" value="${value}"${isOn && html` checked`}>${look === '' ? field : value}</label>`;
  const chains = (CASES[name]?.(1) ?? []).map(({ chain }) => chain);
  return html`<form class="controls" data-controls method="get" action="/chart/${name}">
<details class="menu" data-picker><summary>Chains</summary><div class="menu-body"><label data-filter hidden>Search <input type="search"></label>
<fieldset>${chains.map((chain) =>
    check('chain', chain, chosen.includes(chain), 'choice'),
  )}</fieldset></div></details>
${select('range', ['30d', '90d', '180d', '365d', 'all'], state.range)}
<label>from <input type="date" name="from" value="${own.from}"></label><label>until <input type="date" name="until" value="${own.until}"></label>
${select('style', ['lines', 'stacked', 'share'], state.style)}
${check('indexed', '1', state.isIndexed)}${check('log', '1', state.isLogarithmic)}${check('mean', '7', state.isSmoothed)}
<button data-submit>Show</button></form>`;
}
