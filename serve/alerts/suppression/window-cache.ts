import { setImmediate } from 'node:timers/promises';
import { MatchIndex } from '../../../aggregate/alerts/matchers/match-index.ts';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { KeyValue } from '../../../infra/ports.ts';
import { ProjectCache } from './project-cache.ts';
import { type WindowTimes, windowSpans } from './window-times.ts';

/** A window that is on. */
interface CurrentWindow {
  readonly id: string;
  /** The end of the window, or the end of the search if that is earlier. */
  readonly until: number;
}

interface StoredWindow extends WindowTimes {
  readonly id: string;
  readonly matchers: readonly Matcher[];
  readonly is_active: boolean;
}

/** `current` is valid from `from` (inclusive) to `until` (exclusive). */
interface Period {
  readonly from: number;
  readonly until: number;
  readonly current: MatchIndex<CurrentWindow>;
}

interface ProjectWindows {
  readonly windows: readonly StoredWindow[];
  /** The period of the last lookup. */
  period: Period | null;
}

/** Windows in memory, of all projects together. */
const CACHED_MAX = 20_000;
/** Limit of the search for the next change. */
const SEARCH_MS = 2 * DAY_MS;

/** The maintenance windows of projects, with an index of the windows that are on. */
export class WindowCache {
  readonly #projects: ProjectCache<ProjectWindows>;

  constructor(keyValue: KeyValue, load: (projectId: string) => Promise<readonly StoredWindow[]>) {
    this.#projects = new ProjectCache<ProjectWindows>({
      ...{ keyValue, name: 'maintenance', rowsMax: CACHED_MAX },
      rowsOf: ({ windows }) => windows.length,
      load: async (projectId) => ({ windows: await load(projectId), period: null }),
    });
  }

  invalidate(projectId: string): Promise<void> {
    return this.#projects.invalidate(projectId);
  }

  /** The windows of a project that are on at a moment. */
  async indexAt(projectId: string, now: number): Promise<MatchIndex<CurrentWindow>> {
    return (await this.#periodAt(await this.#projects.get(projectId), now)).current;
  }

  /** The next time to look again: a window may begin or end then. Null if the project has no windows. */
  async nextChange(projectId: string, now: number): Promise<number | null> {
    const project = await this.#projects.get(projectId);
    return project.windows.length === 0 ? null : (await this.#periodAt(project, now)).until;
  }

  async #periodAt(project: ProjectWindows, now: number): Promise<Period> {
    const { period } = project;
    if (period !== null && now >= period.from && now < period.until) return period;
    const next = await periodAt(project.windows, now);
    project.period = next;
    return next;
  }
}

async function periodAt(windows: readonly StoredWindow[], now: number): Promise<Period> {
  const current: { readonly matchers: readonly Matcher[]; readonly item: CurrentWindow }[] = [];
  let until = now + SEARCH_MS;
  for (const { id, matchers, is_active, ...times } of windows) {
    const [span] = is_active ? windowSpans(times, { from: now, until: now + SEARCH_MS }) : [];
    if (span === undefined) continue;
    const isOn = span.from === now;
    if (isOn) current.push({ matchers, item: { id, until: span.until } });
    until = Math.min(until, isOn ? span.until : span.from);
    await setImmediate();
  }
  return { from: now, until, current: new MatchIndex(current) };
}
