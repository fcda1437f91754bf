import type { AlertDifference, ReplayResult } from '../../../../aggregate/alerts/processor/replay.ts';
import { parseWhole } from '../arguments.ts';
import { command, jsonOption, print, withOperations } from '../command.ts';
import { EXIT } from '../failure.ts';
import { plural } from '../format.ts';

interface ReplayOptions {
  readonly dryRun?: boolean;
  readonly project?: number[];
  readonly json?: boolean;
}

export const alertsReplay = command<[], ReplayOptions>({
  name: 'alerts replay',
  description: 'group every accepted delivery again with the current settings of the server',
  args: (command) =>
    jsonOption(
      command
        .option('--dry-run', 'report what would change, change nothing')
        .option('--project <number...>', 'only these projects', (text, before: number[] = []) => [
          ...before,
          parseWhole(text),
        ]),
    ),
  help: `The server stores every delivery unchanged, with the mapping and rules that its integration had then. A replay groups the
stored deliveries again by these: run it after you change ALERT_RETRY_WINDOW_SECONDS, or after an upgrade that parses payloads
differently. Actions of users on alerts are kept. New alerts of a project wait until its replay ends.

If a server runs on DATA_DIR, the replay runs there, with the settings of that server. With PROFILE=distributed the replay
runs in the servers, with the settings of this command.

Projects that lost events to RETENTION_ALERT_EVENTS_DAYS are skipped, since their alerts cannot be rebuilt. Exit code 3: a
project was skipped.

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
  if (replayed.length === 0) return 'No project has received alerts yet.\n';
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
