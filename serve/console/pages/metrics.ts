import type { FastifyInstance } from 'fastify';
import { displayOf } from '../../../aggregate/columns.ts';
import { METRIC_DOMAINS } from '../../../aggregate/metric.ts';
import { html } from '../../pages/html.ts';
import { relayName } from '../series/names.ts';
import { queryOf, sendPublicPage } from './console-pages.ts';
import { type ShownMetric, shownMetrics } from './shown-metrics.ts';

const WORDS_CHARS_MAX = 100;

/** The list of all metrics, by domain; `q` selects the metrics that contain all of its words. */
export function serveMetricList(pages: FastifyInstance): void {
  pages.get('/charts', async (request, reply) => {
    const words = (queryOf(request).get('q') ?? '').slice(0, WORDS_CHARS_MAX).trim();
    const found = shownMetrics.filter((one) => isFound(one, words));
    const groups = Map.groupBy(found, ({ metric }) => metric.domain);
    const body = html`<h1>Metrics</h1>
<p class="lead">${shownMetrics.length} metrics, each exact and with its definition: computed from raw blocks, served as JSON, CSV, Parquet and Arrow.</p>
<form class="search" method="get" action="/charts" role="search"><label>Search <input type="search" name="q" value="${words}" maxlength="${WORDS_CHARS_MAX}" placeholder="fees, staking, coretime…"></label><button>Search</button></form>
${found.length === 0 && html`<p class="empty">No metric matches all of these words. <a href="/charts">Show all</a></p>`}
${[...groups].map(
  ([
    domain,
    some,
  ]) => html`<section aria-labelledby="${domain}"><h2 id="${domain}">${METRIC_DOMAINS[domain]}</h2>
<ul class="cards">${some.map(
    ({ id, title, endpoint }) => html`<li class="card"><h3><a href="/charts/${id}">${title}</a></h3>
<p>${endpoint.summary}</p><p class="hint">${endpoint.relays.map(relayName).join(', ')}</p></li>`,
  )}</ul></section>`,
)}`;
    return sendPublicPage(reply, {
      title: 'Metrics',
      description: 'Every metric of Polkadot, Kusama and their chains, with its definition.',
      body,
    });
  });
}

/** Whether the title, definition or columns of a metric contain all words. */
export function isFound({ title, metric, endpoint, id }: ShownMetric, words: string): boolean {
  const columns = Object.entries(metric.columns).map(
    ([name, column]) => `${name} ${displayOf(column).title}`,
  );
  const text = [title, metric.doc, endpoint.summary, id, METRIC_DOMAINS[metric.domain], ...columns]
    .join(' ')
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
