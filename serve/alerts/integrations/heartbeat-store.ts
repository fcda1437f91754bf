import { alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { heartbeats } from '../model/tables.ts';

/** What is stored of the heartbeat of an integration. */
export interface HeartbeatRow {
  readonly integration: string;
  readonly project: number;
  readonly heard_ms: number;
  /** Since when its source is watched; 0 while it is not. */
  readonly watched_ms: number;
}

/** The newest alert about the silence of a source. */
export interface HeartbeatAlert {
  readonly isOpen: boolean;
  readonly startedMs: number;
}

/** Name of the tool of alerts about silence. */
export const HEARTBEAT_TOOL = 'Heartbeat';

/** The heartbeats of all integrations, and their alerts. */
export class HeartbeatStore {
  readonly #store: Store;
  readonly #clock: Clock;
  /** As they were stored last, so that only changes are written. */
  #known = new Map<string, string>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** By integration. */
  async rows(): Promise<ReadonlyMap<string, HeartbeatRow>> {
    const rows = await this.#store.rows<HeartbeatRow>(
      sql`SELECT integration, project, heard_ms, watched_ms FROM ${heartbeats} FINAL`,
    );
    this.#known = new Map(rows.map((row) => [row.integration, JSON.stringify(textOf(row))]));
    return new Map(rows.map((row) => [row.integration, row]));
  }

  async save(rows: readonly HeartbeatRow[]): Promise<void> {
    const changed = rows.filter((row) => this.#known.get(row.integration) !== JSON.stringify(textOf(row)));
    const version = this.#clock.now();
    if (changed.length > 0)
      await this.#store.insert(
        heartbeats,
        changed.map((row) => ({ ...row, version })),
      );
  }

  /** By fingerprint. */
  async newestAlerts(
    projects: readonly number[],
    fingerprints: readonly string[],
  ): Promise<ReadonlyMap<string, HeartbeatAlert>> {
    if (fingerprints.length === 0) return new Map();
    const rows = await this.#store.rows<{ fingerprint: string; status: string; started_ms: number }>(
      sql`SELECT fingerprint, status, started_ms FROM ${alerts} FINAL
        WHERE project IN ${projects} AND fingerprint IN ${fingerprints} ORDER BY iid DESC LIMIT 1 BY fingerprint`,
    );
    return new Map(
      rows.map(({ fingerprint, status, started_ms }) => [
        fingerprint,
        { isOpen: status !== 'resolved', startedMs: started_ms },
      ]),
    );
  }
}

const textOf = ({ project, heard_ms, watched_ms }: HeartbeatRow) => [project, heard_ms, watched_ms];
