import type { FastifyReply } from 'fastify';
import { type Html, html } from '../../../pages/html.ts';
import { inWords, state } from '../cells.ts';
import { coretime, regionEvents, regionPath, regions, salePath } from '../coretime.ts';
import type { ListVisit } from '../frame.ts';
import { type ListPage, type ListRow, sourceOf } from '../list-page.ts';
import { facts } from '../table-parts.ts';
import { indexOf, notFound, related, relayOf, rowOf, sendDetail } from './detail.ts';

const history: ListPage = { ...regionEvents, source: sourceOf('/api/coretime-region-history') };

export interface RegionAddress {
  readonly relay: string;
  readonly begin: string;
  readonly core: string;
  readonly mask: string;
}

/** A region with its history. */
export async function sendRegion(visit: ListVisit, address: RegionAddress): Promise<FastifyReply> {
  const relay = relayOf(address.relay, regions);
  const [begin, core, mask] = [indexOf(address.begin), indexOf(address.core), address.mask];
  if (!/^0x[0-9a-f]{20}$/.test(mask)) throw notFound();
  const values = { region_begin: String(begin), r_core: String(core), r_mask: mask };
  const wanted = { values, scope: { relay_chain: relay } };
  const row = await rowOf(visit, regions, wanted);
  if (row === null) throw notFound(`No such region of ${inWords(relay)} is stored.`);
  const network = inWords(relay);
  return sendDetail(visit, {
    section: coretime,
    list: regions,
    title: `Region of core ${core} of ${network}`,
    description: `Owner, task and history of the region of core ${core} of ${network} that begins with timeslice ${begin}.`,
    states: state(String(row.status)),
    body: html`<section class="card">${facts({ source: regions.source, registry: visit.registry, columns: FACTS }, row)}
${origin(row)}</section>
${await related(visit, {
  title: 'History',
  page: history,
  wanted: { ...wanted, order: 'desc' },
  without: ['relay_chain'],
  empty: 'Nothing has happened to it since it was bought.',
  all: null,
})}`,
  });
}

/** The origin of a region: another region, or a sale. */
function origin(row: ListRow): Html {
  const parent = row.parent_region as ListRow | null;
  const sale = html`<a href="${salePath(row)}">the sale of this period</a>`;
  if (parent === null) return html`<p class="hint">See ${sale}.</p>`;
  const path = regionPath({ ...parent, relay_chain: row.relay_chain });
  return html`<p class="hint">It was split from <a href="${path}">a region of core ${String(parent.r_core)}</a>. See ${sale}.</p>`;
}

const FACTS = [
  { column: 'owner', as: 'account' },
  { column: 'assigned_task' },
  { column: 'paid' },
  { column: 'region_begin' },
  { column: 'region_end' },
  { column: 'duration' },
  { column: 'r_mask', as: 'hash' },
  { column: 'mask_bits' },
  { column: 'created_block' },
  { column: 'updated_at' },
  { column: 'chain' },
] as const;
