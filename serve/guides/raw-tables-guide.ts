import { type RawTable, rawData } from '../../ingest/raw/raw-data.ts';
import { parquetOf } from '../raw-export/partition.ts';

/** Every column of the raw tables with its types and meaning, from what reads them. */
export function rawTablesGuide(): string {
  return `# The raw tables

Every column of the raw tables that queries and exports read, with its type and meaning. This page is made from what reads them; [Raw data in your own tools](raw-data.md) says how to get at them.

Times are of UTC, amounts are whole numbers of the smallest unit of their token, accounts are keys and not addresses, since an address has another text on every chain. Unknown is null, never 0. A number of more than 64 bits is decimal text in Parquet, so that it is exact in every tool.

${[...rawData.values()].map(section).join('\n\n')}
`;
}

function section({ name, doc, key, moment, columns }: RawTable): string {
  const rows = Object.entries(columns).map(([column, declared]) => {
    const parquet = column === 'chain' ? 'in the path' : parquetOf(declared).type;
    return `| \`${column}\` | \`${declared.type}\` | ${parquet} | ${declared.doc.replaceAll('|', '\\|')} |`;
  });
  return `## ${name}

${doc} A row is told by \`${key.join('`, `')}\`; its day is that of \`${moment}\`.

| column | in \`chain-metrics sql\` | in Parquet | meaning |
|---|---|---|---|
${rows.join('\n')}`;
}
