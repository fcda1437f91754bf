import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Option } from 'commander';
import { ProductError } from '../../../../infra/errors.ts';
import { RELAY_CHAINS, type RelayChain } from '../../../../ingest/chains/chain.ts';
import { parseExact } from '../../../../ingest/decode/json.ts';
import { RESPONSE_FORMATS } from '../../../metrics/response-formats.ts';
import { parseDay, refuseReversed } from '../arguments.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { alignedTable } from '../format.ts';
import { explainNoRows } from '../no-rows.ts';
import { formatOf, refuseBinaryTerminal, writeRowsOrExplain } from '../rows-output.ts';
import { detachStandardInput, isPiped, STANDARD_INPUT, standardInput } from '../standard-input.ts';

interface SqlOptions {
  readonly format?: string;
  readonly relayChain?: RelayChain;
  readonly from?: string;
  readonly until?: string;
  readonly output?: string;
  readonly tables?: boolean;
  readonly json?: boolean;
}

/** Rows of a table on the terminal; more rows belong into a file. */
const TABLE_ROWS_MAX = 1000;

export const sql = command<[query: string | undefined], SqlOptions>({
  name: 'sql',
  description: 'run a SELECT over the raw tables and the metrics',
  args: (command) =>
    jsonOption(
      command
        .argument('[query]', 'a ClickHouse SELECT; - or none reads it from standard input')
        .addOption(
          new Option(
            '--format <format>',
            'format of the rows; default: by the extension of --output, else a table on a terminal and csv elsewhere',
          ).choices(['table', ...Object.keys(RESPONSE_FORMATS)]),
        )
        .addOption(
          new Option('--relay-chain <name>', 'only rows of that relay chain').choices([...RELAY_CHAINS]),
        )
        .option('--from <date>', 'only rows from this day on, YYYY-MM-DD', parseDay)
        .option('--until <date>', 'only rows up to this day, inclusive, YYYY-MM-DD', parseDay)
        .option('--output <file>', 'file to write; it appears only when it is complete')
        .option('--tables', 'list the tables with their columns and types'),
    ),
  help: `The tables contain canonical rows only, without replaced blocks and without blocks that have no timestamp. Pass
--relay-chain, --from and --until if you can: the query then reads only those chains and months. A query cannot change
data. If a server runs on DATA_DIR, the query runs there, with at most half of the engine's memory. Amounts are whole
numbers of up to 128 bits: text in Parquet and Arrow, and numbers in JSON, which many JSON parsers round.

Examples:
  chain-metrics sql --tables
  chain-metrics sql "SELECT pallet, count() AS n FROM events GROUP BY pallet ORDER BY n DESC LIMIT 10"
  chain-metrics sql --from 2024-01-01 --until 2024-01-31 --output january.parquet "SELECT * FROM extrinsics"`,
  run: async ({ args: [argument], options, config }) => {
    const { output, relayChain, tables, json = false, ...rest } = options;
    if (tables) return listTables(json);
    const format = json
      ? 'json'
      : (options.format ?? formatOf(output) ?? (process.stdout.isTTY ? 'table' : 'csv'));
    refuseBinaryTerminal(format, output);
    refuseReversed(options);
    const readsInput = argument === STANDARD_INPUT || (argument === undefined && isPiped());
    detachStandardInput({ keepContent: readsInput });
    const query = readsInput ? await text(standardInput()) : (argument ?? '');
    if (query.trim() === '') throw new ProductError('usage', 'pass a query, or --tables to list the tables');
    const place = relayChain === undefined ? {} : { relay_chain: relayChain };
    const { format: _, ...range } = rest;
    return withOperations(config, async (client) => {
      const rowsAs = (format: string) => client.call('sql', { query, format, ...range, ...place });
      if (format === 'table') process.stdout.write(await tableOf(await rowsAs('ndjson')));
      else
        await writeRowsOrExplain(await rowsAs(format), { format, output }, async () =>
          explainNoRows((await client.call('status', {})).chains, { ...range, ...place }),
        );
      return EXIT.ok;
    });
  },
});

async function listTables(json: boolean): Promise<number> {
  const { relations } = await import('../../../metrics/relations.ts');
  const list = [...relations.values()].map(({ name, doc, columns }) => ({ name, doc, columns }));
  print(list, { json }, () =>
    list
      .map(
        ({ name, doc, columns }) =>
          `${name}\n  ${doc}\n${alignedTable(Object.entries(columns).map(([column, type]) => ['   ', column, type]))}\n`,
      )
      .join('\n'),
  );
  return EXIT.ok;
}

/** The first rows as a table. */
async function tableOf(lines: Readable): Promise<string> {
  const rows: Record<string, unknown>[] = [];
  let rest = '';
  let isCut = false;
  for await (const piece of lines.setEncoding('utf8')) {
    const whole = `${rest}${piece}`.split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) if (line !== '') rows.push(parseExact(line) as Record<string, unknown>);
    isCut = rows.length > TABLE_ROWS_MAX;
    if (isCut) break;
  }
  if (rows.length === 0) return 'no rows\n';
  const shown = rows.slice(0, TABLE_ROWS_MAX);
  const columns = Object.keys(shown[0] ?? {});
  const cells = shown.map((row) => columns.map((column) => cellOf(row[column])));
  const note = isCut ? `… more than ${TABLE_ROWS_MAX} rows; --output FILE writes all rows\n` : '';
  return `${alignedTable([columns, ...cells])}\n${note}`;
}

const cellOf = (value: unknown): string =>
  value === null ? 'NULL' : typeof value === 'string' ? value : JSON.stringify(value);
