import type { AlertDifference, ReplayResult } from '../../../../aggregate/alerts/processor/replay.ts';
import { parseWhole } from '../arguments.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../words.ts';

interface ReplayOptions {
  readonly dryRun?: boolean;
  readonly project?: number[];
  readonly json?: boolean;
}

export const alertsReplay = command<[], ReplayOptions>({
  name: 'alerts replay',
  description: 'regroup every accepted delivery with the current rules and settings',
  args: (command) =>
    jsonOption(
      command
        .option('--dry-run', 'report what would change, change nothing')
        .option('--project <number...>', 'only these projects', (text, before: number[] = []) => [
          ...before,
          parseWhole(text),
        ]),
    ),
  help: `Every delivery is kept as it was sent, with the configuration of its integration at that time. A replay produces the
alerts that the current rules would have produced, for example after ALERT_RETRY_WINDOW_SECONDS was changed or a new
version reads payloads differently. What users did to an alert stays with it. While a server runs on the data directory, it
does the work with its own settings; on the distributed profile the servers do it with the settings of this command. New
alerts of a project wait until its replay is over.

A project whose events were deleted (RETENTION_ALERT_EVENTS_DAYS) is skipped. Exit code 3: a project was skipped.

Examples:
  chain-metrics alerts replay --dry-run
  ALERT_RETRY_WINDOW_SECONDS=300 chain-metrics alerts replay --dry-run --project 7
  chain-metrics alerts replay --project 7`,
  run: ({ options: { dryRun = false, project = [], json = false }, config }) =>
    withOperations(config, async (client) => {
      const replayed = await client.call('replayAlerts', { projects: project, dryRun });
      print(replayed, { json }, () => textOf(replayed, dryRun));
      return replayed.some(({ refused }) => refused !== null) ? EXIT.refused : EXIT.ok;
    }),
});

function textOf(replayed: readonly ReplayResult[], dryRun: boolean): string {
  if (replayed.length === 0) return 'No project has taken in alerts yet.\n';
  const verb = dryRun ? 'would change' : 'changed';
  const lines = replayed.flatMap(({ project, refused, events, alerts, differing, differences }) => [
    refused === null
      ? `project ${project}: ${plural(events, 'event')}, ${plural(alerts, 'alert')}, ${differing === 0 ? 'nothing' : plural(differing, 'alert')} ${verb}`
      : `project ${project}: skipped, ${refused}`,
    ...differences.map(lineOf),
    ...(differing > differences.length ? [`  … and ${differing - differences.length} more`] : []),
  ]);
  return `${lines.join('\n')}\n`;
}

function lineOf({ iid, stored, replayed }: AlertDifference): string {
  if (stored === null) return `  #${iid} is new: ${JSON.stringify(replayed)}`;
  if (replayed === null) return `  #${iid} is gone: ${JSON.stringify(stored)}`;
  const names = Object.keys(stored) as (keyof typeof stored)[];
  return `  #${iid} ${names.map((name) => `${name}: ${stored[name]} → ${replayed[name]}`).join(', ')}`;
}
