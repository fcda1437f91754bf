import type { FastifyInstance } from 'fastify';
import { HttpError } from '../../http/errors.ts';
import { html } from '../../pages/html.ts';
import { chartSection } from '../charts/section.ts';
import { namedIn, select } from '../charts/selection.ts';
import { chartStateOf, hiddenIn } from '../model/chart-state.ts';
import { chartColumnOf, chartMetric } from '../series/chart-metrics.ts';
import { type ConsolePages, queryOf, searchOf, sendPublicPage, storeOf } from './console-pages.ts';

/** A chart for an `<iframe>` on other sites. No other pages may be framed. */
export function serveEmbed(pages: FastifyInstance, sources: ConsolePages): void {
  pages.get<{ Params: { metric: string } }>('/embed/:metric', async (request, reply) => {
    const { series, origin } = sources;
    const metric = chartMetric(request.params.metric);
    if (metric === undefined)
      throw new HttpError('not_found', `There is no chart of ${request.params.metric.slice(0, 100)}.`);
    const query = queryOf(request);
    const column = chartColumnOf(metric, query.get('column'));
    const store = await storeOf(sources, request, reply);
    const state = chartStateOf(query);
    const { lines, days, answer, unknown, ...chosen } = await select(series, store, {
      metric,
      column,
      state,
      named: namedIn(query),
    });
    const { title } = chosen.column.shown;
    const page = `${origin()}/charts/${metric.id}${searchOf(request)}`;
    const body = html`<h1><a href="${page}" target="_blank" rel="noopener">${title}</a></h1>
${chartSection({ title, controls: null, lines, days, answer, state, hidden: hiddenIn(query), unknown, empty: html`No value in these days.`, hasTable: false })}
<p class="hint">Source: <a href="${page}" target="_blank" rel="noopener">Chain Metrics</a></p>`;
    return sendPublicPage(reply, { title, body, script: 'chart.js', layout: 'embedded' });
  });
}
