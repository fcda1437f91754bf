import { DAY_MS } from '../../../infra/days.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { Policies } from '../oncall/policies.ts';
import type { Schedules } from '../oncall/schedules.ts';
import type { Projects } from '../projects/projects.ts';

export const COVERAGES = ['covered', 'gap_within_day', 'gap_now'] as const;

/** Schedules that a policy uses, by coverage. */
export type ScheduleFigures = Readonly<Record<(typeof COVERAGES)[number], number>>;

export interface ScheduleSources {
  readonly clock: Clock;
  readonly projects: Pick<Projects, 'numbers'>;
  readonly policies: Pick<Policies, 'scheduleTargets'>;
  readonly schedules: Pick<Schedules, 'find' | 'gaps'>;
}

/** Reads one schedule after the other, so that other work goes on in between. */
export async function readScheduleFigures(sources: ScheduleSources): Promise<ScheduleFigures> {
  const { clock, projects, policies, schedules } = sources;
  const existing = new Set(await projects.numbers());
  const figures = { covered: 0, gap_within_day: 0, gap_now: 0 };
  for (const { projectId, scheduleId } of await policies.scheduleTargets()) {
    const schedule = existing.has(Number(projectId)) ? await schedules.find(projectId, scheduleId) : null;
    if (schedule === null) continue;
    const now = clock.now();
    const [gap] = await schedules.gaps(schedule, DAY_MS);
    if (gap === undefined) figures.covered++;
    else figures[gap.from <= now ? 'gap_now' : 'gap_within_day']++;
  }
  return figures;
}
