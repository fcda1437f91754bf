import { LRUCache } from 'lru-cache';
import { MatchIndex } from '../../../aggregate/alerts/matchers/match-index.ts';
import type { Matcher } from '../../../aggregate/alerts/matchers/matcher.ts';
import type { Clock, KeyValue } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { newLocator } from '../../accounts/secrets.ts';
import type { Records } from '../../stored-records/records.ts';
import type { SilenceRow } from '../model/quiet-tables.ts';

/** What of a silence decides whether an alert is quiet. */
interface CachedSilence {
  readonly id: string;
  readonly startsMs: number;
  readonly endsMs: number;
}

interface ProjectSilences {
  readonly version: string;
  readonly index: MatchIndex<CachedSilence>;
  readonly count: number;
}

/** More than a project may have. */
const ROWS_MAX = 20_000;
/** Silences in memory, of all projects together: about 2 KB each. */
const CACHED_MAX = 50_000;
/** How long a process may miss a change whose process was killed before it changed the version. */
const MISSED_MS_MAX = 60_000;

const versionKey = (projectId: string): string => `alerts/silences/${projectId}`;

/**
 * The silences of projects that have not ended, in memory. All processes share a version for each project in the
 * key-value store; a process reads the silences again when it has changed.
 */
export class SilenceCache {
  readonly #keyValue: KeyValue;
  readonly #records: Records<SilenceRow>;
  readonly #clock: Clock;
  readonly #projects = new LRUCache<string, ProjectSilences>({
    maxSize: CACHED_MAX,
    ttl: MISSED_MS_MAX,
    sizeCalculation: ({ count }) => count + 1,
  });

  constructor({
    keyValue,
    records,
    clock,
  }: {
    readonly keyValue: KeyValue;
    readonly records: Records<SilenceRow>;
    readonly clock: Clock;
  }) {
    this.#keyValue = keyValue;
    this.#records = records;
    this.#clock = clock;
  }

  /** Also those that begin later. */
  async indexOf(projectId: string): Promise<MatchIndex<CachedSilence>> {
    const cached = this.#projects.get(projectId);
    let version: string | null;
    try {
      // A load that began before a change may have missed it, so the version is read before the silences.
      version = await this.#keyValue.get(versionKey(projectId));
    } catch (error) {
      // Stale silences are better than pages that cannot be decided on.
      if (cached !== undefined) return cached.index;
      throw error;
    }
    if (cached !== undefined && cached.version === version) return cached.index;
    return this.#load(projectId, version ?? (await this.#begin(projectId)));
  }

  /** Called after every durable change. */
  async invalidate(projectId: string): Promise<void> {
    await this.#keyValue.set(versionKey(projectId), newLocator());
  }

  async #begin(projectId: string): Promise<string> {
    await this.#keyValue.set(versionKey(projectId), newLocator(), { onlyIfAbsent: true });
    return (await this.#keyValue.get(versionKey(projectId))) ?? '';
  }

  async #load(projectId: string, version: string): Promise<MatchIndex<CachedSilence>> {
    const rows = await this.#records.find(
      sql`project_id = ${projectId} AND ends_ms > ${this.#clock.now()}`,
      'id',
      ROWS_MAX,
    );
    const index = new MatchIndex(
      rows.map(({ id, starts_ms, ends_ms, matchers }) => ({
        matchers: JSON.parse(matchers) as Matcher[],
        item: { id, startsMs: starts_ms, endsMs: ends_ms },
      })),
    );
    this.#projects.set(projectId, { version, index, count: rows.length });
    return index;
  }
}
