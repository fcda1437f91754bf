import { setTimeout as pause } from 'node:timers/promises';
import type { LogRecord, Store } from '../../../infra/ports.ts';
import type { ParsedDelivery, ParsedEvent } from '../formats/delivery.ts';
import { type Alert, isOpen } from '../model/alert.ts';
import type { GroupingRules } from '../model/rules.ts';
import { addEventId, mayBeCounted, type ProjectState, putAlert } from '../reducer/project-state.ts';
import { createdNumbersIn, type Reduction, reduceEvent, type StoredNumbers } from '../reducer/reduce.ts';
import { bytesOf, type CachedState, shrink } from './cached-state.ts';
import type { EventParser } from './parser.ts';
import { alertPages, eventsAfter } from './stored-rows.ts';
import {
  idsBetween,
  isSameProgress,
  loadCountedOf,
  loadState,
  newestEvents,
  openAlertsOf,
  type StoredProgress,
  storedProgressOf,
} from './stored-state.ts';

/** An event of the log: its parsed body, the body as it was sent, and its record. */
export interface DecodedEvent extends ParsedEvent {
  readonly body: Buffer;
  readonly record: LogRecord;
}

interface ProjectStateCacheOptions {
  readonly store: Store;
  readonly parser: EventParser;
  readonly rules: GroupingRules;
  /** Limit of the estimated size of all states. The rest is read from the store when an event needs it. */
  readonly cacheBytes: number;
}

/** A full cache is evicted to this fraction of its limit, so that eviction is rare. */
const EVICTED_TO = 0.8;
/** The states of a batch may be loaded up to this fraction of the limit. */
const LOADED_TO = 0.5;
const RETRY_MS = 50;

/**
 * Caches the states of the projects whose events this process processes.
 *
 * - Owner: the processor, which processes all events of a partition of the log.
 * - Key: the project. Missing alerts and deliveries are read from the store for the events of a batch.
 * - Bound: ALERT_CACHE_BYTES. Durable entries are evicted, least recently used first.
 * - Invalidation: cleared after a gap in the offsets (another process owned the partition) and after a command. A state is
 *   loaded again if a query finds the store ahead of it.
 * - Measurement: 32 senders of 10 alerts to 4 projects get 2,892 answers a second (p99 56 ms). Without the cache (0 bytes)
 *   they get 325 (p99 287 ms), because each batch loads the states of its projects from the store.
 */
export class ProjectStateCache {
  readonly #options: ProjectStateCacheOptions;
  /** Least recently used first. */
  readonly #states = new Map<number, CachedState>();

  constructor(options: ProjectStateCacheOptions) {
    this.#options = options;
  }

  /** Estimated size of all states. */
  get bytes(): number {
    return [...this.#states.values()].reduce((sum, cached) => sum + bytesOf(cached), 0);
  }

  /** Removes all states, because another process may have changed the store. */
  clear(): void {
    this.#states.clear();
  }

  /**
   * Loads the states that a batch of events needs. Returns the events that are not stored yet, and alerts that lacked their
   * newest stored events, which the caller must write.
   */
  async load(events: readonly DecodedEvent[]): Promise<{ fresh: DecodedEvent[]; lagging: Alert[] }> {
    this.#evict();
    const projects = Map.groupBy(events, ({ head }) => head.project);
    const lagging: Alert[] = [];
    const fresh = new Set<DecodedEvent>();
    try {
      const share = (this.#options.cacheBytes * LOADED_TO) / projects.size;
      for (const [project, projectEvents] of projects) {
        for (const event of await this.#loadProject(project, projectEvents, lagging, share)) fresh.add(event);
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
    share: number,
  ): Promise<DecodedEvent[]> {
    for (;;) {
      if (!this.#states.has(project)) {
        const found = await this.#catchUp(project, Number.POSITIVE_INFINITY, share);
        for (const alert of found as Alert[]) lagging.push(alert);
      }
      const cached = this.#states.get(project) as CachedState;
      this.#states.delete(project);
      this.#states.set(project, cached);
      const fresh = await this.#withoutStored(cached, events);
      const hasReadAlerts = await this.#loadAlerts(cached.state, fresh);
      const hasReadDeliveries = await this.#loadCounted(cached.state, fresh);
      if (!(hasReadAlerts || hasReadDeliveries) || !(await this.#isBehindStore(cached))) return fresh;
      this.#states.delete(project);
    }
  }

  /**
   * Whether another process has taken over and processed later events. Then the alerts that were just read may be newer
   * than the cached state, and must not be used with it.
   */
  async #isBehindStore({ state }: CachedState): Promise<boolean> {
    const { eventPosition } = await storedProgressOf(this.#options.store, state.project);
    return eventPosition > state.position;
  }

  /** Drops stored events, which the log delivers again after a kill, a takeover or an error. */
  async #withoutStored(cached: CachedState, events: readonly DecodedEvent[]): Promise<DecodedEvent[]> {
    const { state, loadedPosition, lastOffsets, deletedBefore } = cached;
    const storedIds = new Set<string>();
    for (const [partition, records] of Map.groupBy(events, ({ record }) => record.partition)) {
      const [from, until] = [records[0]?.record.offset ?? 0, records.at(-1)?.record.offset ?? 0];
      if (from > (lastOffsets.get(partition) ?? -1)) continue;
      // Compares ids, because a log that was created again reuses offsets.
      const range = { partition, from, until };
      for (const { head, record } of records) {
        if (head.at < deletedBefore && record.offset <= (lastOffsets.get(partition) ?? -1))
          storedIds.add(head.id);
      }
      for (const id of await idsBetween(this.#options.store, state.project, loadedPosition, range)) {
        storedIds.add(id);
      }
    }
    return events.filter(({ head: { id } }) => {
      if (storedIds.has(id) || state.ids.has(id)) return false;
      storedIds.add(id);
      return true;
    });
  }

  /** Reduces one event that `load` returned. */
  reduce(event: ParsedEvent): Reduction {
    return this.#reduce((this.#states.get(event.head.project) as CachedState).state, event);
  }

  #reduce(state: ProjectState, event: ParsedEvent, numbers: StoredNumbers = []): Reduction {
    addEventId(state, event.head.id);
    return reduceEvent(state, event, numbers);
  }

  /** Allows evicting the alerts of events up to a durable position. */
  markDurable(project: number, position: number): void {
    const cached = this.#states.get(project);
    if (cached) cached.durablePosition = Math.max(cached.durablePosition, position);
  }

  /**
   * Evicts durable entries of the least recently used projects beyond the limit. Must not run while a state is being
   * loaded.
   */
  #evict(): void {
    const { cacheBytes } = this.#options;
    let bytes = this.bytes;
    if (bytes <= cacheBytes) return;
    for (const [project, cached] of this.#states) {
      const excess = bytes - cacheBytes * EVICTED_TO;
      if (excess <= 0) return;
      const before = bytesOf(cached);
      if (before > excess || cached.state.position > cached.durablePosition) {
        shrink(cached, before - excess);
        bytes -= before - bytesOf(cached);
      } else {
        this.#states.delete(project);
        bytes -= before;
      }
    }
  }

  /**
   * Loads the state of a project from the store. Returns alerts that lacked their newest stored events, which the caller
   * must write; null if other processes wrote during each of the `attempts`.
   */
  catchUp(project: number, attempts = Number.POSITIVE_INFINITY): Promise<Alert[] | null> {
    this.#evict();
    return this.#catchUp(project, attempts, this.#options.cacheBytes * LOADED_TO);
  }

  async #catchUp(project: number, attempts: number, share: number): Promise<Alert[] | null> {
    for (let attemptsLeft = attempts; attemptsLeft > 0; attemptsLeft--) {
      const before = await storedProgressOf(this.#options.store, project);
      const { cached, lagging } = await this.#loadState(project, before, share);
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
    share: number,
  ): Promise<{ cached: CachedState; lagging: Alert[] }> {
    const { store, parser, rules } = this.#options;
    const { eventPosition } = progress;
    const state = await loadState(store, project, progress, rules, share);
    const { ids, ...stored } = await newestEvents(store, project, eventPosition);
    const cached: CachedState = {
      state,
      durablePosition: state.position,
      loadedPosition: eventPosition,
      ...stored,
    };
    for (const id of ids) addEventId(state, id);
    const lagging = new Map<number, Alert>();
    for await (const row of eventsAfter(store, project, state.position, eventPosition)) {
      const event = parser.parse(row.head, row.body);
      await this.#loadAlerts(state, [event]);
      await this.#loadCounted(state, [event]);
      const { changed } = this.#reduce(state, event, createdNumbersIn(row));
      for (const alert of changed) lagging.set(alert.iid, alert);
    }
    return { cached, lagging: [...lagging.values()] };
  }

  /** Loads missing alerts that events need. Returns whether it queried the store. */
  async #loadAlerts(state: ProjectState, events: readonly ParsedEvent[]): Promise<boolean> {
    const iids = [...new Set(events.flatMap(({ head }) => (head.kind === 'action' ? [head.iid] : [])))];
    const unknown = iids.filter((iid) => iid <= state.lastIid && !state.byIid.has(iid));
    for (const alert of await this.#readAlerts(state, unknown)) putAlert(state, alert);
    if (state.hasAllOpen) return unknown.length > 0;
    const fingerprints = new Set(events.flatMap(({ delivery }) => fingerprintsOf(delivery)));
    // Whether a resolved alert can be reopened depends on the open alert of its fingerprint.
    for (const iid of iids) {
      const alert = state.byIid.get(iid);
      if (alert !== undefined && alert.fingerprint !== '') fingerprints.add(alert.fingerprint);
    }
    const missing = [...fingerprints].filter((fingerprint) => !state.open.has(fingerprint));
    const open = await openAlertsOf(this.#options.store, state.project, missing);
    for (const alert of await this.#readAlerts(state, open)) {
      // The cached alert may be newer than the stored one.
      if (isOpen(alert) && !state.byIid.has(alert.iid)) putAlert(state, alert);
    }
    return unknown.length + missing.length > 0;
  }

  /** Loads missing deliveries that the events may repeat. Returns whether it queried the store. */
  async #loadCounted(state: ProjectState, events: readonly ParsedEvent[]): Promise<boolean> {
    const missing = new Set<string>();
    for (const { head, delivery } of events) {
      for (const item of delivery?.items ?? []) {
        const key = item?.retryKey ?? '';
        if (key !== '' && mayBeCounted(state, key, head.at)) missing.add(key);
      }
    }
    if (missing.size === 0) return false;
    const at = Math.min(...events.map(({ head }) => head.at));
    await loadCountedOf(this.#options.store, state, at, missing);
    return true;
  }

  async #readAlerts({ project }: ProjectState, iids: readonly number[]): Promise<Alert[]> {
    const found: Alert[] = [];
    for await (const page of alertPages(this.#options.store, project, iids)) {
      for (const alert of page) found.push(alert);
    }
    return found;
  }
}

const fingerprintsOf = (delivery: ParsedDelivery | null): string[] =>
  (delivery?.items ?? []).flatMap((item) =>
    item !== null && item.fingerprint !== '' ? [item.fingerprint] : [],
  );
