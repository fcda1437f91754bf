import { createWriteStream } from 'node:fs';
import { chmod, rename, rm, writeFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Option } from 'commander';
import { FIRST_DAY } from '../../../infra/clickhouse/date-range.ts';
import { userUmask } from '../../../infra/data-directory.ts';
import { ProductError, reasonOf } from '../../../infra/errors.ts';
import { RESPONSE_FORMATS } from '../../metrics/response-formats.ts';
import { parseDay } from '../arguments.ts';
import { command, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { bytes } from '../words.ts';

interface ExportOptions {
  readonly format?: string;
  readonly relayChain?: string;
  readonly chain?: string;
  readonly from?: string;
  readonly until?: string;
  readonly output?: string;
}

const BINARY = ['parquet', 'arrow'];
const BY_ENDING: Readonly<Record<string, string>> = {
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.csv': 'csv',
  '.parquet': 'parquet',
  '.arrow': 'arrow',
};

export const exportRows = command<[metric: string], ExportOptions>({
  name: 'export',
  description: 'write the rows of a metric to a file or to standard output',
  args: (command) =>
    command
      .argument('<metric>', 'metric by name or path')
      .addOption(
        new Option('--format <format>', 'form of the rows; by the ending of the output, or else csv').choices(
          Object.keys(RESPONSE_FORMATS),
        ),
      )
      .option('--relay-chain <name>', 'only chains of that relay chain')
      .option('--chain <name>', 'only that chain, by its name or an alias')
      .option('--from <date>', 'first day, YYYY-MM-DD', parseDay)
      .option('--until <date>', 'last day, inclusive, YYYY-MM-DD', parseDay)
      .option('--output <file>', 'file to write; it is there whole or not at all'),
  help: `Rows and columns are those of the HTTP API, in the order of its answers, without its pages. Named by its path a
metric comes as that path serves it. Metrics that are computed when they are read need --chain. While a server runs
on the data directory, it renders the rows.

Examples:
  chain-metrics export daily-fees > daily-fees.csv
  chain-metrics export DailyTps --relay-chain polkadot --from 2024-01-01 --until 2024-12-31 --output tps.parquet
  chain-metrics export explorer/recent-extrinsics --chain asset-hub-polkadot --format ndjson | jq .pallet`,
  run: async ({ args: [metric], options, config }) => {
    const { output, relayChain, format = formatOf(output), ...rest } = options;
    if (output === undefined && BINARY.includes(format) && process.stdout.isTTY) {
      throw new ProductError(
        'usage',
        `${format} is not for a terminal: name a file with --output, or use a pipe`,
      );
    }
    const place = relayChain === undefined ? {} : { relay_chain: relayChain };
    const request = { metric, format, ...rest, ...place };
    // A wrong request fails before the store is opened.
    const { exportStatement } = await import('../../metrics/export.ts');
    const { readRegistry } = await import('../../../ingest/chains/registry.ts');
    exportStatement(request, readRegistry(config), FIRST_DAY);
    return withOperations(config, async (client) => {
      const rows = await client.call('export', request);
      if (output === undefined) await printRows(rows);
      else process.stderr.write(`${output}: ${bytes(await save(rows, output))}\n`);
      return EXIT.ok;
    });
  },
});

function formatOf(output: string | undefined): string {
  return BY_ENDING[extname(output ?? '').toLowerCase()] ?? 'csv';
}

async function printRows(rows: Readable): Promise<void> {
  for await (const piece of rows) {
    await new Promise<void>((written) => process.stdout.write(piece, () => written()));
  }
}

/** Mode of a new file, less what the user's umask takes away. */
const FILE_MODE = 0o666;

/** The file is there whole or, when anything fails, as it was before. */
async function save(rows: Readable, output: string): Promise<number> {
  const part = `${output}.part`;
  try {
    // What this process creates is its user's only; a file that is asked for by name is as the user creates files.
    await writeFile(part, '');
    await chmod(part, FILE_MODE & ~userUmask);
    const file = createWriteStream(part);
    await pipeline(rows, file);
    await rename(part, output);
    return file.bytesWritten;
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw new ProductError('usage', `${output} cannot be written: ${reasonOf(error)}`);
  }
}
