import { MatchIndex } from '../../../aggregate/alerts/matchers/match-index.ts';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import type { Clock, KeyValue } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { Records } from '../../stored-records/records.ts';
import type { SilenceRow } from '../model/suppression-tables.ts';
import { ProjectCache } from './project-cache.ts';

/** The fields of a silence in the index. */
interface CachedSilence {
  readonly id: string;
  readonly startsMs: number;
  readonly endsMs: number;
}

interface ProjectSilences {
  readonly index: MatchIndex<CachedSilence>;
  /** Starts and ends in order. */
  readonly changes: readonly number[];
  readonly count: number;
}

/** Greater than the limit of silences per project, so no silence is left out. */
const ROWS_MAX = 20_000;
/** Silences in memory, of all projects together: about 2 KB each. A silence with long matchers counts as several. */
const CACHED_MAX = 50_000;
const LONG_CHARACTERS = 1000;

interface SilenceCacheDependencies {
  readonly keyValue: KeyValue;
  readonly records: Records<SilenceRow>;
  readonly clock: Clock;
}

/** The silences of projects that have not ended. */
export class SilenceCache {
  readonly #projects: ProjectCache<ProjectSilences>;

  constructor({ keyValue, records, clock }: SilenceCacheDependencies) {
    this.#projects = new ProjectCache({
      ...{ keyValue, name: 'silences', rowsMax: CACHED_MAX },
      rowsOf: ({ count }) => count,
      load: async (projectId) => {
        const where = sql`project_id = ${projectId} AND ends_ms > ${clock.now()}`;
        const rows = await records.find(where, 'id', ROWS_MAX);
        const index = new MatchIndex(
          rows.map(({ id, starts_ms, ends_ms, matchers }) => ({
            matchers: JSON.parse(matchers) as Matcher[],
            item: { id, startsMs: starts_ms, endsMs: ends_ms },
          })),
        );
        const sizes = rows.map(({ matchers }) => 1 + Math.floor(matchers.length / LONG_CHARACTERS));
        const changes = rows.flatMap(({ starts_ms, ends_ms }) => [starts_ms, ends_ms]).sort((a, b) => a - b);
        return { index, changes, count: sizes.reduce((sum, size) => sum + size, 0) };
      },
    });
  }

  /** Includes pending silences; the caller compares times. */
  async indexOf(projectId: string): Promise<MatchIndex<CachedSilence>> {
    return (await this.#projects.get(projectId)).index;
  }

  /** The next start or end of a silence; null if there is none. */
  async nextChange(projectId: string, now: number): Promise<number | null> {
    const { changes } = await this.#projects.get(projectId);
    return changes.find((at) => at > now) ?? null;
  }

  invalidate(projectId: string): Promise<void> {
    return this.#projects.invalidate(projectId);
  }
}
