import { Option } from 'commander';
import { DAY_MS, isoDay } from '../../../../infra/days.ts';
import { ProductError } from '../../../../infra/errors.ts';
import type { Sources } from '../../../../ingest/backfill/sources-file.ts';
import { readRegistry } from '../../../../ingest/chains/registry.ts';
import { PROCESS_ROLES, type ProcessRole } from '../../../settings/process-roles.ts';
import type { Config } from '../../../settings/settings.ts';
import { nodeOption, parseWithin } from '../arguments.ts';
import { command } from '../command.ts';
import { sourcesOfOptions } from '../service-plan.ts';

interface StartOptions {
  readonly sample?: boolean;
  readonly demo?: boolean;
  readonly sources?: string;
  readonly node?: readonly string[];
  readonly days?: number;
  readonly role?: readonly string[];
}

export const start = command<[], StartOptions>({
  name: 'start',
  description: 'serve the metrics of the data directory over HTTP',
  args: (command) =>
    command
      .option('--sample', 'load the recorded sample first, if the data directory is empty')
      .addOption(
        new Option(
          '--demo',
          'load the recorded sample and a made-up history of the last half year',
        ).conflicts('sample'),
      )
      .addOption(
        new Option(
          '--sources <file>',
          'follow the chains of a sources file, as `follow --sources` does',
        ).conflicts(['sample', 'demo']),
      )
      .addOption(nodeOption().conflicts(['sample', 'demo', 'sources']))
      .option(
        '--days <number>',
        'with --node: also load the blocks of this many days, today included',
        parseWithin(1, 3650),
      )
      .addOption(
        new Option('--role <role...>', 'roles of this process, if several share the work').choices([
          ...PROCESS_ROLES,
          'all',
        ]),
      ),
  help: `Examples:
  chain-metrics start
  chain-metrics start --demo                   load demo data
  chain-metrics start --sample                 load recorded blocks only
  chain-metrics start --node wss://127.0.0.1:9944             load new blocks of the node's chain
  chain-metrics start --node wss://127.0.0.1:9944 --days 3    also the blocks of today and the two days before
  chain-metrics start --sources sources.yaml   load new blocks of many chains, prices and locked value
  HOST=0.0.0.0 PORT=8080 chain-metrics start   accept requests of other machines
  PROFILE=distributed chain-metrics start --role load work

--demo marks the data directory permanently: every public page, and a header of every response, says that the data are
made up. Each start with --demo adds the days since the last start. Demo data can be loaded only into an empty directory or
beside the sample, and no other data can be added to them.

--node and --sources (\`chain-metrics help backfill\`) follow chains in addition to FOLLOW, with FOLLOW_BEST and
FOLLOW_SNAPSHOTS. Pass them to only one process.

With PROFILE=distributed several processes share the work: \`ingest\` follows sources, \`load\` writes raw tables from the log,
\`work\` computes metrics, \`serve\` answers requests. A process is ready if the services that its roles need answer.

SIGTERM or Ctrl-C stops the process. Acknowledged data survive kill -9.`,
  run: async ({
    options: { sample = false, demo = false, sources: file, node, days, role = ['all'] },
    config,
    version,
  }) => {
    const roles = rolesOf(role, config);
    if (days !== undefined && node === undefined)
      throw new ProductError('usage', '--days needs --node: it is the number of days to load from that node');
    const sources = await followedSources({ file, node, days }, roles, config);
    const firstData = demo ? 'demo' : sample ? 'sample' : undefined;
    const { startProcess } = await import('../start-process.ts');
    return startProcess({ config, roles, firstData, sources, loadsSources: days !== undefined, version });
  },
});

/** Runs before anything else starts, so that a wrong file or address ends the command immediately. */
async function followedSources(
  {
    file,
    node,
    days = 0,
  }: {
    readonly file: string | undefined;
    readonly node: readonly string[] | undefined;
    readonly days: number | undefined;
  },
  roles: ReadonlySet<ProcessRole>,
  config: Config,
): Promise<Sources | undefined> {
  if (file === undefined && node === undefined) return undefined;
  if (!roles.has('ingest'))
    throw new ProductError(
      'usage',
      '--node and --sources need the role ingest: add it with --role, or pass them to the process that has it',
    );
  if (file === undefined) {
    const from = Date.parse(isoDay(Date.now() - (days - 1) * DAY_MS));
    return sourcesOfOptions({ node: node as readonly string[] }, config, { from: { time: from } });
  }
  const { readSourcesFile } = await import('../../../../ingest/backfill/sources-file.ts');
  return readSourcesFile(file, readRegistry(config));
}

function rolesOf(names: readonly string[], { PROFILE }: Config): ReadonlySet<ProcessRole> {
  if (names.includes('all')) return new Set(PROCESS_ROLES);
  if (PROFILE === 'embedded') {
    throw new ProductError(
      'usage',
      '--role needs PROFILE=distributed: the embedded profile is one process with all roles',
    );
  }
  return new Set(PROCESS_ROLES.filter((role) => names.includes(role)));
}
