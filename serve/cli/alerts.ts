import type { AlertDifference, ReplayResult } from '../../aggregate/alerts/processor/replay.ts';
import type { Config } from '../settings.ts';
import { EXIT } from './failure.ts';
import { openOperator } from './open.ts';
import { plural } from './words.ts';

export interface ReplayOptions {
  readonly dryRun?: boolean;
  readonly project?: readonly number[];
  readonly json?: boolean;
}

export async function replayCommand(
  { dryRun = false, project = [], json = false }: ReplayOptions,
  config: Config,
): Promise<number> {
  const operator = await openOperator(config);
  try {
    const replayed = await operator.replayAlerts({ projects: [...project], dryRun });
    process.stdout.write(json ? `${JSON.stringify(replayed)}\n` : textOf(replayed, dryRun));
    return EXIT.ok;
  } finally {
    await operator.close();
  }
}

function textOf(replayed: readonly ReplayResult[], dryRun: boolean): string {
  if (replayed.length === 0) return 'No project has taken in alerts yet.\n';
  const verb = dryRun ? 'would change' : 'changed';
  const lines = replayed.flatMap(({ project, events, alerts, differing, differences }) => [
    `project ${project}: ${plural(events, 'event')}, ${plural(alerts, 'alert')}, ${differing === 0 ? 'nothing' : plural(differing, 'alert')} ${verb}`,
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
