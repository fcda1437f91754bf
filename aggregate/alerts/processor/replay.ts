import { z } from 'zod';
import { DATABASE, sql } from '../../../infra/clickhouse/sql.ts';
import type { Store } from '../../../infra/ports.ts';
import type { Alert } from '../model/alert.ts';
import { decodeHead, encodeHead } from '../model/event.ts';
import type { EventRules, FoldRules } from '../model/rules.ts';
import { alertEvents, alerts } from '../model/tables.ts';
import { emptyState, type Reduction, reduceAction, reduceDelivery } from '../reducer/project-state.ts';
import type { DecodedEvent } from './project-state-cache.ts';
import { type AlertEventRow, eventsAfter, readAlerts } from './stored-state.ts';

/** Which projects to decide on anew, and whether only to tell what would change. */
export const replayOrder = z.object({
  projects: z.array(z.int().min(1)),
  dryRun: z.boolean(),
});
export type ReplayOrder = z.output<typeof replayOrder>;

export interface AlertDifference {
  readonly iid: number;
  /** Null when the alert is on one side only. */
  readonly stored: Readonly<Partial<Alert>> | null;
  readonly replayed: Readonly<Partial<Alert>> | null;
}

export interface ReplayResult {
  readonly project: number;
  readonly events: number;
  readonly alerts: number;
  /** How many alerts differ, and the first of them. */
  readonly differing: number;
  readonly differences: readonly AlertDifference[];
}

const SHOWN_MOST = 20;
/** What of an alert a rule decides, in the order in which differences are told. */
const COMPARED = [
  'title',
  'severity',
  'status',
  'events',
  'fingerprint',
  'service',
  'created_ms',
  'seen_ms',
  'ended_ms',
  'incident',
] as const satisfies readonly (keyof Alert)[];

export interface ReplayTools {
  readonly store: Store;
  readonly rules: FoldRules;
  /** The same as deliveries carry them from now on. */
  readonly carried: EventRules;
  readonly read: (head: AlertEventRow['head'], body: Buffer) => DecodedEvent;
}

/** Projects that have events. */
export async function projectsWithEvents(store: Store): Promise<number[]> {
  const rows = await store.rows<{ project: number }>(
    sql`SELECT DISTINCT project FROM ${alertEvents} ORDER BY project`,
  );
  return rows.map(({ project }) => project);
}

/**
 * Decides on all events of a project anew, by the rules of today. Nothing else may decide on it meanwhile. Without
 * `dryRun` the stored alerts become what the rules give, and the events tell of it.
 */
export async function replayProject(
  tools: ReplayTools,
  project: number,
  dryRun: boolean,
): Promise<ReplayResult> {
  const { store } = tools;
  const fold = new Refold(tools, project);
  for await (const event of eventsAfter(store, project, 0)) fold.take(event);
  const stored = await readAlerts(store, sql`project = ${project}`, Number.MAX_SAFE_INTEGER);
  const differences = compare(stored, fold.alerts);
  if (!dryRun && differences.length > 0) await rewrite(tools, project, fold);
  return {
    project,
    events: fold.applied.size,
    alerts: fold.alerts.size,
    differing: differences.length,
    differences: differences.slice(0, SHOWN_MOST),
  };
}

/** All events of a project in their order, decided on from nothing. */
class Refold {
  readonly alerts = new Map<number, Alert>();
  readonly applied = new Map<number, Reduction>();
  readonly #tools: ReplayTools;
  readonly #state;
  /** Numbers that people knew alerts by, and those that they have now. */
  readonly #renumbered = new Map<number, number>();

  constructor(tools: ReplayTools, project: number) {
    this.#tools = tools;
    this.#state = emptyState(project);
  }

  take(event: AlertEventRow): void {
    const { head, read } = this.#tools.read(event.head, event.body);
    // Positions stay as they are.
    this.#state.position = event.position - 1;
    const applied =
      head.kind === 'action'
        ? reduceAction(this.#state, { ...head, iid: this.#renumbered.get(head.iid) ?? 0 })
        : reduceDelivery(this.#state, head, read ?? { text: '', items: [], refused: [] }, this.#tools.rules);
    for (const alert of applied.changed) this.alerts.set(alert.iid, alert);
    event.iids.forEach((before, item) => {
      const now = applied.iids[item] ?? 0;
      if (before > 0 && now > 0 && !this.#renumbered.has(before)) this.#renumbered.set(before, now);
    });
    this.applied.set(event.position, applied);
  }
}

function compare(stored: readonly Alert[], replayed: ReadonlyMap<number, Alert>): AlertDifference[] {
  const before = new Map(stored.map((alert) => [alert.iid, alert]));
  const iids = [...new Set([...before.keys(), ...replayed.keys()])].sort((a, b) => a - b);
  return iids.flatMap((iid): AlertDifference[] => {
    const one = before.get(iid);
    const other = replayed.get(iid);
    const names = COMPARED.filter((name) => one?.[name] !== other?.[name]);
    if (names.length === 0) return [];
    const pick = (alert: Alert | undefined) =>
      alert === undefined ? null : Object.fromEntries(names.map((name) => [name, alert[name]]));
    return [{ iid, stored: pick(one), replayed: pick(other) }];
  });
}

const ROWS_PER_INSERT = 5000;

/** The events first, so that a kill in between leaves alerts that the next start makes from them. */
async function rewrite(
  { store, carried }: ReplayTools,
  project: number,
  { applied, alerts: made }: Refold,
): Promise<void> {
  for await (const rows of rowsOf(store, project)) {
    await store.insert(
      alertEvents,
      rows.map((row) => {
        const { outcomes, iids, retryKeys } = applied.get(row.position) as Reduction;
        const head = decodeHead(row.head);
        const kept = head.kind === 'delivery' ? { ...head, rules: carried } : head;
        return { ...row, head: encodeHead(kept), outcomes, iids, retry_keys: retryKeys };
      }),
    );
  }
  await store.run(
    `ALTER TABLE ${DATABASE}.${alerts.name} DELETE WHERE project = ${project} SETTINGS mutations_sync = 1`,
  );
  const rows = [...made.values()];
  for (let i = 0; i < rows.length; i += ROWS_PER_INSERT) {
    await store.insert(alerts, rows.slice(i, i + ROWS_PER_INSERT) as never);
  }
}

type EventRow = { readonly position: number; readonly head: string } & Record<string, unknown>;

async function* rowsOf(store: Store, project: number): AsyncGenerator<EventRow[]> {
  for (let after = 0; ; ) {
    const rows = await store.rows<EventRow>(
      sql`SELECT * FROM ${alertEvents} FINAL WHERE project = ${project} AND position > ${after} ORDER BY position LIMIT 500`,
    );
    if (rows.length === 0) return;
    yield rows;
    after = rows.at(-1)?.position ?? after;
  }
}
