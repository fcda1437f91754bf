import { Option } from 'commander';
import { ProductError } from '../../../infra/errors.ts';
import { PROCESS_ROLES, type ProcessRole } from '../../process-roles.ts';
import type { Config } from '../../settings.ts';
import { command } from '../command.ts';

export const start = command<[], { sample?: boolean; demo?: boolean; role?: readonly string[] }>({
  name: 'start',
  description: 'serve the metrics of the data directory over HTTP',
  args: (command) =>
    command
      .option('--sample', 'load the recorded sample first, when the data directory is empty')
      .addOption(
        new Option(
          '--demo',
          'the recorded sample and, beside it, a made-up history of the last half year',
        ).conflicts('sample'),
      )
      .addOption(
        new Option('--role <role...>', 'roles of this process, where several share the work').choices([
          ...PROCESS_ROLES,
          'all',
        ]),
      ),
  help: `Examples:
  chain-metrics start
  chain-metrics start --demo                   something to look at, at once
  chain-metrics start --sample                 the same with recorded blocks only
  HOST=0.0.0.0 PORT=8080 chain-metrics start   for other machines too
  PROFILE=distributed chain-metrics start --role load work

Demo data are marked in the data directory for good: every page and answer says that they are made up, and a start with
--demo adds the days since the last one. They are never added to other data than the sample, nor others to them.

With PROFILE=distributed the work is shared by as many processes as you start: \`ingest\` follows sources, \`load\` turns
the log into raw tables, \`work\` computes metrics, \`serve\` answers. Each is ready when Kafka, Redis and ClickHouse are.

SIGTERM or Ctrl-C stops it; what was acknowledged is kept even by kill -9.`,
  run: async ({ options: { sample = false, demo = false, role = ['all'] }, config, version }) => {
    const roles = rolesOf(role, config);
    const firstData = demo ? 'demo' : sample ? 'sample' : undefined;
    const { startProcess } = await import('../start-process.ts');
    return startProcess({ config, roles, firstData, version });
  },
});

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
