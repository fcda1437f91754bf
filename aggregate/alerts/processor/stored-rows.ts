import { chunkBySize } from '../../../infra/chunk.ts';
import type { Store } from '../../../infra/ports.ts';
import { chunkForIn, raw, type Sql, sql } from '../../../infra/sql.ts';
import type { Alert } from '../model/alert.ts';
import { decodeHead, type EventHead } from '../model/event.ts';
import { alertEvents, alerts } from '../model/tables.ts';

// Reads rows in pages of limited size, because a body may have a megabyte.

const PAGE_BYTES = 8 * 2 ** 20;
/** Events whose sizes are read at once. */
const POSITIONS_PER_READ = 2000;

/** Alerts of a project by their numbers, in pages. */
export async function* alertPages(
  store: Store,
  project: number,
  iids: readonly number[],
): AsyncGenerator<Alert[]> {
  for (const some of chunkForIn(iids)) {
    const sizes = await store.rows<{ iid: number; bytes: number }>(
      sql`SELECT iid, sum(length(description) + length(query) + length(incident_markdown)
          + length(toString(match_labels)) + 1000) AS bytes
        FROM ${alerts} WHERE project = ${project} AND iid IN ${some} GROUP BY iid ORDER BY iid`,
    );
    for (const page of chunkBySize(sizes, PAGE_BYTES, ({ bytes }) => bytes)) {
      yield await store.rows<Alert>(
        sql`SELECT * FROM ${alerts} FINAL
          PREWHERE project = ${project} AND iid IN ${page.map(({ iid }) => iid)}`,
      );
    }
  }
}

/** Inclusive ranges of positions whose events fit into one page. */
export async function* positionRanges(
  store: Store,
  project: number,
  after: number,
  until: number,
): AsyncGenerator<{ readonly from: number; readonly until: number }> {
  for (let from = after + 1; from <= until; from += POSITIONS_PER_READ) {
    const sizes = await store.rows<{ position: number; bytes: number }>(
      sql`SELECT position, sum(length(body) + length(head) + 500) AS bytes FROM ${alertEvents}
        WHERE project = ${project} AND position BETWEEN ${from} AND ${Math.min(until, from + POSITIONS_PER_READ - 1)}
        GROUP BY position ORDER BY position`,
    );
    for (const page of chunkBySize(sizes, PAGE_BYTES, ({ bytes }) => bytes)) {
      yield { from: page[0]?.position ?? 0, until: page.at(-1)?.position ?? 0 };
    }
  }
}

/** The rows of `alert_events` in a range of positions, in order. */
export const eventRows = <Row>(
  store: Store,
  columns: Sql,
  project: number,
  range: { readonly from: number; readonly until: number },
): Promise<Row[]> =>
  store.rows<Row>(
    sql`SELECT ${columns} FROM ${alertEvents} FINAL
      PREWHERE project = ${project} AND position BETWEEN ${range.from} AND ${range.until} ORDER BY position`,
  );

export interface AlertEventRow {
  readonly position: number;
  readonly head: EventHead;
  readonly body: Buffer;
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}

/** Events of a project after a position, in order. */
export async function* eventsAfter(
  store: Store,
  project: number,
  position: number,
  until: number,
): AsyncGenerator<AlertEventRow> {
  type Row = Omit<AlertEventRow, 'head' | 'body'> & { readonly head: string; readonly body: string };
  const columns = raw('position, head, body, outcomes, iids');
  for await (const range of positionRanges(store, project, position, until)) {
    for (const row of await eventRows<Row>(store, columns, project, range)) {
      yield { ...row, head: decodeHead(row.head), body: Buffer.from(row.body) };
    }
  }
}
