import type { FastifyInstance } from 'fastify';
import type { ChainFacts } from '../../metrics/freshness.ts';
import { type Html, html } from '../../pages/html.ts';
import { wideTable } from '../../pages/wide-table.ts';
import { moment } from '../lists/cells.ts';
import { formatShort } from '../model/format.ts';
import { chainName, relayName } from '../series/names.ts';
import { type ConsolePages, sendPublicPage } from './console-pages.ts';

/** The list of chains with blocks: range, lag and gaps. */
export function serveChainList(pages: FastifyInstance, sources: ConsolePages): void {
  pages.get('/chains', async (_, reply) => {
    const { freshness, series } = sources;
    await freshness.refresh();
    const body = html`<h1>Chains</h1>
<p class="lead">Every chain whose blocks are stored, how far they reach, and where some are missing.</p>
${chainsTable(freshness.chains, series.now)}`;
    return sendPublicPage(reply, {
      title: 'Chains',
      description: 'Every chain whose blocks are stored, how far they reach, and where some are missing.',
      body,
    });
  });
}

export function chainsTable(chains: readonly ChainFacts[], now: number): Html {
  if (chains.length === 0) {
    return html`<p class="empty">No chain has blocks yet. Load some with <code>chain-metrics ingest PATH…</code>, or let the server follow a node: <code>chain-metrics start --node wss://…</code></p>`;
  }
  const rows = [...chains].sort(
    (a, b) => relayOrder(a) - relayOrder(b) || b.newest - a.newest || a.chain.localeCompare(b.chain),
  );
  return wideTable(
    'Table of chains',
    html`<table><thead><tr><th scope="col">Chain</th><th scope="col">Relay chain</th><th scope="col">From</th><th scope="col">Newest block, UTC</th><th scope="col" class="number">Behind</th><th scope="col">Blocks</th></tr></thead>
<tbody>${rows.map(
      ({ relay_chain, chain, days, newest, gaps }) =>
        html`<tr><th scope="row"><a href="/chains/${chain}">${chainName(`${relay_chain}/${chain}`)}</a></th><td>${relayName(relay_chain)}</td><td>${days[0]}</td>
<td>${moment(new Date(newest).toISOString())}</td><td class="number">${behind(newest, now)}</td><td>${gaps.length === 0 ? html`<span class="tag good">complete</span>` : html`<a class="tag warn" href="/chains/${chain}#gaps">missing in ${gaps.length} ${gaps.length === 1 ? 'place' : 'places'}</a>`}</td></tr>`,
    )}</tbody></table>`,
    'records',
  );
}

const RELAYS = ['polkadot', 'kusama', 'solo', 'westend'];
const relayOrder = ({ relay_chain }: ChainFacts): number => RELAYS.indexOf(relay_chain);

/** The age of a block; never negative, even if the clock is behind. */
export const behind = (newest: number, now: number): string =>
  formatShort(Math.max(0, (now - newest) / 1000), 'seconds');
