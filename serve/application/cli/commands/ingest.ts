import type { Config } from '../../../settings/settings.ts';
import { paint } from '../colour.ts';
import { command, print, withOperations } from '../command.ts';
import { openDisplay } from '../display.ts';
import { EXIT, killSelf } from '../failure.ts';
import { formatDuration, formatNumber, plural } from '../format.ts';
import { failureText, ingestInputs, type RunReport } from '../ingest-inputs.ts';
import { findInputs } from '../inputs.ts';

export const ingest = command<[paths: string[]], { chain?: string; json?: boolean }>({
  name: 'ingest',
  description: 'ingest blocks and snapshots, and compute every metric that depends on them',
  args: (command) =>
    command
      .argument('<path...>', 'files, directories, or - for standard input')
      .option('--chain <name>', 'chain of bare blocks, if the file is not named after it')
      .option('--json', 'print the summary as JSON, and nothing else'),
  help: `A file contains one JSON document per line: a Sidecar block of the chain that the file is named after (polkadot.ndjson,
polkadot-2024-01.ndjson.gz), or an envelope (schema block/1 or snapshot/1). Files may be compressed (gzip, zstd). A .parquet
file contains one document per row, one field per column; a column may contain JSON as text. In a directory every .ndjson,
.jsonl, .json and .parquet file is read, ordered by name. You can ingest the same file again: nothing is stored twice. If a
server runs on DATA_DIR, it loads the files.

Examples:
  chain-metrics ingest kusama.ndjson.gz
  chain-metrics ingest --chain asset-hub-polkadot 2024-*.ndjson.zst
  zcat export.gz | chain-metrics ingest --chain polkadot -

Exit code 3: input was refused; \`chain-metrics dead-letters list\` lists refused lines with their reasons, with
\`--kind facts\` refused facts of stored blocks. Exit code 1: some metrics could not be computed; \`chain-metrics status\` lists
them with the reason.`,
  run: async ({ args: [paths], options: { chain, json = false }, config }) => {
    const inputs = await findInputs(paths);
    const display = openDisplay(process.stderr, { silent: json });
    process.once('SIGINT', () => {
      display.end();
      process.stderr.write(
        '\nchain-metrics: stopped; the loaded blocks are stored. Run the same command again to continue.\n',
      );
      killSelf('SIGINT');
    });
    return withOperations(
      config,
      async (client) => {
        try {
          const report = await ingestInputs(client, inputs, chain, display);
          print(report, { json }, () => describe(report, client.location));
          if (!json) await warnOfOtherChains(report, config);
          if (report.failed_metrics.length > 0) return EXIT.failure;
          return report.refused_lines + report.refused_facts > 0 ? EXIT.refused : EXIT.ok;
        } finally {
          display.end();
        }
      },
      { createsStore: true },
    );
  },
});

async function warnOfOtherChains({ foreign_addresses }: RunReport, config: Config) {
  if (foreign_addresses.length === 0) return;
  const [{ readRegistry }, { describePrefix: prefixWords }] = await Promise.all([
    import('../../../../ingest/chains/registry.ts'),
    import('../../../../ingest/raw/printed-prefixes.ts'),
  ]);
  const registry = readRegistry(config);
  for (const { first_file, files, chain, prefix, own_prefix } of foreign_addresses) {
    const where = files === 1 ? first_file : `${first_file} and ${plural(files - 1, 'more file')}`;
    process.stderr.write(
      `${paint('caution', 'WARNING', process.stderr)} ${where}: the first address has ${prefixWords(registry, prefix)}, and addresses of ${chain} have ${own_prefix}.\n` +
        `  If the source prints this prefix for every chain, the rows are correct and there is nothing to do.\n` +
        `  If these are blocks of another chain, remove them: see "Blocks of another chain" in the guide "Load a chain from nothing".\n`,
    );
  }
}

const REASONS_SHOWN = 20;

function describe(report: RunReport, place: string): string {
  const lines = [
    `${plural(report.files, 'file')}, ${plural(report.lines, 'line')} in ${formatDuration(report.seconds)}, metrics included: ` +
      `${plural(report.blocks, 'block')}, ${plural(report.snapshots, 'snapshot')} into ${place}`,
  ];
  if (report.refused_lines > 0) {
    const shown = report.reasons.slice(0, REASONS_SHOWN);
    const kinds = report.reasons_total - shown.length;
    const rest = report.refused_lines - shown.reduce((sum, { lines }) => sum + lines, 0);
    lines.push(
      report.refused_lines === 1
        ? '1 line was refused and stored as a dead letter:'
        : `${formatNumber(report.refused_lines)} lines were refused and stored as dead letters:`,
      ...shown.map(({ reason, lines }) => `  ${formatNumber(lines)} × ${reason}`),
      ...(kinds > 0 ? [`  and ${plural(kinds, 'more kind')}, ${plural(rest, 'line')}`] : []),
      'see `chain-metrics dead-letters list`',
    );
  }
  if (report.refused_facts > 0) {
    lines.push(
      `${plural(report.refused_facts, 'fact was', 'facts were')} refused inside stored blocks: see \`chain-metrics dead-letters list --kind facts\``,
    );
  }
  const isRefused = report.refused_lines + report.refused_facts > 0;
  const isDone = !isRefused || report.failed_metrics.length > 0;
  return `${lines.join('\n')}\n${failureText(report.failed_metrics)}${isDone ? 'see `chain-metrics status`\n' : ''}`;
}
