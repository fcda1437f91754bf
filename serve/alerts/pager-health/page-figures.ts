import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { pageNotifications, pages } from '../model/oncall-tables.ts';
import { alertSilences } from '../model/suppression-tables.ts';
import { WINDOW_MS_MAX } from '../paging/bundling.ts';
import { PAGE_STATES } from '../paging/escalation.ts';

export const OPEN_PAGE_STATES = PAGE_STATES.filter((state) => state !== 'closed');

export const UNEXPIRED_SILENCE_STATES = ['active', 'pending'] as const;

export interface PageFigures {
  /** Pages that are not closed, by state. */
  readonly pages: Readonly<Record<string, number>>;
  /** Time since the oldest due step or message became due. */
  readonly oldestDueMs: number;
  /** Silences by state. */
  readonly silences: Readonly<Record<(typeof UNEXPIRED_SILENCE_STATES)[number], number>>;
}

export async function readPageFigures(store: Pick<Store, 'rows'>, now: number): Promise<PageFigures> {
  const rows = await store.rows<{ state: string; count: number; next: number }>(
    sql`SELECT state, count() AS count, minIf(next_ms, next_ms > 0) AS next FROM ${pages} FINAL
      WHERE state != 'closed' GROUP BY state`,
  );
  const nexts = rows.map(({ next }) => next).filter((next) => next > 0);
  const oldest = Math.min(now, await oldestMessage(store, now), ...nexts);
  return {
    pages: Object.fromEntries(rows.map(({ state, count }) => [state, count])),
    oldestDueMs: now - oldest,
    silences: await readSilences(store, now),
  };
}

/**
 * Time of the oldest due message; `now` if none. Skips messages that wait for a failing destination, and messages that
 * may wait to be bundled.
 */
async function oldestMessage(store: Pick<Store, 'rows'>, now: number): Promise<number> {
  const [row] = await store.rows<{ oldest: number }>(
    sql`WITH open AS (
        SELECT project, destination, state, attempts, due_ms, started_ms FROM ${pageNotifications} FINAL
        WHERE state IN ('pending', 'sending') AND due_ms <= ${now})
      SELECT min(if(state = 'sending', started_ms, due_ms)) AS oldest FROM open
      WHERE state = 'sending' OR attempts = 0
        AND (project, destination) NOT IN (SELECT project, destination FROM open WHERE attempts > 0)
        AND (project, destination) NOT IN (
          SELECT project, destination FROM ${pageNotifications} WHERE sent_ms > ${now - WINDOW_MS_MAX})`,
  );
  return row?.oldest || now;
}

async function readSilences(store: Pick<Store, 'rows'>, now: number): Promise<PageFigures['silences']> {
  const [row] = await store.rows<{ active: number; pending: number }>(
    sql`SELECT countIf(starts_ms <= ${now}) AS active, countIf(starts_ms > ${now}) AS pending
      FROM ${alertSilences} FINAL WHERE ends_ms > ${now}`,
  );
  return row ?? { active: 0, pending: 0 };
}
