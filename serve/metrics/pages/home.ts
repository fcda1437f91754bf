import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { SERVED_RELAYS } from '../../../aggregate/metric.ts';
import { isoDayOf } from '../../../aggregate/metrics/shared/facts.ts';
import type { SystemStatus } from '../../../aggregate/status/status.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { LimitCounts } from '../../http/limit-counts.ts';
import { limitAnonymous } from '../../http/rate-limit.ts';
import type { Readers } from '../../http/readers.ts';
import type { HttpSettings } from '../../http/settings.ts';
import type { Accounts } from '../../identity/accounts/accounts.ts';
import { type Html, html } from '../../pages/html.ts';
import { sendPage, servePages } from '../../pages/page.ts';
import { chart, LINES_MAX } from './chart.ts';
import { type Drawable, drawables, seriesOf } from './series.ts';

const RANGES = [30, 90, 365, 3650] as const;

/** The selected chart. Invalid parameters fall back to their defaults, since old links may name removed columns. */
const chosenOf = z.object({
  show: z.enum(drawables.map(({ id }) => id)).catch('daily-tps.num_transactions_combined'),
  relay_chain: z.enum(SERVED_RELAYS).catch('polkadot'),
  days: z.coerce
    .number()
    .refine((days) => (RANGES as readonly number[]).includes(days))
    .catch(365),
});
type Chosen = z.output<typeof chosenOf>;

/** What the home page reads. */
export interface HomeSources {
  readonly readers: Readers;
  readonly status: () => Promise<SystemStatus>;
  readonly clock: Clock;
  readonly keyValue: LimitCounts;
  readonly settings: HttpSettings;
}

/** The home page: a chart of a metric, and the chains that have blocks. */
export async function serveHome(
  app: FastifyInstance,
  { readers, status, clock, keyValue, settings }: HomeSources,
  accounts: Accounts,
): Promise<void> {
  await servePages(app, accounts, async (pages) => {
    await limitAnonymous(pages, { keyValue, clock, settings });
    pages.get('/', async (request, reply) => {
      const chosen = chosenOf.parse(request.query);
      const drawable = drawables.find(({ id }) => id === chosen.show) as Drawable;
      const reader = await readers.open(request, reply);
      const wanted = { ...chosen, today: isoDayOf(clock.now()) };
      const [series, now] = await Promise.all([seriesOf(reader.store(), drawable, wanted), status()]);
      const { metric, endpoint, column, meaning } = drawable;
      const data = `${endpoint.path}?${new URLSearchParams({ relay_chain: chosen.relay_chain, format: 'csv' })}`;
      const left = series.slice(LINES_MAX).map(({ name }) => name);
      const body = html`<h1>Exact metrics of Polkadot, Kusama and their chains</h1>
<p class="lead">Computed from raw blocks, served as JSON, CSV, Parquet and Arrow.
<a href="/docs">Every path, to try</a> · <a href="/profile/keys">get an API key</a> · <a href="/api/metrics">definitions</a></p>
<section class="card" aria-labelledby="chart-title">
${picker(chosen)}
<h2 id="chart-title">${metric.record}: <code>${column}</code></h2>
<p class="hint">${meaning}</p>
${chart(series, `${column} of ${metric.record} by day, chains of ${chosen.relay_chain}`)}
${left.length > 0 ? html`<p class="hint">Not drawn: ${left.join(', ')}.</p>` : null}
<p class="hint">The same rows: <a href="${data}"><code>${data}</code></a></p>
</section>
${chainsCard(now)}`;
      return sendPage(accounts, request, reply, { title: 'Overview', body, layout: 'wide' });
    });
  });
}

function picker(chosen: Chosen): Html {
  const groups = Map.groupBy(drawables, ({ metric }) => metric.record);
  const option = (value: string | number, label: string, isChosen: boolean) =>
    html`<option value="${value}"${isChosen ? html` selected` : null}>${label}</option>`;
  return html`<form class="picker" method="get" action="/">
<label>Metric <select name="show">${[...groups].map(
    ([record, columns]) =>
      html`<optgroup label="${record}">${columns.map(({ id, column }) => option(id, column, id === chosen.show))}</optgroup>`,
  )}</select></label>
<label>Relay chain <select name="relay_chain">${SERVED_RELAYS.map((relay) => option(relay, relay, relay === chosen.relay_chain))}</select></label>
<label>Range <select name="days">${RANGES.map((days) => option(days, days > 3000 ? 'everything' : `${days} days`, days === chosen.days))}</select></label>
<button>Show</button>
</form>`;
}

function chainsCard({ chains, computing }: SystemStatus): Html {
  if (chains.length === 0) {
    return html`<section class="card"><h2>No chain yet</h2>
<p>Load blocks with <code>chain-metrics ingest PATH…</code>, or let the server follow a Sidecar: <code>FOLLOW=polkadot=http://…</code></p></section>`;
  }
  const waiting = computing.touched_days_waiting;
  return html`<section class="card" aria-labelledby="chains-title"><h2 id="chains-title">Chains</h2>
<p class="hint">${waiting > 0 ? `${waiting} days are being computed.` : 'Everything that is stored is computed.'} More in <a href="/api/status">/api/status</a> and <a href="/api/coverage">/api/coverage</a>.</p>
<div class="table"><table><thead><tr><th>Relay chain</th><th>Chain</th><th class="number">Blocks</th><th class="number">Highest</th><th class="number">Missing</th><th>Newest block</th></tr></thead>
<tbody>${chains.map(
    (
      one,
    ) => html`<tr><td>${one.relay_chain}</td><td>${one.chain}</td><td class="number">${whole(one.blocks)}</td>
<td class="number">${whole(one.highest_block)}</td><td class="number">${whole(one.missing_blocks.total)}</td><td>${one.newest_block_at?.slice(0, 16).replace('T', ' ') ?? '–'}</td></tr>`,
  )}</tbody></table></div></section>`;
}

const whole = (value: number) => value.toLocaleString('en-US');
