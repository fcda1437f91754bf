import { type RawTable, rawData } from '../../ingest/raw/raw-data.ts';
import { parquetOf } from '../raw-export/partition.ts';

/** Every column of the raw tables with its types and meaning, from the declarations of their readers. */
export function rawTablesGuide(): string {
  return `# The raw tables

This page lists every column of the raw tables with its type and meaning. It is generated from the code. [Raw data in your own tools](raw-data.md) explains how to query and export the tables.

Times are in UTC. Amounts are whole numbers of the smallest unit of their token. Accounts are public keys, because addresses differ on every chain. Unknown values are null, never 0. Numbers of more than 64 bits are decimal strings in Parquet, so they are exact in every tool.

${[...rawData.values()].map(section).join('\n\n')}
`;
}

function section({ name, doc, key, moment, columns }: RawTable): string {
  const rows = Object.entries(columns).map(([column, declared]) => {
    const parquet = column === 'chain' ? 'in the path' : parquetOf(declared).type;
    return `| \`${column}\` | \`${declared.type}\` | ${parquet} | ${declared.doc.replaceAll('|', '\\|')} |`;
  });
  return `## ${name}

${doc} The key of a row is \`${key.join('`, `')}\`, and its day is that of \`${moment}\`.

| column | in \`chain-metrics sql\` | in Parquet | meaning |
|---|---|---|---|
${rows.join('\n')}`;
}
