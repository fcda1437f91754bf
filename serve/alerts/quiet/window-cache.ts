import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { KeyValue } from '../../../infra/ports.ts';
import { newLocator } from '../../accounts/secrets.ts';
import { type WindowTimes, windowSpans } from './window-times.ts';

/** A window that is on. */
export interface ActiveWindow {
  readonly id: string;
  readonly matchers: readonly Matcher[];
  /** When it ends, or when to ask again if that is far. */
  readonly until: number;
}

interface StoredWindow extends WindowTimes {
  readonly id: string;
  readonly matchers: readonly Matcher[];
  readonly is_active: boolean;
}

interface ProjectWindows {
  readonly version: string;
  readonly windows: readonly StoredWindow[];
  /** From `from` on and before `until` the same windows are on. */
  readonly from: number;
  readonly until: number;
  readonly active: readonly ActiveWindow[];
}

const PROJECTS_MAX = 1000;
/** How long a process may miss a change whose process was killed before it changed the version. */
const MISSED_MS_MAX = 60_000;
/** How far ahead it is computed when a window begins and ends. */
const AHEAD_MS = 2 * DAY_MS;

/**
 * The windows of projects and which of them are on, in memory, since each batch of alerts asks. All processes share a
 * version of each project in the key-value store; a process loads the windows again when it has changed.
 */
export class WindowCache {
  readonly #keyValue: KeyValue;
  readonly #load: (projectId: string) => Promise<readonly StoredWindow[]>;
  readonly #projects = new LRUCache<string, ProjectWindows>({ max: PROJECTS_MAX, ttl: MISSED_MS_MAX });

  constructor(keyValue: KeyValue, load: (projectId: string) => Promise<readonly StoredWindow[]>) {
    this.#keyValue = keyValue;
    this.#load = load;
  }

  /** Called after every durable change of a window. */
  async invalidate(projectId: string): Promise<void> {
    await this.#keyValue.set(keyOf(projectId), newLocator());
  }

  async activeAt(projectId: string, now: number): Promise<readonly ActiveWindow[]> {
    // Read before the windows: a change in between has a later version, so the next caller loads again.
    const version = await this.#versionOf(projectId);
    const cached = this.#projects.get(projectId);
    const isCurrent = cached !== undefined && cached.version === version;
    if (isCurrent && now >= cached.from && now < cached.until) return cached.active;
    const windows = isCurrent ? cached.windows : await this.#load(projectId);
    const state = await stateAt(windows, now);
    this.#projects.set(projectId, { version, windows, ...state });
    return state.active;
  }

  async #versionOf(projectId: string): Promise<string> {
    const key = keyOf(projectId);
    const version = await this.#keyValue.get(key);
    if (version !== null) return version;
    // A store that lost its content may have lost a change, too.
    await this.#keyValue.set(key, newLocator(), { onlyIfAbsent: true });
    return (await this.#keyValue.get(key)) ?? '';
  }
}

const keyOf = (projectId: string): string => `alerts/maintenance/${projectId}`;

async function stateAt(
  windows: readonly StoredWindow[],
  now: number,
): Promise<Pick<ProjectWindows, 'from' | 'until' | 'active'>> {
  const active: ActiveWindow[] = [];
  let until = now + AHEAD_MS;
  for (const { id, matchers, is_active, ...times } of windows) {
    const [span] = is_active ? windowSpans(times, { from: now, until: now + AHEAD_MS }) : [];
    if (span === undefined) continue;
    const isOn = span.from === now;
    if (isOn) active.push({ id, matchers, until: span.until });
    until = Math.min(until, isOn ? span.until : span.from);
    await setImmediate();
  }
  return { from: now, until, active };
}
