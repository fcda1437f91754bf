import { isDeepStrictEqual } from 'node:util';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { EventHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents, alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { type ReferenceAlert, type ReferenceEvent, type ReferenceWindows, replay } from './reference.ts';
import type { Attempts } from './senders.ts';

/** The stored events and alerts of a test, and the faults that were found in them. */
export interface Verdict {
  readonly acknowledged: number;
  readonly stored: number;
  readonly alerts: number;
  readonly faults: readonly string[];
}

/** Compares stored projects with the answers to their senders and with the slow reference. */
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
    const found = [...positionFaults(rows), ...differing(stored, replay(rows.map(eventOf), windows))];
    faults.push(...found.map((fault) => `project ${project}: ${fault}`));
    count += stored.length;
    for (const row of rows) all.push(row);
  }
  return {
    acknowledged: [...marks.values()].reduce((sum, { answers }) => sum + answers.length, 0),
    stored: all.length,
    alerts: count,
    faults: [...faults, ...lostOrDuplicate(all, marks)],
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

/** Positions count from 1 without gaps, and no event is stored twice. */
function positionFaults(rows: readonly StoredRow[]): string[] {
  const gap = rows.findIndex(({ position }, i) => position !== i + 1);
  const twice = rows.length - new Set(rows.map(({ id }) => id)).size;
  return [
    ...(gap === -1 ? [] : [`position ${rows[gap]?.position} is stored instead of ${gap + 1}`]),
    ...(twice === 0 ? [] : [`${twice} events are stored twice`]),
  ];
}

/** Every attempt that was answered with 200 is stored once and created the alerts of the answer. */
function lostOrDuplicate(rows: readonly StoredRow[], marks: ReadonlyMap<string, Attempts>): string[] {
  const found = new Map<string, string[]>();
  for (const { body, iids, outcomes } of rows) {
    if (body === '') continue;
    const { mark } = JSON.parse(body) as { mark: string };
    const created = iids.filter((_, i) => outcomes[i] === 'created');
    const of = found.get(mark);
    if (of) of.push(String(created));
    else found.set(mark, [String(created)]);
  }
  return [...marks].flatMap(([mark, { sent, answers }]) => {
    const [first = '', ...others] = found.get(mark) ?? [];
    const times = found.has(mark) ? others.length + 1 : 0;
    if (times < answers.length)
      return [`${mark} was acknowledged ${answers.length} times and is stored ${times} times`];
    if (times > sent) return [`${mark} was sent ${sent} times and is stored ${times} times`];
    const wrong = answers.find((created) => created !== first);
    return wrong === undefined ? [] : [`${mark} was answered with ${wrong}, stored is ${first}`];
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
  'match_labels',
] as const satisfies readonly (keyof ReferenceAlert & keyof Alert)[];
const FAULTS_MAX = 20;

function differing(stored: readonly Alert[], expected: readonly ReferenceAlert[]): string[] {
  const faults =
    stored.length === expected.length ? [] : [`${stored.length} alerts, expected ${expected.length}`];
  expected.forEach((alert, i) => {
    for (const name of COMPARED) {
      const found = stored[i]?.[name];
      if (!isDeepStrictEqual(found, alert[name])) {
        const texts = [found, alert[name]].map((value) => JSON.stringify(value));
        faults.push(`alert ${alert.iid}: ${name} is ${texts[0]}, expected ${texts[1]}`);
      }
    }
  });
  return faults.slice(0, FAULTS_MAX);
}
