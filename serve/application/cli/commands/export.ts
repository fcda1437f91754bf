import { Readable } from 'node:stream';
import { Option } from 'commander';
import { FIRST_DAY } from '../../../../infra/clickhouse/date-range.ts';
import { RESPONSE_FORMATS } from '../../../metrics/response-formats.ts';
import { parseDay } from '../arguments.ts';
import { command, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { explainNoRows } from '../no-rows.ts';
import { formatOf, refuseBinaryTerminal, writeRows, writeRowsOrExplain } from '../rows-output.ts';

interface ExportOptions {
  readonly format?: string;
  readonly relayChain?: string;
  readonly chain?: string;
  readonly from?: string;
  readonly until?: string;
  readonly output?: string;
  readonly schema?: boolean;
}

export const exportRows = command<[metric: string], ExportOptions>({
  name: 'export',
  description: 'write the rows of a metric to a file or to standard output',
  args: (command) =>
    command
      .argument('<metric>', 'metric by name or path')
      .addOption(
        new Option(
          '--format <format>',
          'format of the rows; default: by the extension of --output, else csv',
        ).choices(Object.keys(RESPONSE_FORMATS)),
      )
      .option('--relay-chain <name>', 'only chains of that relay chain')
      .option('--chain <name>', 'only that chain, by its name or an alias')
      .option('--from <date>', 'first day, YYYY-MM-DD', parseDay)
      .option('--until <date>', 'last day, inclusive, YYYY-MM-DD', parseDay)
      .option('--output <file>', 'file to write; it appears only when it is complete')
      .option(
        '--schema',
        'write a Frictionless Table Schema with the meaning of each column, instead of rows',
      ),
  help: `Writes the same rows and columns as the HTTP API, in the same order, without paging. If you pass a path, you get the rows
of that path. Metrics that are computed on request need --chain. If a server runs on DATA_DIR, it renders the rows.

Examples:
  chain-metrics export daily-fees > daily-fees.csv
  chain-metrics export DailyTps --relay-chain polkadot --from 2024-01-01 --until 2024-12-31 --output tps.parquet
  chain-metrics export daily-fees --schema --output daily-fees.schema.json
  chain-metrics export explorer/recent-extrinsics --chain asset-hub-polkadot --format ndjson | jq .pallet`,
  run: async ({ args: [metric], options, config }) => {
    const { output, relayChain, format = formatOf(output) ?? 'csv', schema = false, ...rest } = options;
    if (schema) {
      await writeRows(Readable.from([await schemaOf(metric)]), output);
      return EXIT.ok;
    }
    refuseBinaryTerminal(format, output);
    const place = relayChain === undefined ? {} : { relay_chain: relayChain };
    const request = { metric, format, ...rest, ...place };
    // A wrong request fails before the store is opened.
    const { exportStatement } = await import('../../../metrics/export.ts');
    const { readRegistry } = await import('../../../../ingest/chains/registry.ts');
    const { floor, query } = exportStatement(request, readRegistry(config), FIRST_DAY);
    if (floor !== undefined && [rest.from, rest.until].some((day) => day !== undefined && day < floor))
      process.stderr.write(beginsOn(metric, floor));
    return withOperations(config, async (client) => {
      const { pending, begins } = await client.call('pendingRows', request);
      if (begins !== null) process.stderr.write(beginsOn(metric, begins));
      await writeRowsOrExplain(await client.call('export', request), { format, output }, async () =>
        begins !== null
          ? null
          : explainNoRows((await client.call('status', {})).chains, { ...request, chain: query.chain }),
      );
      if (pending !== null) {
        const reason = pending.reason.replaceAll('_', ' ');
        process.stderr.write(
          `${metric} is incomplete from ${pending.from} on (${reason}); see \`chain-metrics status\`\n`,
        );
      }
      return EXIT.ok;
    });
  },
});

const beginsOn = (metric: string, day: string) =>
  `${metric} begins on ${day} and has no rows of earlier days\n`;

async function schemaOf(name: string): Promise<string> {
  const [{ findEndpoint }, { tableSchemaOf }] = await Promise.all([
    import('../../../metrics/metric-names.ts'),
    import('../../../metrics/table-schema.ts'),
  ]);
  return `${JSON.stringify(tableSchemaOf(findEndpoint(name).metric), null, 2)}\n`;
}
