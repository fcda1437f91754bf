import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import { addAlerts } from './cli/alerts-program.ts';
import { parseDay } from './cli/day.ts';
import { addDeadLetters } from './cli/dead-letters-program.ts';
import { EXIT, explainFailure } from './cli/failure.ts';
import { parseHeight, parseWithin } from './cli/height.ts';
import { settingsCommand } from './cli/settings.ts';
import { guardStandardInput, wantsStandardInput } from './cli/standard-input.ts';
import { parseUrl } from './cli/url.ts';
import { addUsers } from './cli/users-program.ts';
import { readConfig } from './settings.ts';

// The composition root of the command line. Commands are imported when they run: help and usage errors answer
// without waiting for the engine to be loaded.

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const FORMATS = ['parquet', 'csv', 'ndjson', 'json', 'arrow'];

/** What every command takes that fetches from a service. */
const fromService = (command: Command) =>
  command
    .requiredOption('--url <url>', 'address of a Sidecar or polkadot-rest-api', parseUrl)
    .requiredOption('--chain <name>', 'chain that it serves, by its name or an alias')
    .option('--concurrency <number>', 'blocks that are fetched at a time', parseWithin(1, 256), 8)
    .option('--force', 'take the blocks although the service names its runtime after another chain');

const program = new Command('chain-metrics')
  .description('Raw Sidecar blocks in, exact chain metrics over HTTP out. One process, one data directory.')
  .version(version, '-V, --version', 'print the version')
  .helpOption('-h, --help', 'explain a command')
  .helpCommand('help [command]', 'explain a command')
  .showHelpAfterError('(`chain-metrics --help` explains the commands)')
  .exitOverride()
  .addHelpText(
    'after',
    `
Examples:
  chain-metrics start --sample                 serve, with recorded blocks to look at
  chain-metrics ingest blocks/                 take in a directory of block files
  chain-metrics backfill --url … --chain …     fetch what is missing from a Sidecar
  chain-metrics status                         heights, holes, lag, what was refused
  chain-metrics export daily-fees > fees.csv   the rows of a metric
  DATA_DIR=/srv/metrics PORT=8080 chain-metrics start

Settings are environment variables; \`chain-metrics settings\` lists them.

Exit codes:
  0 done   1 failure   2 wrong usage or setting   3 done, but some input was refused`,
  );

program
  .command('start')
  .description('serve the metrics of the data directory over HTTP')
  .option('--sample', 'load the recorded sample first, when the data directory is empty')
  .addOption(
    new Option('--role <role...>', 'what this process is there for, where several share the work').choices([
      'ingest',
      'load',
      'work',
      'serve',
      'all',
    ]),
  )
  .addHelpText(
    'after',
    `
Examples:
  chain-metrics start
  chain-metrics start --sample                 something to look at, at once
  HOST=0.0.0.0 PORT=8080 chain-metrics start   for other machines too
  PROFILE=distributed chain-metrics start --role load work

With PROFILE=distributed the work is shared by as many processes as you start: \`ingest\` follows sources, \`load\` turns
the log into raw tables, \`work\` computes metrics, \`serve\` answers. Each is ready when Kafka, Redis and ClickHouse are.

SIGTERM or Ctrl-C stops it; what was acknowledged is kept even by kill -9.`,
  )
  .action(async (options) => {
    const { startCommand } = await import('./cli/start.ts');
    finish(await startCommand(options, readConfig(), version));
  });

program
  .command('ingest')
  .description('take in blocks and snapshots, and bring every metric that they touch up to date')
  .argument('<path...>', 'files, directories, or - for standard input')
  .option('--chain <name>', 'chain of bare blocks, when the file is not named after it')
  .option('--json', 'print the summary as JSON, and nothing else')
  .addHelpText(
    'after',
    `
A file has one JSON document a line: a Sidecar block of the chain that the file is named after, or an envelope
(schema block/1 or snapshot/1). It may be packed (.gz, .zst). A .parquet file has one such document a row, its
fields in columns, where JSON may stand as text. Of a directory every .ndjson, .jsonl, .json and .parquet is read,
in the order of names. Nothing is stored twice: the same file may be given again at any time. While a server runs
on the data directory, it does the work.

Examples:
  chain-metrics ingest kusama.ndjson.gz
  chain-metrics ingest --chain asset-hub-polkadot 2024-*.ndjson.zst
  zcat export.gz | chain-metrics ingest --chain polkadot -

Exit code 3 says that something was refused; \`chain-metrics status\` shows what and why.`,
  )
  .action(async (paths, options) => {
    const { ingestCommand } = await import('./cli/ingest.ts');
    finish(await ingestCommand(paths, options, readConfig()));
  });

fromService(program.command('backfill'))
  .description('fetch the blocks that are missing from a Sidecar or polkadot-rest-api')
  .option('--from <height>', 'first height', parseHeight, 0)
  .option('--to <height>', 'last height, up to the finalized head; that head when absent', parseHeight)
  .option('--dry-run', 'only tell what is missing')
  .addHelpText(
    'after',
    `
Holes between stored blocks are filled first. Stopped by anything, the same command goes on with what is still
missing: the store itself says what that is. Requests that fail are tried again, later and later; when the service
stays away, what was fetched is kept and the command ends. While a server runs on the data directory, it does the
loading.

Examples:
  chain-metrics backfill --url http://127.0.0.1:8080 --chain polkadot --dry-run
  chain-metrics backfill --url http://127.0.0.1:8080 --chain asset-hub-polkadot --from 11000000 --to 11050000

Exit code 3 says that something was refused or stays missing; \`chain-metrics gaps\` shows the heights.`,
  )
  .action(async (options) => {
    const { backfillCommand } = await import('./cli/backfill.ts');
    finish(await backfillCommand(options, readConfig()));
  });

fromService(program.command('follow'))
  .description('take in new blocks as they are finalized, until stopped')
  .option('--from <height>', 'first height; after the highest final one when absent', parseHeight)
  .option('--best', 'also blocks that are not final yet; reorganisations replace them')
  .option('--snapshots', 'also the state of the chain, once a UTC day')
  .option('--treasury <account...>', 'with --snapshots: accounts whose own tokens are the treasury')
  .option('--poll-ms <milliseconds>', 'time between two looks at the head', parseWithin(10, 3_600_000), 2000)
  .addHelpText(
    'after',
    `
A service that goes away is asked again until it is back. With an empty data directory it begins at the finalized
head; what lies before is for \`chain-metrics backfill\`. SIGTERM or Ctrl-C stops it; the same command goes on after
the highest final block. While a server runs on the data directory, it does the loading.

Snapshots are of what the service gives at the finalized head: validator_set where staking lives, stable_holdings of
asset hubs (less what the registry's parachains hold there), coretime_config of coretime chains, treasury_balance of
the accounts that you name. A kind that it cannot give whole is not sent; it says at the start which and why.

Examples:
  chain-metrics follow --url http://127.0.0.1:8080 --chain polkadot
  chain-metrics follow --url http://127.0.0.1:8080 --chain coretime-polkadot --snapshots
  chain-metrics follow --url http://127.0.0.1:8080 --chain polkadot --best`,
  )
  .action(async (options) => {
    const { followCommand } = await import('./cli/follow.ts');
    finish(await followCommand(options, readConfig()));
  });

program
  .command('status')
  .description('show heights, holes and lag of every chain, what was refused and what is computed')
  .option('--json', 'print it as JSON')
  .addHelpText(
    'after',
    `
Examples:
  chain-metrics status
  chain-metrics status --json | jq '.chains[] | {chain, lag_seconds}'`,
  )
  .action(async (options) => {
    const { statusCommand } = await import('./cli/status.ts');
    finish(await statusCommand(options, readConfig()));
  });

program
  .command('gaps')
  .description('show what is missing: heights, days, prices, timestamps, and what fills it')
  .option('--chain <name>', 'only that chain, by its name or an alias')
  .option('--json', 'print it as JSON, with up to a thousand ranges of each kind')
  .addHelpText(
    'after',
    `
A height is missing when it lies between stored ones; what lies outside them is for \`backfill --dry-run\`. A day is
missing when it has no block and its neighbours do not prove that the chain stood still. Without a price of the day
amounts in USD are null, never 0.

Examples:
  chain-metrics gaps
  chain-metrics gaps --chain statemint
  chain-metrics gaps --json | jq '.[] | {chain, missing: .missing_blocks.ranges}'`,
  )
  .action(async (options) => {
    const { gapsCommand } = await import('./cli/gaps.ts');
    finish(await gapsCommand(options, readConfig()));
  });

program
  .command('export')
  .description('write the rows of a metric to a file or to standard output')
  .argument('<metric>', 'metric by name or path')
  .addOption(
    new Option('--format <format>', 'form of the rows; by the ending of the output, or else csv').choices(
      FORMATS,
    ),
  )
  .option('--relay-chain <name>', 'only chains of that relay chain')
  .option('--chain <name>', 'only that chain, by its name or an alias')
  .option('--from <date>', 'first day, YYYY-MM-DD', parseDay)
  .option('--until <date>', 'first day that is left out, YYYY-MM-DD', parseDay)
  .option('--output <file>', 'file to write; it is there whole or not at all')
  .addHelpText(
    'after',
    `
Rows and columns are those of the HTTP API, in the order of its answers, without its pages. Named by its path a
metric comes as that path serves it. Metrics that are computed when they are read need --chain. While a server runs
on the data directory, it renders the rows.

Examples:
  chain-metrics export daily-fees > daily-fees.csv
  chain-metrics export DailyTps --relay-chain polkadot --from 2024-01-01 --until 2025-01-01 --output tps.parquet
  chain-metrics export explorer/recent-extrinsics --chain asset-hub-polkadot --format ndjson | jq .pallet`,
  )
  .action(async (metric, options) => {
    const { exportCommand } = await import('./cli/export.ts');
    finish(await exportCommand(metric, options, readConfig()));
  });

program
  .command('rebuild')
  .description('compute metrics anew from the stored blocks')
  .argument('[metric...]', 'metrics by name or path; all of them when none is named')
  .option('--from <date>', 'first day, YYYY-MM-DD', parseDay)
  .option('--until <date>', 'first day that is left alone, YYYY-MM-DD', parseDay)
  .option('--json', 'print the result as JSON, and nothing else')
  .addHelpText(
    'after',
    `
Needed only after a repair by hand: what is loaded late or again is found and computed by itself. Days that a
rebuilt day reaches, such as the 30 days of a rolling figure, are computed with it.

Examples:
  chain-metrics rebuild
  chain-metrics rebuild daily-fees DailyTps /api/daily-uptime --from 2024-01-01 --until 2024-02-01`,
  )
  .action(async (metrics, options) => {
    const { rebuildCommand } = await import('./cli/rebuild.ts');
    finish(await rebuildCommand(metrics, options, readConfig()));
  });

program
  .command('settings')
  .description('list every setting with its meaning, default and current value')
  .addHelpText('after', '\nExamples:\n  PORT=8080 chain-metrics settings')
  .action(() => finish(settingsCommand()));

addUsers(program, finish);
addDeadLetters(program, finish);
addAlerts(program, finish);

/** Ends at once: an engine leaves threads behind that nobody needs to wait for. */
function finish(exitCode: number): never {
  process.exit(exitCode);
}

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  finish(error.code === 'EPIPE' ? EXIT.ok : EXIT.failure),
);

guardStandardInput(wantsStandardInput(process.argv.slice(2)));
try {
  await program.parseAsync();
} catch (error) {
  // Commander has printed its own errors already; what it calls an error includes help and version.
  if (error instanceof CommanderError) finish(error.exitCode === 0 ? EXIT.ok : EXIT.usage);
  const { text, exitCode } = explainFailure(error);
  process.stderr.write(`${text}\n`);
  finish(exitCode);
}
