import type { FastifyReply } from 'fastify';
import type { Registry } from '../../../../ingest/chains/registry.ts';
import { DOMAINS } from '../../../../ingest/decode/domain.ts';
import { type Html, html } from '../../../pages/html.ts';
import { cell, nameOfChain } from '../cells.ts';
import { type FilterInput, readFilters } from '../filter-input.ts';
import type { ListVisit } from '../frame.ts';
import { type ColumnView, type ListPage, type ListSection, sourceOf } from '../list-page.ts';
import { sendTable } from '../table-page.ts';
import { placeOf } from './extrinsic-feeds.ts';

const served = sourceOf('/api/explorer/recent-extrinsics');

export const extrinsics: ListPage = {
  path: '/explorer',
  tab: 'Extrinsics',
  title: 'Newest extrinsics',
  lead: 'Extrinsics of the 24 hours up to the newest block of a chain, newest first. A batch is listed under the domain that its calls share.',
  // The chain implies the relay chain.
  source: { ...served, filters: served.filters.filter(({ name }) => name !== 'relay_chain') },
  filters: [
    { name: 'chain', label: 'Chain' },
    { name: 'address', label: 'Signer', hint: 'SS58 with any prefix, or H160', isLong: true },
    { name: 'exclude_domains', label: 'Hide', choices: DOMAINS },
  ],
  columns: [
    { column: 'timestamp', title: 'Time' },
    { column: 'block_number' },
    { column: 'extrinsic_index' },
    { column: 'domain', as: 'state' },
    { column: 'summary' },
    {
      column: 'signer',
      as: 'account',
      to: ({ chain, signer }) =>
        typeof signer === 'string'
          ? `/explorer?${new URLSearchParams({ chain: String(chain), address: signer })}`
          : null,
    },
    { column: 'success', as: 'state' },
    { column: 'extrinsic_hash', as: 'hash' },
  ],
  empty:
    'No extrinsic of this chain is stored yet. Choose another chain, or come back when its blocks are loaded.',
};

const explorer: ListSection = { name: 'Explorer', pages: [extrinsics] };
const stats = { ...extrinsics, source: sourceOf('/api/explorer/network-stats') };

/** The selected chain, or else the default of the API. */
export function chainOf({ typed, faults }: FilterInput, registry: Registry): string {
  const named = faults.chain === undefined ? registry.find(typed.chain ?? '')?.name : undefined;
  return named ?? extrinsics.source.endpoint.defaults?.chain ?? '';
}

/** The newest extrinsics of a chain; `explorer.js` keeps the page up to date. */
export async function sendExplorer(visit: ListVisit): Promise<FastifyReply> {
  const { registry, request, freshness } = visit;
  const given = readFilters(extrinsics.source, extrinsics.filters ?? [], request.query, registry);
  const chain = chainOf(given, registry);
  await freshness.refresh();
  // The select shows its first option, so the chain of the page comes first.
  const stored = [...new Set([chain, ...freshness.chains.map((one) => one.chain).sort()])];
  const filters = extrinsics.filters?.map((field) =>
    field.name === 'chain' ? { ...field, options: stored } : field,
  );
  const isFirst = (request.query as { readonly cursor?: unknown }).cursor === undefined;
  const [row] = (await visit.listReader.read(stats.source, { values: { chain }, limit: 1 }, visit.reader))
    .rows;
  const tiles =
    row &&
    html`<ul class="figures">${FIGURES.map(
      (view) =>
        html`<li><span>${view.title}</span><strong>${cell({ metric: stats.source.metric, view, row, registry })}</strong></li>`,
    )}</ul>`;
  const newest = await visit.listReader.read(
    extrinsics.source,
    { values: { chain }, limit: 1 },
    visit.reader,
  );
  const [first] = newest.rows;
  const query = new URLSearchParams({
    ...given.typed,
    chain,
    ...(first && { after: placeOf(first).join('-') }),
  });
  const follows = isFirst && first !== undefined && Object.keys(given.faults).length === 0;
  const live: Html | null = follows
    ? html`<p class="follows" data-follow="/explorer/live?${String(query)}"><span role="status">Not live.</span> <a href="${request.url}">Reload</a> <button type="button" class="second small" hidden>Pause</button></p>`
    : null;
  return sendTable(
    visit,
    explorer,
    {
      ...extrinsics,
      filters: filters ?? [],
      title: `Newest extrinsics of ${nameOfChain(chain, registry)}`,
    },
    { above: tiles ?? null, beneathForm: live, script: 'explorer.js' },
  );
}

const FIGURES: readonly (ColumnView & { readonly title: string })[] = [
  { column: 'tx_24h', title: 'Transactions in 24 hours' },
  { column: 'active_accounts_24h', title: 'Active accounts' },
  { column: 'success_rate', title: 'Succeeded' },
  { column: 'latest_block', title: 'Newest block' },
  { column: 'as_of', title: 'Its time (UTC)' },
];
