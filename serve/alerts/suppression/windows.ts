import { cleanLine, visible } from '../../../aggregate/alerts/formats/values.ts';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, KeyValue } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import { RequestRefused } from '../model/access.ts';
import { requireSelectiveList } from '../model/entered-matchers.ts';
import type { MaintenanceWindowRow } from '../model/suppression-tables.ts';
import { INTERVALS_MAX, type LocatedInterval } from '../oncall/time-intervals.ts';
import { WindowCache } from './window-cache.ts';
import type { WindowTimes } from './window-times.ts';

const WINDOWS_PER_PROJECT = 200;
const NAME_CHARACTERS_MAX = 255;
export const WINDOW_COMMENT_CHARACTERS_MAX = 1000;

export interface WindowFields extends WindowTimes {
  readonly name: string;
  /** Alerts that match page nobody while the window is on. */
  readonly matchers: readonly Matcher[];
  readonly comment: string;
  readonly is_active: boolean;
}

/** A maintenance window: while it is on, alerts that match it page nobody. */
export interface MaintenanceWindow extends WindowFields {
  readonly id: string;
  readonly author_id: string;
  readonly created_ms: number;
}

interface WindowsDependencies {
  readonly records: Records<MaintenanceWindowRow>;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
  /** Called after a change is stored: updates pages at once. */
  readonly onChanged: (projectId: string) => void;
}

/** The maintenance windows of projects. */
export class Windows {
  readonly #deps: WindowsDependencies;
  readonly #cache: WindowCache;

  constructor(dependencies: WindowsDependencies) {
    this.#deps = dependencies;
    this.#cache = new WindowCache(dependencies.keyValue, (projectId) => this.list(projectId));
  }

  /** Sorted by name. */
  async list(projectId: string): Promise<MaintenanceWindow[]> {
    const rows = await this.#deps.records.find(
      sql`project_id = ${projectId} AND deleted_ms = 0`,
      'lowerUTF8(name), id',
      WINDOWS_PER_PROJECT,
    );
    return rows.map(windowOf);
  }

  async get(projectId: string, id: string): Promise<MaintenanceWindow> {
    const row = await this.#deps.records.get(id);
    if (row === null || row.project_id !== projectId || row.deleted_ms > 0) throw notFound();
    return windowOf(row);
  }

  /** The windows of a project that are on at a moment. */
  indexAt(projectId: string, now: number) {
    return this.#cache.indexAt(projectId, now);
  }

  nextChange(projectId: string, now: number): Promise<number | null> {
    return this.#cache.nextChange(projectId, now);
  }

  create(projectId: string, author: string, input: WindowFields): Promise<MaintenanceWindow> {
    return this.#withLock(projectId, async (windows) => {
      if (windows.length >= WINDOWS_PER_PROJECT) {
        const text = `A project can have up to ${WINDOWS_PER_PROJECT} maintenance windows. Delete one first.`;
        throw new RequestRefused('conflict', text);
      }
      const fields = validFields(input, windows);
      const now = this.#deps.clock.now();
      if (fields.until_ms !== 0 && fields.until_ms <= now)
        throw new RequestRefused('bad_request', 'The end must be in the future.', 'until');
      const row = {
        ...columnsOf(fields),
        id: newLocator(),
        expires_ms: 0,
        project_id: projectId,
        author_id: author,
        created_ms: now,
        deleted_ms: 0,
      };
      await this.#deps.records.add(row);
      return windowOf(row);
    });
  }

  change(
    projectId: string,
    id: string,
    author: string,
    changes: Partial<WindowFields>,
  ): Promise<MaintenanceWindow> {
    return this.#withLock(projectId, async (windows) => {
      const before = windows.find((window) => window.id === id);
      if (before === undefined) throw notFound();
      const others = windows.filter((window) => window !== before);
      const fields = validFields({ ...before, ...changes }, others);
      await this.#deps.records.change(id, (row) => ({
        next: { ...(row as MaintenanceWindowRow), ...columnsOf(fields), author_id: author },
        result: undefined,
      }));
      return { ...before, ...fields, author_id: author };
    });
  }

  async delete(projectId: string, id: string, author: string): Promise<void> {
    await this.#withLock(projectId, async (windows) => {
      const before = windows.find((window) => window.id === id);
      if (before === undefined) throw notFound();
      await this.#deps.records.change(id, (row) => ({
        next: { ...(row as MaintenanceWindowRow), author_id: author, deleted_ms: this.#deps.clock.now() },
        result: undefined,
      }));
    });
  }

  /** The lock makes the checks and the write one step. */
  async #withLock<Result>(
    projectId: string,
    work: (windows: readonly MaintenanceWindow[]) => Promise<Result>,
  ): Promise<Result> {
    const { locks, onChanged } = this.#deps;
    const result = await locks.run(`maintenance/${projectId}`, async () => work(await this.list(projectId)));
    await this.#cache.invalidate(projectId);
    onChanged(projectId);
    return result;
  }
}

const notFound = () => new RequestRefused('not_found', 'Maintenance Window Not Found');

const columnsOf = ({ matchers, time_intervals, ...fields }: WindowFields) => ({
  name: fields.name,
  matchers: JSON.stringify(matchers),
  time_intervals: JSON.stringify(time_intervals),
  from_ms: fields.from_ms,
  until_ms: fields.until_ms,
  comment: fields.comment,
  is_active: fields.is_active,
});

const windowOf = (row: Omit<MaintenanceWindowRow, 'version'>): MaintenanceWindow => ({
  id: row.id,
  name: row.name,
  matchers: JSON.parse(row.matchers) as Matcher[],
  time_intervals: JSON.parse(row.time_intervals) as LocatedInterval[],
  from_ms: row.from_ms,
  until_ms: row.until_ms,
  comment: row.comment,
  is_active: row.is_active,
  author_id: row.author_id,
  created_ms: row.created_ms,
});

function validFields(input: WindowFields, others: readonly MaintenanceWindow[]): WindowFields {
  const refused = (text: string, field: string) => new RequestRefused('bad_request', text, field);
  const name = cleanLine(input.name);
  const comment = visible(input.comment).trim();
  const { matchers, time_intervals, from_ms, until_ms, is_active } = input;
  if (name === '') throw refused('Enter a name.', 'name');
  if (name.length > NAME_CHARACTERS_MAX)
    throw refused(`Enter at most ${NAME_CHARACTERS_MAX} characters.`, 'name');
  if (others.some((other) => other.name === name)) {
    const text = `Another maintenance window has the name ${name}. Enter another one.`;
    throw new RequestRefused('conflict', text, 'name');
  }
  requireSelectiveList(matchers, 'matchers');
  if (time_intervals.length > INTERVALS_MAX)
    throw refused(`Enter at most ${INTERVALS_MAX} intervals.`, 'time_intervals');
  if (until_ms !== 0 && until_ms <= from_ms) throw refused('The end must be after the start.', 'until');
  if (comment.length > WINDOW_COMMENT_CHARACTERS_MAX)
    throw refused(`Enter at most ${WINDOW_COMMENT_CHARACTERS_MAX} characters.`, 'comment');
  return { name, matchers, time_intervals, from_ms, until_ms, comment, is_active };
}
