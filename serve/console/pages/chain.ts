import type { FastifyInstance } from 'fastify';
import { toMissing } from '../../../aggregate/status/heights.ts';
import { readDaysWithoutPrice } from '../../../aggregate/status/status.ts';
import { sql } from '../../../infra/sql.ts';
import { HttpError } from '../../http/errors.ts';
import { type Html, html } from '../../pages/html.ts';
import { type CoveredDays, coverage, gapText } from '../charts/coverage.ts';
import { lastOf } from '../charts/section.ts';
import { tileFigures, tilesAsOf } from '../charts/tile.ts';
import { moment } from '../lists/cells.ts';
import type { SeriesAnswer } from '../model/chart-state.ts';
import { addDays } from '../model/periods.ts';
import { chartColumnOf, chartMetrics, fullTitle, type Line } from '../series/chart-metrics.ts';
import { chainName, relayName } from '../series/names.ts';
import { behind } from './chains.ts';
import { type ConsolePages, sendPublicPage, storeOf } from './console-pages.ts';

const DAYS = 90;
const GAPS_SHOWN = 50;

/** Serves the page of a chain. */
export function serveChain(pages: FastifyInstance, sources: ConsolePages): void {
  pages.get<{ Params: { chain: string } }>('/chains/:chain', async (request, reply) => {
    const { registry, series, freshness } = sources;
    const known = registry.find(request.params.chain);
    if (known === undefined)
      throw new HttpError('not_found', `No chain is called ${request.params.chain.slice(0, 100)}.`);
    if (known.name !== request.params.chain) return reply.redirect(`/chains/${known.name}`, 301);
    const { name: chain, relay_chain } = known;
    const id = `${relay_chain}/${chain}`;
    const store = await storeOf(sources, request, reply);
    await freshness.refresh();
    const facts = freshness.chains.find((one) => one.chain === chain && one.relay_chain === relay_chain);
    const lines = chartMetrics
      .filter(({ endpoint }) => endpoint.relays.some((relay) => relay === relay_chain))
      .filter(({ parts }) => parts.length === 0)
      .map(
        (metric): Line => ({ metric, column: chartColumnOf(metric, null), relay_chain, chain, parts: [] }),
      );
    const [daily, monthly] = [
      lines.filter(({ metric }) => !metric.isMonthly),
      lines.filter(({ metric }) => metric.isMonthly),
    ];
    const until = addDays(series.today, -1);
    const [days, months, unpriced] = await Promise.all([
      series.read(store, daily, 'day', { from: addDays(until, 1 - DAYS), until }),
      series.read(store, monthly, 'month', { from: addDays(until, -400), until }),
      readDaysWithoutPrice(store, sql`relay_chain = ${relay_chain} AND chain = ${chain}`),
    ]);
    const body = html`<p class="trail"><a href="/chains">Chains</a> › ${relayName(relay_chain)}</p>
<h1>${chainName(id)}</h1>
<dl class="chain-facts"><div><dt>Token</dt><dd>${known.token} (${known.decimals} decimals)</dd></div>${known.para_id !== null && html`<div><dt>Para id</dt><dd>${known.para_id}</dd></div>`}<div><dt>Role</dt><dd>${known.role}</dd></div>${facts && html`<div><dt>Newest block</dt><dd>${moment(new Date(facts.newest).toISOString())} UTC</dd></div><div><dt>Behind</dt><dd>${behind(facts.newest, series.now)}</dd></div><div><dt>Stored since</dt><dd>${facts.days[0]}</dd></div>`}</dl>
${facts === undefined ? html`<p class="empty">No block of ${chainName(id)} is stored yet.</p>` : html`${cards(daily, days, id)}${cards(monthly, months, id)}${storedDays({ ...facts, unpriced: { token: known.token, ...toMissing(unpriced[0]) } }, series.today)}`}`;
    return sendPublicPage(reply, {
      title: chainName(id),
      description: `Every metric of ${chainName(id)}: activity, fees, accounts, and how complete the data are.`,
      body,
    });
  });
}

function cards(lines: readonly Line[], answer: SeriesAnswer, id: string): Html {
  const some = answer.series
    .map((one, i) => ({ one, line: lines[i] as Line }))
    .filter(({ one }) => lastOf(one.values) !== null);
  if (some.length === 0) {
    return html`${answer.per === 'day' && html`<p class="empty">No metric of ${chainName(id)} has values in the last ${DAYS} days. <a href="/charts">Open a metric</a> and choose all days to see older values.</p>`}`;
  }
  return html`<h2>${answer.per === 'day' ? `The last ${DAYS} days` : 'By month'}</h2><p class="hint as-of">${tilesAsOf(answer)}</p><ul class="tiles">${some.map(
    ({
      one,
      line,
    }) => html`<li><a class="tile" href="/charts/${line.metric.id}?${String(new URLSearchParams({ chain: id }))}">
${tileFigures(fullTitle(line), one, answer)}</a></li>`,
  )}</ul>`;
}

function storedDays(stored: CoveredDays, today: string): Html {
  const { gaps, relay_chain, chain } = stored;
  return html`<section class="card" aria-labelledby="gaps"><h2 id="gaps">Which days are stored</h2>
${coverage([stored], today, false)}
${
  gaps.length === 0
    ? html`<p class="hint">No block is missing between the first and the newest.</p>`
    : html`<details class="numbers"><summary>Where blocks are missing</summary><ul class="places">${gaps.slice(0, GAPS_SHOWN).map((gap) => html`<li>${gapText(gap)}</li>`)}</ul>
${gaps.length > GAPS_SHOWN && html`<p class="hint">${GAPS_SHOWN} of ${gaps.length}.</p>`}</details>`
}
<p class="hint">Heights and days for programs: <a href="/api/coverage?relay_chain=${relay_chain}&chain=${chain}"><code>/api/coverage</code></a></p></section>`;
}
