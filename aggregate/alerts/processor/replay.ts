import { z } from 'zod';
import { chunkBySize } from '../../../infra/chunk.ts';
import { ProductError } from '../../../infra/errors.ts';
import type { Store } from '../../../infra/ports.ts';
import { raw, sql } from '../../../infra/sql.ts';
import { type Alert, alertBytes } from '../model/alert.ts';
import { decodeHead, type EventHead, encodeHead, type ReplayHead } from '../model/event.ts';
import type { EventRules } from '../model/rules.ts';
import { alertEvents, alerts } from '../model/tables.ts';
import { emptyState, type ProjectState } from '../reducer/project-state.ts';
import { createdNumbersIn, type Reduction, reduceEvent } from '../reducer/reduce.ts';
import { headOf } from './event-insert.ts';
import type { EventParser } from './parser.ts';
import { type AlertEventRow, eventRows, eventsAfter, positionRanges } from './stored-rows.ts';
import { storedProgressOf } from './stored-state.ts';

/** The projects to replay, all if empty. A dry run only reports the differences. */
export const replayOrder = z.object({
  projects: z.array(z.int().min(1)),
  dryRun: z.boolean(),
});
export type ReplayOrder = z.output<typeof replayOrder>;

export interface AlertDifference {
  readonly iid: number;
  /** `stored` or `replayed` is null if the alert exists on the other side only. */
  readonly stored: Readonly<Partial<Alert>> | null;
  readonly replayed: Readonly<Partial<Alert>> | null;
}

/** The report of a replay. */
export interface Replayed {
  readonly project: number;
  readonly events: number;
  readonly alerts: number;
  /** Number of alerts that differ. */
  readonly differing: number;
  /** The first alerts that differ. */
  readonly differences: readonly AlertDifference[];
}

export interface ReplayResult extends Replayed {
  /** Reason why the project was not replayed, or null. */
  readonly refused: string | null;
}

const DIFFERENCES_MAX = 20;
/** Columns that depend on the rules, in the order of the report. */
const COMPARED = [
  'title',
  'severity',
  'status',
  'events',
  'fingerprint',
  'service',
  'started_ms',
  'created_ms',
  'seen_ms',
  'ended_ms',
  'incident',
] as const satisfies readonly (keyof Alert)[];

type ComparedAlert = Pick<Alert, 'iid' | (typeof COMPARED)[number]>;

/** Projects that have events. */
export async function projectsWithEvents(store: Store): Promise<number[]> {
  const rows = await store.rows<{ project: number }>(
    sql`SELECT DISTINCT project FROM ${alertEvents} ORDER BY project`,
  );
  return rows.map(({ project }) => project);
}

export interface ReplayDependencies {
  readonly store: Store;
  readonly parser: EventParser;
}

/**
 * Reduces all events of a project again, by the rules of the command. No other process may write to the project
 * meanwhile. Without `dry_run` replaces the alerts, and the outcomes and rules of the events. Throws if events were
 * deleted, because their alerts would be lost.
 */
export async function replayProject(
  { store, parser }: ReplayDependencies,
  { project, rules, dry_run: dryRun }: ReplayHead,
): Promise<Replayed> {
  const { eventPosition, lastIid } = await storedProgressOf(store, project);
  const replay = new Replay({ ...emptyState(project), lastIid }, parser, rules);
  for await (const event of eventsAfter(store, project, 0, eventPosition)) replay.reduce(event);
  const missing = eventPosition - replay.reductions.size;
  if (missing > 0) {
    const reason = `${missing} of its ${eventPosition} events were deleted (RETENTION_ALERT_EVENTS_DAYS)`;
    throw new ProductError('input_missing', reason);
  }
  const stored = await store.rows<ComparedAlert>(
    sql`SELECT ${raw(['iid', ...COMPARED].join(', '))} FROM ${alerts} FINAL WHERE project = ${project}`,
  );
  const differences = compare(stored, replay.alerts);
  if (!dryRun && differences.length > 0) await rewrite(store, project, replay, rules);
  return {
    project,
    events: replay.reductions.size,
    alerts: replay.alerts.size,
    differing: differences.length,
    differences: differences.slice(0, DIFFERENCES_MAX),
  };
}

/** The events of a project, reduced from an empty state. */
class Replay {
  readonly alerts = new Map<number, Alert>();
  /** By position. */
  readonly reductions = new Map<number, Reduction>();
  readonly #state: ProjectState;
  readonly #parser: EventParser;
  readonly #rules: EventRules;
  /** Maps the number of a stored alert to the number of the replayed alert that has its occurrences. */
  readonly #successors = new Map<number, number>();

  constructor(state: ProjectState, parser: EventParser, rules: EventRules) {
    this.#state = state;
    this.#parser = parser;
    this.#rules = rules;
  }

  reduce({ head: stored, body, position, ...row }: AlertEventRow): void {
    const head: EventHead =
      stored.kind === 'action'
        ? { ...stored, iid: this.#successors.get(stored.iid) ?? stored.iid }
        : { ...stored, rules: this.#rules };
    // Events keep their positions.
    this.#state.position = position - 1;
    const reduction = reduceEvent(this.#state, this.#parser.parse(head, body), createdNumbersIn(row));
    for (const alert of reduction.changed) this.alerts.set(alert.iid, alert);
    row.iids.forEach((before, item) => {
      const now = reduction.iids[item] ?? 0;
      if (before > 0 && now > 0 && !this.#successors.has(before)) this.#successors.set(before, now);
    });
    this.reductions.set(position, reduction);
  }

  /** The highest number that an alert had before the replay or has after it. */
  get lastIid(): number {
    return this.#state.lastIid;
  }
}

function compare(stored: readonly ComparedAlert[], replayed: ReadonlyMap<number, Alert>): AlertDifference[] {
  const before = new Map(stored.map((alert) => [alert.iid, alert]));
  const iids = [...new Set([...before.keys(), ...replayed.keys()])].sort((a, b) => a - b);
  return iids.flatMap((iid): AlertDifference[] => {
    const old = before.get(iid);
    const current = replayed.get(iid);
    const names = COMPARED.filter((name) => old?.[name] !== current?.[name]);
    if (names.length === 0) return [];
    const pick = (alert: ComparedAlert | undefined) =>
      alert === undefined ? null : Object.fromEntries(names.map((name) => [name, alert[name]]));
    return [{ iid, stored: pick(old), replayed: pick(current) }];
  });
}

const BYTES_PER_INSERT = 16 * 2 ** 20;

/** Writes the events first, so that after a kill the next start rebuilds the alerts from them. */
async function rewrite(
  store: Store,
  project: number,
  { reductions, alerts: replayed, lastIid: last_iid }: Replay,
  rules: EventRules,
): Promise<void> {
  for await (const rows of rowsOf(store, project)) {
    await store.insert(
      alertEvents,
      rows.map((row) => {
        const reduction = reductions.get(row.position) as Reduction;
        const { outcomes, iids, retryKeys } = reduction;
        const head = headOf(decodeHead(row.head), reduction);
        const updated = head.kind === 'delivery' ? { ...head, rules } : { ...head, iid: iids[0] ?? head.iid };
        return { ...row, head: encodeHead(updated), outcomes, iids, retry_keys: retryKeys, last_iid };
      }),
    );
  }
  await store.run(sql`ALTER TABLE ${alerts} DELETE WHERE project = ${project} SETTINGS mutations_sync = 1`);
  for (const rows of chunkBySize(replayed.values(), BYTES_PER_INSERT, alertBytes)) {
    await store.insert(alerts, rows as never);
  }
}

type EventRow = { readonly position: number; readonly head: string } & Record<string, unknown>;

async function* rowsOf(store: Store, project: number): AsyncGenerator<EventRow[]> {
  const { eventPosition } = await storedProgressOf(store, project);
  for await (const range of positionRanges(store, project, 0, eventPosition)) {
    yield await eventRows<EventRow>(store, raw('*'), project, range);
  }
}
