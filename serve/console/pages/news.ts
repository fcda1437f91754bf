import type { Registry } from '../../../ingest/chains/registry.ts';
import type { Reader } from '../../http/readers.ts';
import { type Html, html } from '../../pages/html.ts';
import { contractList } from '../records/contracts.ts';
import { purchases } from '../records/coretime.ts';
import { referenda } from '../records/governance.ts';
import type { RecordPage } from '../records/record-page.ts';
import type { RecordReader } from '../records/record-reader.ts';
import { recordTable } from '../records/table-parts.ts';

const ROWS = 5;

/** Lists whose newest rows the first page shows, with the columns that say most. */
const LISTS: readonly { readonly page: RecordPage; readonly columns: readonly string[] }[] = [
  { page: referenda, columns: ['referendum_index', 'outcome', 'origin'] },
  { page: purchases, columns: ['timestamp', 'purchase_type', 'price'] },
  { page: contractList, columns: ['contract_address', 'block_timestamp'] },
];

/** The newest referenda, purchases of coretime and contracts; lists without a row are left out. */
export async function news(
  { records, registry }: { readonly records: RecordReader; readonly registry: Registry },
  reader: Reader,
): Promise<Html> {
  const lists = await Promise.all(
    LISTS.map(async ({ page, columns }) => ({
      page,
      columns: page.columns.filter(({ column }) => columns.includes(column)),
      rows: (await records.read(page.source, { order: page.order, limit: ROWS }, reader)).rows,
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
${recordTable({ source: page.source, columns, rows, registry, caption: page.title, empty: page.empty })}</section>`,
    )}</div>`;
}
