import type { IntegrationSummary } from '../model/tables.ts';
import {
  EVERY_REQUEST,
  type HeartbeatRow,
  isWatchdog,
  isWatched,
  newRow,
  POSTED,
} from './heartbeat-store.ts';

// Decides which beats are watched and how long each is missing. Pure functions of stored times and a clock.

/** A span in which no server checked heartbeats. */
export interface CheckGap {
  readonly from: number;
  readonly until: number;
}

/** The beats of an integration at a check. */
interface Watch {
  readonly watched: readonly HeartbeatRow[];
  /** Beats whose watch ends with this check. */
  readonly ended: readonly HeartbeatRow[];
  /** Rows to store first, so that a restart counts from the same time. */
  readonly changed: readonly HeartbeatRow[];
}

/** `integration` is null if it was deleted or deactivated, or has no heartbeat any more. */
export function watchOf(
  integration: IntegrationSummary | null,
  rows: readonly HeartbeatRow[],
  now: number,
): Watch {
  if (integration === null) return { watched: [], ended: rows.filter(isWatched), changed: [] };
  const { id, project_id } = integration;
  const key = { project: Number(project_id), integration: id, beat: EVERY_REQUEST, labels: [] };
  const requests = rows.find(({ beat }) => beat === EVERY_REQUEST) ?? newRow(key);
  const others = rows.filter(({ beat }) => beat !== EVERY_REQUEST);
  const watchdogs = others.filter(({ beat }) => isWatchdog(beat));
  if (integration.heartbeat_matchers !== '' && requests.watchdog_ms > 0) {
    if (!isWatched(requests)) return { watched: others, ended: [], changed: [] };
    // A beat that was posted before the first Watchdog counted as a plain request only.
    const posted = others.filter(({ beat }) => beat === POSTED);
    return { watched: watchdogs, ended: [requests, ...posted], changed: [] };
  }
  if (isWatched(requests)) return { watched: [requests], ended: watchdogs, changed: [] };
  const begun = { ...requests, watched_ms: Math.max(now, requests.ended_ms + 1) };
  return { watched: [begun], ended: watchdogs, changed: [begun] };
}

/** Time since which a beat is missing. */
export const missingSince = ({ heard_ms, watched_ms }: HeartbeatRow): number =>
  Math.max(heard_ms, watched_ms);

/** The missing time, not counting the gap. After a gap of a whole period, the period starts again. */
export function missingMs(sinceMs: number, now: number, periodMs: number, { from, until }: CheckGap): number {
  if (until - from >= periodMs) return now - Math.max(sinceMs, until);
  const excusedMs = Math.max(0, until - Math.max(sinceMs, from));
  return now - sinceMs - excusedMs;
}
