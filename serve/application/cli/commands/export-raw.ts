import { Argument } from 'commander';
import { rawData } from '../../../../ingest/raw/raw-data.ts';
import { parseDay, refuseReversed } from '../arguments.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT } from '../failure.ts';
import { formatBytes, formatDuration, formatNumber, plural } from '../format.ts';
import type { RawExportReport } from '../raw-exporter.ts';

interface ExportRawOptions {
  readonly to: string;
  readonly chain: readonly string[];
  readonly from?: string;
  readonly until?: string;
  readonly json?: boolean;
}

const collect = (value: string, before: readonly string[]) => [...before, value];

export const exportRaw = command<[tables: string[]], ExportRawOptions>({
  name: 'export-raw',
  description: 'write raw tables as Parquet files by chain and day, and keep them up to date',
  args: (command) =>
    jsonOption(
      command
        .addArgument(new Argument('[table...]', 'raw tables; default: all').choices([...rawData.keys()]))
        .requiredOption('--to <place>', 'a directory, or s3://bucket/prefix')
        .option('--chain <name>', 'only that chain, by its name or an alias; may be repeated', collect, [])
        .option('--from <date>', 'first day, YYYY-MM-DD', parseDay)
        .option('--until <date>', 'last day, inclusive, YYYY-MM-DD', parseDay),
    ),
  help: `Writes one file per table, chain and UTC day, with canonical rows: extrinsics/chain=polkadot/date=2024-03-20/part-0.parquet.
A file appears only when it is complete. The next run writes missing files, and rewrites days that changed: late blocks,
replaced blocks, days that had not ended. _manifest/ lists the files with their checksums. The guide raw-tables explains the
columns.

A bucket can be in any S3-compatible store. Credentials, region and address come from the standard AWS variables
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL and AWS_PROFILE, or from the IAM role of the machine.

Examples:
  chain-metrics export-raw --to /srv/raw
  chain-metrics export-raw extrinsics events --chain polkadot --chain kusama --from 2024-01-01 --to s3://lake/raw`,
  run: async ({ args: [named], options: { to, chain, json = false, ...days }, config }) => {
    refuseReversed(days);
    const { openTarget } = await import('../../../raw-export/open-target.ts');
    const { exportRaw: write } = await import('../raw-exporter.ts');
    const target = await openTarget(to);
    const display = openDisplay(process.stderr, { silent: json });
    const started = performance.now();
    try {
      return await withOperations(config, async (client) => {
        const report = await write({
          ...{ client, target, chains: chain, days },
          tables: named.length === 0 ? [...rawData.keys()] : [...new Set(named)],
          onProgress: ({ chain, date, done, total, bytes: written }) =>
            display.show('exporting', {
              done: done / total,
              words: `${chain} ${date}, ${formatNumber(done)} of ${formatNumber(total)} days of tables, ${formatBytes(written)} written`,
            }),
        });
        display.complete();
        const seconds = Math.round(performance.now() - started) / 1000;
        print({ to: target.location, ...report, seconds }, { json }, () =>
          textOf(target.location, report, seconds),
        );
        return EXIT.ok;
      });
    } finally {
      display.end();
      await target.close();
    }
  },
});

function textOf(to: string, { tables, rows, bytes: size }: RawExportReport, seconds: number): string {
  const sum = (count: 'written' | 'unchanged' | 'removed') =>
    Object.values(tables).reduce((all, table) => all + table[count], 0);
  const [written, unchanged, removed] = [sum('written'), sum('unchanged'), sum('removed')];
  const gone = removed === 0 ? '' : `, ${formatNumber(removed)} removed`;
  return `${to}: ${plural(written, 'file')} written (${plural(rows, 'row')}, ${formatBytes(size)}), ${formatNumber(unchanged)} unchanged${gone}, in ${formatDuration(seconds)}\n`;
}
