import type { FastifyReply } from 'fastify';
import { html } from '../../pages/html.ts';
import { cell, inWords } from './cells.ts';
import { coretime, revenue, totalBurn } from './coretime.ts';
import type { ListVisit } from './frame.ts';
import { sendTable } from './table-page.ts';

/** The revenue page: burned amounts by relay chain, above the table of accounts. */
export async function sendRevenue(visit: ListVisit): Promise<FastifyReply> {
  const { registry } = visit;
  const { rows } = await visit.listReader.read(totalBurn, {}, visit.reader);
  const shown = (row: (typeof rows)[number], column: string) =>
    cell({ metric: totalBurn.metric, view: { column }, row, registry });
  const above =
    rows.length > 0 &&
    html`<ul class="figures">${rows.map(
      (
        row,
      ) => html`<li><span>Burned on ${inWords(String(row.relay_chain))}</span><strong>${shown(row, 'total_burn')}</strong>
<span>${shown(row, 'sales')} sales, ${shown(row, 'purchases')} purchases, ${shown(row, 'renewals')} renewals</span></li>`,
    )}</ul>`;
  return sendTable(visit, coretime, revenue, { above: above || null });
}
