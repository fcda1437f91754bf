import type { Store } from '../../../infra/ports.ts';
import { chunkForIn, sql } from '../../../infra/sql.ts';
import type { DeletionHead } from '../model/event.ts';
import { alertEvents, alerts, deletedEvents } from '../model/tables.ts';
import { CHANGING_OUTCOMES, storedProgressOf } from './stored-state.ts';

/** Events per query. */
const EVENTS_MAX = 100_000;

/**
 * Deletes old events of a project and returns their number. Stores the time bound first: after a kill the log may deliver
 * deleted events again, and the bound lets the processor drop them. No other process may write to the project meanwhile.
 */
export async function deleteOldEvents(
  store: Store,
  { project, before, until }: Pick<DeletionHead, 'project' | 'before' | 'until'>,
): Promise<number> {
  await store.insert(deletedEvents, [{ project, before_ms: before }]);
  const kept = await positionsToKeep(store, project);
  const { eventPosition, alertPosition } = await storedProgressOf(store, project);
  for (let total = 0; ; ) {
    const old = await store.rows<{ position: number }>(
      sql`SELECT DISTINCT position FROM ${alertEvents}
        WHERE project = ${project} AND position <= ${Math.min(until, eventPosition)} AND at < ${before}
          AND (position <= ${alertPosition} OR NOT hasAny(outcomes, ${CHANGING_OUTCOMES}))
          AND position NOT IN ${kept}
          AND position NOT IN (SELECT position FROM ${alertEvents} ARRAY JOIN iids AS iid
            WHERE project = ${project} AND at < ${before}
              AND iid IN (SELECT iid FROM ${alerts} WHERE project = ${project}
                GROUP BY iid HAVING argMax(status, position) != 'resolved'))
        ORDER BY position LIMIT ${EVENTS_MAX}`,
    );
    // A lightweight delete does not rewrite the parts, which other projects share.
    for (const positions of chunkForIn(old.map(({ position }) => position)))
      await store.run(
        sql`DELETE FROM ${alertEvents} WHERE project = ${project} AND position IN ${positions}`,
      );
    total += old.length;
    if (old.length < EVENTS_MAX) return total;
  }
}

/**
 * Positions that later events need: the newest event; the newest event of each partition, because its offset shows
 * repeated events; and the newest event with the highest alert number, because new numbers continue from it.
 */
async function positionsToKeep(store: Store, project: number): Promise<number[]> {
  const rows = await store.rows<{ position: number }>(
    sql`SELECT max(position) AS position FROM ${alertEvents} WHERE project = ${project}
      UNION ALL SELECT argMax(position, log_offset) FROM ${alertEvents} WHERE project = ${project}
        GROUP BY log_partition
      UNION ALL SELECT argMax(position, (last_iid, position)) FROM ${alertEvents} WHERE project = ${project} AND last_iid > 0`,
  );
  return rows.map(({ position }) => position);
}
