import type { Command } from 'commander';
import { readConfig } from '../settings.ts';
import { parseHeight } from './height.ts';

/** The `alerts` commands with their help; what they do is loaded when they run. */
export function addAlerts(program: Command, finish: (exitCode: number) => never): void {
  const alerts = program.command('alerts').description('work on the alerts of projects');
  alerts
    .command('replay')
    .description('decide on every accepted delivery anew, by the rules and settings of today')
    .option('--dry-run', 'only tell what would change')
    .option('--project <number...>', 'only these projects', (text, before: number[] = []) => [
      ...before,
      parseHeight(text),
    ])
    .option('--json', 'print the result as JSON, and nothing else')
    .addHelpText(
      'after',
      `
Every delivery is kept as it was sent, with what was known of its integration at the time. Replaying them gives the
alerts that today's rules would have given: after ALERT_RETRY_WINDOW_SECONDS was changed, or a new version reads
payloads in another way. What people did to an alert stays with it. While a server runs on the data directory, it does
the work by its own settings; on the distributed profile the servers do it by the settings of this command. New alerts
of a project wait until its turn is over.

Examples:
  chain-metrics alerts replay --dry-run
  ALERT_RETRY_WINDOW_SECONDS=300 chain-metrics alerts replay --dry-run --project 7
  chain-metrics alerts replay --project 7`,
    )
    .action(async (options) => {
      const { replayCommand } = await import('./alerts.ts');
      finish(await replayCommand(options, readConfig()));
    });
}
