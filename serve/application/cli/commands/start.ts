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

interface GivenOptions {
  readonly sample?: boolean;
  readonly demo?: boolean;
  readonly sources?: string;
  readonly node?: readonly string[];
  readonly days?: number;
  readonly role?: readonly string[];
}

export const start = command<[], GivenOptions>({
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
        'with --node: load the blocks of so many last days too',
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
  chain-metrics start --demo                   something to look at, at once
  chain-metrics start --sample                 the same with recorded blocks only
  chain-metrics start --node wss://127.0.0.1:9944             with the new blocks of a node's chain
  chain-metrics start --node wss://127.0.0.1:9944 --days 3    and those of today and the two days before
  chain-metrics start --sources sources.yaml   with new blocks of many chains, prices and locked value
  HOST=0.0.0.0 PORT=8080 chain-metrics start   for other machines too
  PROFILE=distributed chain-metrics start --role load work

Demo data are marked in the data directory permanently: every response and page of metrics says that they are made up, and
a start with --demo adds the days since the last one. Demo data can only be added to the sample, and no other data can be
added to them.

The chain of --node, or the chains of a sources file (\`chain-metrics help backfill\`), are followed in addition to those of FOLLOW, with FOLLOW_BEST
and FOLLOW_SNAPSHOTS. Pass it to only one of several processes.

With PROFILE=distributed the work is shared by as many processes as you start: \`ingest\` follows sources, \`load\` turns
the log into raw tables, \`work\` computes metrics, \`serve\` answers requests. A process is ready when the services that its
roles need answer.

SIGTERM or Ctrl-C stops it. Acknowledged data survive even kill -9.`,
  run: async ({
    options: { sample = false, demo = false, sources: file, node, days, role = ['all'] },
    config,
    version,
  }) => {
    const roles = rolesOf(role, config);
    if (days !== undefined && node === undefined)
      throw new ProductError(
        'usage',
        '--days says how many days of the chain of --node are loaded: give both',
      );
    const sources = await followedSources({ file, node, days }, roles, config);
    const firstData = demo ? 'demo' : sample ? 'sample' : undefined;
    const { startProcess } = await import('../start-process.ts');
    return startProcess({ config, roles, firstData, sources, loadsSources: days !== undefined, version });
  },
});

/** Read before anything is started: a wrong file or address ends the command at once. */
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
    throw new ProductError('usage', '--node, --sources: only the role ingest follows sources');
  if (file === undefined) {
    const from = Date.parse(isoDay(Date.now() - (days - 1) * DAY_MS));
    return sourcesOfOptions({ node: node as readonly string[] }, config, { from: { time: from } });
  }
  const { readSourcesFile } = await import('../../../../ingest/backfill/sources-file.ts');
  return readSourcesFile(file, readRegistry(config));
}

/** The roles that the options name. One process of the embedded profile has the store for itself, so it has all roles. */
function rolesOf(names: readonly string[], { PROFILE }: Config): ReadonlySet<ProcessRole> {
  if (names.includes('all')) return new Set(PROCESS_ROLES);
  if (PROFILE === 'embedded') {
    throw new ProductError(
      'usage',
      '--role: the embedded profile is one process with all roles; set PROFILE=distributed',
    );
  }
  return new Set(PROCESS_ROLES.filter((role) => names.includes(role)));
}
