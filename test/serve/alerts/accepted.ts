import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { EventHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents, alerts } from '../../../aggregate/alerts/model/tables.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Store } from '../../../infra/ports.ts';
import { type ReferenceAlert, type ReferenceEvent, type ReferenceWindows, replay } from './reference.ts';
import type { Attempts } from './senders.ts';

/** What is stored in the end, and everything that is wrong with it. */
export interface Verdict {
  readonly acknowledged: number;
  readonly stored: number;
  readonly alerts: number;
  readonly faults: readonly string[];
}

/**
 * Compares what a store holds of projects with what their senders were told, and with a slow reference that is given
 * the accepted events.
 */
export async function judge(
  store: Store,
  projects: readonly number[],
  marks: ReadonlyMap<string, Attempts>,
  windows: ReferenceWindows,
): Promise<Verdict> {
  const all: StoredRow[] = [];
  const faults: string[] = [];
  let count = 0;
  for (const project of projects) {
    const rows = await store.rows<StoredRow>(
      sql`SELECT position, id, head, body, iids, outcomes FROM ${alertEvents} FINAL
        WHERE project = ${project} ORDER BY position`,
    );
    const stored = await store.rows<Alert>(
      sql`SELECT * FROM ${alerts} FINAL WHERE project = ${project} ORDER BY iid`,
    );
    const found = [...orderFaults(rows), ...differing(stored, replay(rows.map(eventOf), windows))];
    faults.push(...found.map((fault) => `project ${project}: ${fault}`));
    count += stored.length;
    for (const row of rows) all.push(row);
  }
  return {
    acknowledged: [...marks.values()].reduce((sum, { told }) => sum + told.length, 0),
    stored: all.length,
    alerts: count,
    faults: [...faults, ...lostOrTwice(all, marks)],
  };
}

interface StoredRow {
  readonly position: number;
  readonly id: string;
  readonly head: string;
  readonly body: string;
  readonly iids: readonly number[];
  readonly outcomes: readonly string[];
}

function eventOf({ head, body }: StoredRow): ReferenceEvent {
  const event = JSON.parse(head) as EventHead;
  if (event.kind === 'action') {
    const action = { iid: event.iid, status: event.change.status ?? '' };
    return { at: event.at, integration: '', idempotencyKey: '', body: '', action };
  }
  return { at: event.at, integration: event.integration, idempotencyKey: event.idempotency_key, body };
}

/** Positions are numbered from 1 without gaps, and no event is there twice. */
function orderFaults(rows: readonly StoredRow[]): string[] {
  const gap = rows.findIndex(({ position }, i) => position !== i + 1);
  const twice = rows.length - new Set(rows.map(({ id }) => id)).size;
  return [
    ...(gap === -1 ? [] : [`position ${rows[gap]?.position} stands where ${gap + 1} should`]),
    ...(twice === 0 ? [] : [`${twice} events are stored twice`]),
  ];
}

/** Every attempt that was answered with 200 is stored once, with what the answer said; none is stored twice. */
function lostOrTwice(rows: readonly StoredRow[], marks: ReadonlyMap<string, Attempts>): string[] {
  const found = new Map<string, string[]>();
  for (const { body, iids, outcomes } of rows) {
    if (body === '') continue;
    const { mark } = JSON.parse(body) as { mark: string };
    const created = iids.filter((_, i) => outcomes[i] === 'created');
    const of = found.get(mark);
    if (of) of.push(String(created));
    else found.set(mark, [String(created)]);
  }
  return [...marks].flatMap(([mark, { made, told }]) => {
    const [first = '', ...others] = found.get(mark) ?? [];
    const times = found.has(mark) ? others.length + 1 : 0;
    if (times < told.length)
      return [`${mark} was acknowledged ${told.length} times and is stored ${times} times`];
    if (times > made) return [`${mark} was sent ${made} times and is stored ${times} times`];
    const wrong = told.find((created) => created !== first);
    return wrong === undefined ? [] : [`${mark} was told ${wrong}, stored is ${first}`];
  });
}

const COMPARED = [
  'iid',
  'title',
  'severity',
  'status',
  'events',
  'created_ms',
  'seen_ms',
  'ended_ms',
  'acknowledged_ms',
] as const satisfies readonly (keyof ReferenceAlert & keyof Alert)[];
const SHOWN_MOST = 20;

function differing(stored: readonly Alert[], expected: readonly ReferenceAlert[]): string[] {
  const faults =
    stored.length === expected.length ? [] : [`${stored.length} alerts, expected ${expected.length}`];
  expected.forEach((alert, i) => {
    for (const name of COMPARED) {
      if (stored[i]?.[name] !== alert[name]) {
        faults.push(`alert ${alert.iid}: ${name} is ${stored[i]?.[name]}, expected ${alert[name]}`);
      }
    }
  });
  return faults.slice(0, SHOWN_MOST);
}
