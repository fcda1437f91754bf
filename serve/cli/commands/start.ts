import { Option } from 'commander';
import { ProductError } from '../../../infra/errors.ts';
import { PROCESS_ROLES, type ProcessRole } from '../../process-roles.ts';
import type { Config } from '../../settings.ts';
import { command } from '../command.ts';

export const start = command<[], { sample?: boolean; role?: readonly string[] }>({
  name: 'start',
  description: 'serve the metrics of the data directory over HTTP',
  args: (command) =>
    command
      .option('--sample', 'load the recorded sample first, when the data directory is empty')
      .addOption(
        new Option('--role <role...>', 'roles of this process, where several share the work').choices([
          ...PROCESS_ROLES,
          'all',
        ]),
      ),
  help: `Examples:
  chain-metrics start
  chain-metrics start --sample                 something to look at, at once
  HOST=0.0.0.0 PORT=8080 chain-metrics start   for other machines too
  PROFILE=distributed chain-metrics start --role load work

With PROFILE=distributed the work is shared by as many processes as you start: \`ingest\` follows sources, \`load\` turns
the log into raw tables, \`work\` computes metrics, \`serve\` answers. Each is ready when Kafka, Redis and ClickHouse are.

SIGTERM or Ctrl-C stops it; what was acknowledged is kept even by kill -9.`,
  run: async ({ options: { sample = false, role = ['all'] }, config, version }) => {
    const roles = rolesOf(role, config);
    const { startProcess } = await import('../start-process.ts');
    return startProcess({ config, roles, loadsSample: sample, version });
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
