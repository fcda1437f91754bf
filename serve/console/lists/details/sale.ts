import type { FastifyReply } from 'fastify';
import { type Html, html } from '../../../pages/html.ts';
import { inWords, state } from '../cells.ts';
import { coretime, purchases, renewals, sales } from '../coretime.ts';
import type { ListVisit } from '../frame.ts';
import { sourceOf } from '../list-page.ts';
import { facts } from '../table-parts.ts';
import { indexOf, notFound, related, relayOf, rowOf, sendDetail } from './detail.ts';

const totals = { ...sales, source: sourceOf('/api/coretime-sale-metrics') };

/** Sends the page of a sale: its prices and result, and the purchases and renewals of its cycle. */
export async function sendSale(
  visit: ListVisit,
  address: { readonly relay: string; readonly begin: string },
): Promise<FastifyReply> {
  const { registry } = visit;
  const relay = relayOf(address.relay, sales);
  const begin = indexOf(address.begin);
  const values = { region_begin: String(begin) };
  const wanted = { values, scope: { relay_chain: relay } };
  const [row, total] = await Promise.all([rowOf(visit, sales, wanted), rowOf(visit, totals, wanted)]);
  if (row === null)
    throw notFound(`No sale of ${inWords(relay)} that begins with timeslice ${begin} is stored.`);
  const network = inWords(relay);
  const paid = async (title: string, page: typeof purchases, more: Record<string, string>): Promise<Html> =>
    related(visit, {
      title,
      page,
      wanted: { ...wanted, values: { ...values, ...more } },
      without: ['region_begin', 'relay_chain', 'purchase_type'],
      empty: 'None yet.',
      all: `${page.path}?${new URLSearchParams({ relay_chain: relay, ...values, ...more })}`,
    });
  return sendDetail(visit, {
    section: coretime,
    list: sales,
    title: `Sale ${row.sale_cycle} of ${network}`,
    description: `Prices, purchases and renewals of the sale of coretime of ${network} that begins with timeslice ${begin}.`,
    states: total && state(total.sold_out === true ? 'Sold out' : 'Cores left'),
    body: html`<div class="pair"><section class="card"><h2>Prices and capacity</h2>${facts({ source: sales.source, registry, columns: PRICES }, row)}</section>
<section class="card"><h2>Purchases and renewals</h2>${total && facts({ source: totals.source, registry, columns: TOTALS }, total)}</section></div>
${await paid('Purchases', purchases, { purchase_type: 'bulk' })}
${await paid('Renewals', renewals, {})}`,
  });
}

const PRICES = [
  { column: 'sale_init_at' },
  { column: 'start_price' },
  { column: 'end_price' },
  { column: 'sellout_price' },
  { column: 'cores_offered' },
  { column: 'cores_sold' },
  { column: 'ideal_cores_sold' },
  { column: 'region_begin' },
  { column: 'region_begin_at' },
  { column: 'region_end' },
  { column: 'region_end_at' },
  { column: 'sale_start' },
  { column: 'leadin_length' },
  { column: 'sale_start_unit', as: 'state' },
] as const;

const TOTALS = [
  { column: 'bulk_purchases' },
  { column: 'renewals' },
  { column: 'unique_buyers' },
  { column: 'bulk_spend' },
  { column: 'renewal_spend' },
  { column: 'total_burn' },
  { column: 'min_purchase_price' },
  { column: 'avg_purchase_price' },
  { column: 'max_purchase_price' },
] as const;
