import { alerts } from '../../../aggregate/alerts/model/tables.ts';
import { chunkBySize } from '../../../infra/chunk.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { heartbeats } from '../model/tables.ts';

/** Names of beats: any request, and POST …/heartbeat. A Watchdog is named by its fingerprint. */
export const EVERY_REQUEST = '';
export const POSTED = 'posted';

export const isWatchdog = (beat: string): boolean => beat !== EVERY_REQUEST && beat !== POSTED;

/** A row of the table: a beat that is or was watched. */
export interface HeartbeatRow {
  readonly project: number;
  readonly integration: string;
  readonly beat: string;
  /** Labels of the Watchdog, as `name=value`. */
  readonly labels: readonly string[];
  readonly heard_ms: number;
  readonly watched_ms: number;
  readonly ended_ms: number;
  readonly watchdog_ms: number;
}

export type HeartbeatKey = Pick<HeartbeatRow, 'project' | 'integration' | 'beat' | 'labels'>;

/** The newest alert about a missing beat. */
export interface HeartbeatAlert {
  readonly iid: number;
  readonly isOpen: boolean;
  readonly startedMs: number;
}

/** Monitoring tool of alerts about missing beats. */
export const HEARTBEAT_TOOL = 'Heartbeat';

/** True if a beat is watched. EVERY_REQUEST is watched from the first check on, even before a request arrives. */
export const isWatched = ({ beat, heard_ms, watched_ms, ended_ms }: HeartbeatRow): boolean =>
  (beat === EVERY_REQUEST ? watched_ms : heard_ms) > ended_ms;

export const newRow = (key: HeartbeatKey): HeartbeatRow => ({
  ...key,
  heard_ms: 0,
  watched_ms: 0,
  ended_ms: 0,
  watchdog_ms: 0,
});

/** Keeps a query well below the size that ClickHouse accepts. */
const FINGERPRINTS_PER_QUERY = 1000;

/** The beats of all integrations, and the alerts about missing beats. */
export class HeartbeatStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Watched beats. Also the EVERY_REQUEST row of each integration, even after its watch ended. */
  rows(): Promise<HeartbeatRow[]> {
    return this.#store.rows<HeartbeatRow>(
      sql`SELECT * FROM ${heartbeats} FINAL WHERE beat = ${EVERY_REQUEST} OR heard_ms > ended_ms`,
    );
  }

  /** Like `rows`, for some integrations. */
  rowsOf(projects: readonly number[], integrations: readonly string[]): Promise<HeartbeatRow[]> {
    if (integrations.length === 0) return Promise.resolve([]);
    return this.#store.rows<HeartbeatRow>(
      sql`SELECT * FROM ${heartbeats} FINAL WHERE project IN ${projects} AND integration IN ${integrations}
        AND (beat = ${EVERY_REQUEST} OR heard_ms > ended_ms)`,
    );
  }

  /** Merges rows into the stored rows. Of each time, the later value counts. */
  async merge(rows: readonly HeartbeatRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.#store.insert(
      heartbeats,
      rows.map((row) => ({ ...row })),
    );
  }

  /** The newest alert of each beat, by fingerprint. */
  async newestAlerts(
    keys: readonly { readonly project: number; readonly fingerprint: string }[],
  ): Promise<ReadonlyMap<string, HeartbeatAlert>> {
    const found = new Map<string, HeartbeatAlert>();
    // Sorted by project, so each query reads the alerts of few projects.
    const sorted = keys.toSorted((a, b) => a.project - b.project);
    for (const part of chunkBySize(sorted, FINGERPRINTS_PER_QUERY, () => 1)) {
      const projects = [...new Set(part.map(({ project }) => project))];
      const fingerprints = part.map(({ fingerprint }) => fingerprint);
      const rows = await this.#store.rows<{
        fingerprint: string;
        iid: number;
        status: string;
        started_ms: number;
      }>(
        sql`SELECT fingerprint, iid, status, started_ms FROM ${alerts} FINAL
          WHERE project IN ${projects} AND fingerprint IN ${fingerprints} ORDER BY iid DESC LIMIT 1 BY fingerprint`,
      );
      for (const { fingerprint, iid, status, started_ms } of rows)
        found.set(fingerprint, { iid, isOpen: status !== 'resolved', startedMs: started_ms });
    }
    return found;
  }
}
