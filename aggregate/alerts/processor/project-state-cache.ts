import { setTimeout as pause } from 'node:timers/promises';
import { inParts, join, sql } from '../../../infra/clickhouse/sql.ts';
import type { LogRecord, Store } from '../../../infra/ports.ts';
import type { ParsedDelivery, ParsedEvent } from '../formats/delivery.ts';
import { type Alert, isOpen } from '../model/alert.ts';
import { type FoldRules, foldRulesOf } from '../model/rules.ts';
import { addEventId, type ProjectState, putAlert } from '../reducer/project-state.ts';
import { type Reduction, reduceEvent } from '../reducer/reduce.ts';
import type { EventParser } from './parser.ts';
import {
  eventsAfter,
  idsBetween,
  isSameProgress,
  loadState,
  newestEvents,
  readAlerts,
  type StoredProgress,
  storedProgressOf,
} from './stored-state.ts';

/** An event of the log: its parsed body, the body as it was sent, and its record. */
export interface DecodedEvent extends ParsedEvent {
  readonly body: Buffer;
  readonly record: LogRecord;
}

export interface ProjectStateCacheOptions {
  readonly store: Store;
  readonly parser: EventParser;
  readonly rules: FoldRules;
  /** Most unresolved alerts of a project in memory; the others are read from the store when an event needs them. */
  readonly openAlertsMax: number;
}

interface CachedState {
  readonly state: ProjectState;
  /** Whether every unresolved alert of the project is in the state. */
  isComplete: boolean;
  usedAt: number;
  /** Position up to which everything is durable. */
  durablePosition: number;
  /** Position up to which the state was loaded, and the last offset of each partition up to it. */
  readonly loadedPosition: number;
  readonly lastOffsets: ReadonlyMap<number, number>;
}

const PROJECTS_MAX = 1000;
/** How far a limit is exceeded before entries are evicted, so that eviction is rare. */
const SLACK = 10_000;
const RETRY_MS = 50;

/** The states of the projects that this process decides on, loaded from the store when an event needs them. */
export class ProjectStateCache {
  readonly #options: ProjectStateCacheOptions;
  readonly #states = new Map<number, CachedState>();
  #uses = 0;

  constructor(options: ProjectStateCacheOptions) {
    this.#options = options;
  }

  /** Removes all states: another process has decided in between, or a state may be wrong. */
  clear(): void {
    this.#states.clear();
  }

  /**
   * Loads everything that a batch of events needs; reduces none of them. Returns the events that are not stored yet,
   * and alerts that lacked their newest stored events, as they have to be written.
   */
  async load(events: readonly DecodedEvent[]): Promise<{ fresh: DecodedEvent[]; lagging: Alert[] }> {
    this.#evict();
    const projects = Map.groupBy(events, ({ head }) => head.project);
    const lagging: Alert[] = [];
    const fresh = new Set<DecodedEvent>();
    try {
      for (const [project, of] of projects) {
        for (const event of await this.#loadProject(project, of, lagging)) fresh.add(event);
      }
    } catch (error) {
      // The next attempt must return the lagging alerts again.
      for (const project of projects.keys()) this.#states.delete(project);
      throw error;
    }
    return { fresh: events.filter((event) => fresh.has(event)), lagging };
  }

  async #loadProject(
    project: number,
    events: readonly DecodedEvent[],
    lagging: Alert[],
  ): Promise<DecodedEvent[]> {
    for (;;) {
      if (!this.#states.has(project)) lagging.push(...((await this.catchUp(project)) as Alert[]));
      const cached = this.#states.get(project) as CachedState;
      cached.usedAt = ++this.#uses;
      const fresh = await this.#withoutStored(cached, events);
      const hasQueried = await this.#loadAlerts(cached, fresh);
      if (!hasQueried || !(await this.#isBehindStore(cached))) return fresh;
      this.#states.delete(project);
    }
  }

  /**
   * Whether another process has taken over and decided on later events. The alerts that were just read may be newer
   * than the cached state then, and must not be used with it.
   */
  async #isBehindStore({ state }: CachedState): Promise<boolean> {
    const { eventPosition } = await storedProgressOf(this.#options.store, state.project);
    return eventPosition > state.position;
  }

  /** The log delivers some events twice after a kill, a takeover or a failure. */
  async #withoutStored(cached: CachedState, events: readonly DecodedEvent[]): Promise<DecodedEvent[]> {
    const { state, loadedPosition, lastOffsets } = cached;
    const known = new Set<string>();
    for (const [partition, of] of Map.groupBy(events, ({ record }) => record.partition)) {
      const [from, until] = [of[0]?.record.offset ?? 0, of.at(-1)?.record.offset ?? 0];
      if (from > (lastOffsets.get(partition) ?? -1)) continue;
      // Offsets prove nothing by themselves: a log that was created again counts from the beginning.
      const range = { partition, from, until };
      for (const id of await idsBetween(this.#options.store, state.project, loadedPosition, range)) {
        known.add(id);
      }
    }
    return events.filter(({ head: { id } }) => {
      if (known.has(id) || state.ids.has(id)) return false;
      known.add(id);
      return true;
    });
  }

  /** Reduces one event that `load` returned. */
  reduce(event: ParsedEvent): Reduction {
    return this.#reduce((this.#states.get(event.head.project) as CachedState).state, event);
  }

  #reduce(state: ProjectState, event: ParsedEvent): Reduction {
    const { head } = event;
    addEventId(state, head.id);
    const accepted = head.kind === 'delivery' ? head.rules : undefined;
    return reduceEvent(state, event, foldRulesOf(accepted, this.#options.rules));
  }

  /** Called when the events of a project up to a position are durable, so that their alerts can be evicted. */
  markDurable(project: number, position: number): void {
    const cached = this.#states.get(project);
    if (cached) cached.durablePosition = Math.max(cached.durablePosition, position);
  }

  /** Removes what exceeds the limits and is durable. Must not run while a state is being loaded. */
  #evict(): void {
    for (const cached of this.#states.values()) this.#evictAlerts(cached);
    if (this.#states.size <= PROJECTS_MAX) return;
    const oldest = [...this.#states].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [project, { state, durablePosition }] of oldest.slice(0, this.#states.size - PROJECTS_MAX)) {
      if (state.position <= durablePosition) this.#states.delete(project);
    }
  }

  #evictAlerts(cached: CachedState): void {
    const { openAlertsMax } = this.#options;
    const { open, byIid } = cached.state;
    if (byIid.size > openAlertsMax + SLACK) {
      const evict = (isCandidate: (alert: Alert) => boolean) => {
        for (const alert of byIid.values()) {
          if (byIid.size <= openAlertsMax) return;
          if (alert.position <= cached.durablePosition && isCandidate(alert)) byIid.delete(alert.iid);
        }
      };
      evict((alert) => !isOpen(alert));
      evict(() => true);
    }
    if (open.size > openAlertsMax + SLACK) {
      for (const [fingerprint, alert] of open) {
        if (open.size <= openAlertsMax) break;
        if (alert.position > cached.durablePosition) continue;
        open.delete(fingerprint);
        cached.isComplete = false;
      }
    }
  }

  /**
   * Loads the state of a project from the store. Returns alerts that lack their newest stored events, as they have to
   * be written; null when other processes wrote during each of the `attempts`.
   */
  async catchUp(project: number, attempts = Number.POSITIVE_INFINITY): Promise<Alert[] | null> {
    for (let left = attempts; left > 0; left--) {
      const before = await storedProgressOf(this.#options.store, project);
      const { cached, lagging } = await this.#loadState(project, before);
      if (isSameProgress(before, await storedProgressOf(this.#options.store, project))) {
        this.#states.set(project, cached);
        return lagging;
      }
      await pause(RETRY_MS);
    }
    return null;
  }

  async #loadState(
    project: number,
    progress: StoredProgress,
  ): Promise<{ cached: CachedState; lagging: Alert[] }> {
    const { store, parser, rules, openAlertsMax } = this.#options;
    const { eventPosition } = progress;
    const { state, isComplete } = await loadState(store, project, progress, rules, openAlertsMax);
    const { ids, lastOffsets } = await newestEvents(store, project, eventPosition);
    const cached: CachedState = {
      state,
      isComplete,
      usedAt: ++this.#uses,
      durablePosition: state.position,
      loadedPosition: eventPosition,
      lastOffsets,
    };
    for (const id of ids) addEventId(state, id);
    const lagging = new Map<number, Alert>();
    for await (const { head, body } of eventsAfter(store, project, state.position, eventPosition)) {
      const event = parser.parse(head, body);
      await this.#loadAlerts(cached, [event]);
      for (const alert of this.#reduce(state, event).changed) lagging.set(alert.iid, alert);
    }
    return { cached, lagging: [...lagging.values()] };
  }

  /** Loads the alerts that events need and that are not cached. Returns whether the store was queried. */
  async #loadAlerts({ state, isComplete }: CachedState, events: readonly ParsedEvent[]): Promise<boolean> {
    const iids = [...new Set(events.flatMap(({ head }) => (head.kind === 'action' ? [head.iid] : [])))];
    const unknown = iids.filter((iid) => iid <= state.lastIid && !state.byIid.has(iid));
    for (const alert of await this.#readAlerts(state, 'iid', unknown)) putAlert(state, alert);
    if (isComplete) return unknown.length > 0;
    const fingerprints = new Set(events.flatMap(({ delivery }) => fingerprintsOf(delivery)));
    // Whether a resolved alert can be reopened depends on the open alert of its fingerprint.
    for (const iid of iids) {
      const alert = state.byIid.get(iid);
      if (alert !== undefined && alert.fingerprint !== '') fingerprints.add(alert.fingerprint);
    }
    const missing = [...fingerprints].filter((fingerprint) => !state.open.has(fingerprint));
    for (const alert of await this.#readAlerts(state, 'fingerprint', missing)) {
      // The cached alert may be newer than the stored one.
      if (isOpen(alert) && !state.byIid.has(alert.iid)) putAlert(state, alert);
    }
    return unknown.length + missing.length > 0;
  }

  async #readAlerts(
    { project }: ProjectState,
    by: 'iid' | 'fingerprint',
    values: readonly (string | number)[],
  ): Promise<Alert[]> {
    const found: Alert[] = [];
    for (const some of inParts(values)) {
      const where = [
        sql`project = ${project}`,
        by === 'iid' ? sql`iid IN ${some}` : sql`fingerprint IN ${some} AND status != 'resolved'`,
      ];
      found.push(...(await readAlerts(this.#options.store, join(where, ' AND '), Number.MAX_SAFE_INTEGER)));
    }
    return found;
  }
}

const fingerprintsOf = (delivery: ParsedDelivery | null): string[] =>
  (delivery?.items ?? []).flatMap((item) =>
    item !== null && item.fingerprint !== '' ? [item.fingerprint] : [],
  );
