import { setImmediate } from 'node:timers/promises';
import { Command, CommanderError } from 'commander';
import { readConfig } from '../settings/settings.ts';
import { NO_COLOUR, paint } from './cli/colour.ts';
import type { CliCommand } from './cli/command.ts';
import { alertsReplay } from './cli/commands/alerts.ts';
import { applications, applicationsHelp } from './cli/commands/applications.ts';
import { backfill } from './cli/commands/backfill.ts';
import { backup } from './cli/commands/backup.ts';
import { chains } from './cli/commands/chains.ts';
import { check } from './cli/commands/check.ts';
import { deadLetters, deadLettersHelp } from './cli/commands/dead-letters.ts';
import { doctor } from './cli/commands/doctor.ts';
import { exportRows } from './cli/commands/export.ts';
import { exportBlocks } from './cli/commands/export-blocks.ts';
import { exportRaw } from './cli/commands/export-raw.ts';
import { follow } from './cli/commands/follow.ts';
import { gaps } from './cli/commands/gaps.ts';
import { ingest } from './cli/commands/ingest.ts';
import { keys, keysHelp } from './cli/commands/keys.ts';
import { migrate } from './cli/commands/migrate.ts';
import { rebuild } from './cli/commands/rebuild.ts';
import { restore } from './cli/commands/restore.ts';
import { SECRET_FILES, settings } from './cli/commands/settings.ts';
import { sql } from './cli/commands/sql.ts';
import { start } from './cli/commands/start.ts';
import { status } from './cli/commands/status.ts';
import { users, usersHelp } from './cli/commands/users.ts';
import { EXIT, explainFailure } from './cli/failure.ts';
import { wrapText } from './cli/format.ts';

/** Every command, in the order of the help. To add a command, add a file under `commands/` and its name here. */
const COMMANDS: readonly CliCommand[] = [
  start,
  ingest,
  backfill,
  follow,
  status,
  chains,
  gaps,
  check,
  doctor,
  backup,
  restore,
  exportRows,
  exportRaw,
  exportBlocks,
  sql,
  migrate,
  rebuild,
  settings,
  ...users,
  ...applications,
  ...keys,
  ...deadLetters,
  alertsReplay,
];

/** The first words of commands such as `users create`. */
const GROUPS: Readonly<Record<string, { readonly description: string; readonly help?: string }>> = {
  users: { description: 'manage accounts, and help users who cannot sign in', help: usersHelp },
  applications: { description: 'list, block or unblock registered applications', help: applicationsHelp },
  keys: { description: 'list or replace the keys that sign ID tokens', help: keysHelp },
  'dead-letters': { description: 'inspect, retry or drop refused input', help: deadLettersHelp },
  alerts: { description: 'manage the alerts of projects' },
};

const HELP = `
Examples:
  chain-metrics start --sample                 serve the recorded sample
  chain-metrics ingest blocks/                 ingest a directory of block files
  chain-metrics backfill --url … --chain …     fetch missing blocks from a Sidecar
  chain-metrics status                         heights, gaps, lag, refused input
  chain-metrics export daily-fees > fees.csv   the rows of a metric
  DATA_DIR=/srv/metrics PORT=8080 chain-metrics start

Settings are environment variables; \`chain-metrics settings\` lists them.
${SECRET_FILES}

Exit codes:
  0 done   1 failure   2 wrong usage or setting
  3 finished, but incomplete: input was refused, heights or days are missing,
    or a project was skipped`;

/** `finish` ends the process with the exit code of a command. */
function buildProgram(version: string, finish: (exitCode: number) => never): Command {
  const program = new Command('chain-metrics')
    .description('Computes exact metrics from raw blocks of Substrate chains and serves them over HTTP.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .option(NO_COLOUR, 'print without colours, like NO_COLOR=1')
    .configureHelp({ styleTitle: (title) => paint('heading', title) })
    .helpCommand('help [command]', 'show help')
    .showHelpAfterError('(see `chain-metrics --help`)')
    .exitOverride()
    .addHelpText('after', atHelpWidth(HELP));
  const groups = new Map<string, Command>();
  for (const command of COMMANDS) add(program, groups, command, { version, finish });
  return program;
}

/** Runs a command line. Calls `finish` one turn later, because standard output reports write errors only then. */
export async function runProgram(
  args: readonly string[],
  version: string,
  finish: (exitCode: number) => never,
): Promise<void> {
  try {
    await buildProgram(version, finish).parseAsync(args, { from: 'user' });
  } catch (error) {
    await setImmediate();
    // Commander has printed its own errors already; its errors include help and version.
    if (error instanceof CommanderError) return finish(error.exitCode === 0 ? EXIT.ok : EXIT.usage);
    const { text, exitCode } = explainFailure(error);
    process.stderr.write(`${paint('bad', 'chain-metrics:', process.stderr)} ${text}\n`);
    finish(exitCode);
  }
}

/** Wraps a text at the width of the help above it. */
const atHelpWidth =
  (text: string) =>
  ({ command }: { command: Command }): string =>
    wrapText(text, command.configureOutput().getOutHelpWidth?.() ?? HELP_WIDTH);
const HELP_WIDTH = 80;

interface ProgramContext {
  readonly version: string;
  readonly finish: (exitCode: number) => never;
}

function add(
  program: Command,
  groups: Map<string, Command>,
  { name, description, args, help, needsConfig = true, run }: CliCommand,
  { version, finish }: ProgramContext,
): void {
  const [first = '', second] = name.split(' ');
  const parent = second === undefined ? program : groupOf(program, groups, first);
  const declared = parent.command(second ?? first).description(description);
  const complete = args?.(declared) ?? declared;
  if (help !== undefined) complete.addHelpText('after', atHelpWidth(`\n${help.trimStart()}`));
  complete.action(async (...values: unknown[]) => {
    // Commander passes the arguments, then the options, then the command itself.
    const [options, positional] = [values.at(-2), values.slice(0, -2)];
    const config = needsConfig ? readConfig() : null;
    const exitCode = await run({ args: positional, options, config, version } as never);
    await setImmediate();
    finish(exitCode);
  });
}

function groupOf(program: Command, groups: Map<string, Command>, name: string): Command {
  const existing = groups.get(name);
  if (existing) return existing;
  const { description = '', help } = GROUPS[name] ?? {};
  const group = program.command(name).description(description);
  if (help !== undefined) group.addHelpText('after', atHelpWidth(`\n${help.trimStart()}`));
  groups.set(name, group);
  return group;
}
