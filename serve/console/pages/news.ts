import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Reader } from '../../http/readers.ts';
import { type Html, html } from '../../pages/html.ts';
import { contractList } from '../lists/contracts.ts';
import { purchases } from '../lists/coretime.ts';
import { referenda } from '../lists/governance.ts';
import type { ListPage } from '../lists/list-page.ts';
import type { ListReader } from '../lists/list-reader.ts';
import { listTable } from '../lists/table-parts.ts';

const ROWS = 5;

/** Lists on the overview page, with their most important columns. */
const LISTS: readonly { readonly page: ListPage; readonly columns: readonly string[] }[] = [
  { page: referenda, columns: ['referendum_index', 'outcome', 'origin'] },
  { page: purchases, columns: ['timestamp', 'purchase_type', 'price'] },
  { page: contractList, columns: ['contract_address', 'block_timestamp'] },
];

/** The newest referenda, purchases of coretime and contracts. Omits empty lists. */
export async function news(
  { listReader, registry }: { readonly listReader: ListReader; readonly registry: Registry },
  reader: Reader,
): Promise<Html> {
  const lists = await Promise.all(
    LISTS.map(async ({ page, columns }) => ({
      page,
      columns: page.columns.filter(({ column }) => columns.includes(column)),
      rows: (await listReader.read(page.source, { order: page.order, limit: ROWS }, reader)).rows,
    })),
  );
  return html`<div class="news">${lists
    .filter(({ rows }) => rows.length > 0)
    .map(
      ({
        page,
        columns,
        rows,
      }) => html`<section class="card"><h2><a href="${page.path}">${page.title}</a></h2>
${listTable({ source: page.source, columns, rows, registry, caption: page.title, empty: page.empty })}</section>`,
    )}</div>`;
}
