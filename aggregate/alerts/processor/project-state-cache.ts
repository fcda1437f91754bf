import { setTimeout as pause } from 'node:timers/promises';
import { join, sql } from '../../../infra/clickhouse/sql.ts';
import type { LogRecord, Store } from '../../../infra/ports.ts';
import type { ParsedDelivery } from '../formats/delivery.ts';
import { type Alert, isOpen } from '../model/alert.ts';
import type { EventHead } from '../model/event.ts';
import type { FoldRules } from '../model/rules.ts';
import { foldRulesOf } from '../model/rules.ts';
import {
  keep,
  note,
  type ProjectState,
  type Reduction,
  reduceAction,
  reduceDelivery,
} from '../reducer/project-state.ts';
import {
  eventsAfter,
  idsBetween,
  isSameProgress,
  loadState,
  newestOf,
  readAlerts,
  type StoredProgress,
  storedProgressOf,
} from './stored-state.ts';

/** An event and what its body says; `read` is null for actions and for bodies that nothing can be taken from. */
export interface DecodedEvent {
  readonly head: EventHead;
  readonly read: ParsedDelivery | null;
}

/** An event where the log has it. */
export interface Arrived {
  readonly event: DecodedEvent;
  readonly placed: LogRecord;
}

export interface ProjectStateCacheOptions {
  readonly store: Store;
  readonly rules: FoldRules;
  /** Unresolved alerts of a project that are kept in memory; the others are asked of the store. */
  readonly openMax: number;
  /** Reads an event of the store again. */
  readonly read: (head: EventHead, body: Buffer) => DecodedEvent;
}

interface Held {
  readonly state: ProjectState;
  isComplete: boolean;
  usedAt: number;
  /** Position up to which everything is durable. */
  written: number;
  /** Position that was read from the store, and by partition the offset of the newest event up to it. */
  readonly loaded: number;
  readonly ends: ReadonlyMap<number, number>;
}

const PROJECTS_MOST = 1000;
/** How far a limit is passed before something is forgotten, so that forgetting is rare. */
const SLACK = 10_000;
const ALERTS_PER_QUERY = 2000;
const BETWEEN_TRIES_MS = 50;

/** The states of the projects that this process decides on: what it needs of them is read from the store once. */
export class ProjectStateCache {
  readonly #options: ProjectStateCacheOptions;
  readonly #held = new Map<number, Held>();
  #uses = 0;

  constructor(options: ProjectStateCacheOptions) {
    this.#options = options;
  }

  /** Forgets everything: another process has decided in between, or what is held may be wrong. */
  clear(): void {
    this.#held.clear();
  }

  /**
   * Has everything ready that events ask for; nothing is decided yet. Returns those of them that are not decided on
   * in the store already, and alerts that were behind their stored events, as they have to be.
   */
  async prepare<One extends Arrived>(arrived: readonly One[]): Promise<{ fresh: One[]; behind: Alert[] }> {
    const projects = Map.groupBy(arrived, ({ event }) => event.head.project);
    const behind: Alert[] = [];
    const fresh = new Set<One>();
    try {
      for (const [project, of] of projects) {
        for (const one of await this.#prepareProject(project, of, behind)) fresh.add(one);
      }
    } catch (error) {
      // Nobody else would write what was behind.
      for (const project of projects.keys()) this.#held.delete(project);
      throw error;
    }
    return { fresh: arrived.filter((one) => fresh.has(one)), behind };
  }

  async #prepareProject<One extends Arrived>(
    project: number,
    arrived: readonly One[],
    behind: Alert[],
  ): Promise<One[]> {
    for (;;) {
      if (!this.#held.has(project)) behind.push(...((await this.catchUp(project)) as Alert[]));
      const held = this.#held.get(project) as Held;
      held.usedAt = ++this.#uses;
      const fresh = await this.#unknownOf(held, arrived);
      const hasAsked = await this.#fetch(
        held,
        fresh.map(({ event }) => event),
      );
      if (!hasAsked || !(await this.#isOvertaken(held))) return fresh;
      this.#held.delete(project);
    }
  }

  /**
   * Whether another process has decided further: this one was taken for dead. What was just read of the store may be
   * of later than what is held, and must not be decided on.
   */
  async #isOvertaken({ state }: Held): Promise<boolean> {
    const { events } = await storedProgressOf(this.#options.store, state.project);
    return events > state.position;
  }

  /** After a kill, a change of hands or a failure of the log some events come twice. */
  async #unknownOf<One extends Arrived>(held: Held, arrived: readonly One[]): Promise<One[]> {
    const { state, loaded, ends } = held;
    const known = new Set<string>();
    for (const [partition, of] of Map.groupBy(arrived, ({ placed }) => placed.partition)) {
      const [from, until] = [of[0]?.placed.offset ?? 0, of.at(-1)?.placed.offset ?? 0];
      if (from > (ends.get(partition) ?? -1)) continue;
      // Offsets alone prove nothing: a log that was made anew counts from the beginning.
      const place = { partition, from, until };
      for (const id of await idsBetween(this.#options.store, state.project, loaded, place)) known.add(id);
    }
    return arrived.filter(({ event: { head } }) => {
      if (known.has(head.id) || state.ids.has(head.id)) return false;
      known.add(head.id);
      return true;
    });
  }

  /** Decides on one event that `prepare` was called with. */
  apply(event: DecodedEvent): Reduction {
    return this.#decide((this.#held.get(event.head.project) as Held).state, event);
  }

  #decide(state: ProjectState, { head, read }: DecodedEvent): Reduction {
    note(state, head.id);
    if (head.kind === 'action') return reduceAction(state, head);
    return reduceDelivery(state, head, read ?? NOTHING_READ, foldRulesOf(head, this.#options.rules));
  }

  /** Called when the events of a project up to a position are durable, and so what they changed can be read back. */
  written(project: number, position: number): void {
    const held = this.#held.get(project);
    if (held) held.written = Math.max(held.written, position);
  }

  /** Forgets what is above the limits and durable. Never called while something is being read from the store. */
  trim(): void {
    for (const held of this.#held.values()) this.#trimProject(held);
    if (this.#held.size <= PROJECTS_MOST) return;
    const oldest = [...this.#held].sort(([, a], [, b]) => a.usedAt - b.usedAt);
    for (const [project, { state, written }] of oldest.slice(0, this.#held.size - PROJECTS_MOST)) {
      if (state.position <= written) this.#held.delete(project);
    }
  }

  #trimProject(held: Held): void {
    const { openMax } = this.#options;
    const { open, byIid } = held.state;
    if (byIid.size > openMax + SLACK) {
      const left = (only: (alert: Alert) => boolean) => {
        for (const alert of byIid.values()) {
          if (byIid.size <= openMax) return;
          if (alert.position <= held.written && only(alert)) byIid.delete(alert.iid);
        }
      };
      left((alert) => !isOpen(alert));
      left(() => true);
    }
    if (open.size > openMax + SLACK) {
      for (const [fingerprint, alert] of open) {
        if (open.size <= openMax) break;
        if (alert.position > held.written) continue;
        open.delete(fingerprint);
        held.isComplete = false;
      }
    }
  }

  /**
   * Reads the state of a project anew. Returns alerts that do not show their newest events yet, as they have to be;
   * null when others wrote every time while it was read, `tries` times.
   */
  async catchUp(project: number, tries = Number.POSITIVE_INFINITY): Promise<Alert[] | null> {
    for (let left = tries; left > 0; left--) {
      const before = await storedProgressOf(this.#options.store, project);
      const { held, changed } = await this.#load(project, before);
      if (isSameProgress(before, await storedProgressOf(this.#options.store, project))) {
        this.#held.set(project, held);
        return changed;
      }
      await pause(BETWEEN_TRIES_MS);
    }
    return null;
  }

  async #load(project: number, progress: StoredProgress): Promise<{ held: Held; changed: Alert[] }> {
    const { store, rules, openMax, read } = this.#options;
    const { state, isComplete } = await loadState(store, project, progress, rules, openMax);
    const { ids, ends } = await newestOf(store, project, progress.events);
    const held: Held = {
      state,
      isComplete,
      usedAt: ++this.#uses,
      written: state.position,
      loaded: progress.events,
      ends,
    };
    for (const id of ids) note(state, id);
    const changed = new Map<number, Alert>();
    for await (const { head, body } of eventsAfter(store, project, state.position, progress.events)) {
      const event = read(head, body);
      await this.#fetch(held, [event]);
      for (const alert of this.#decide(state, event).changed) changed.set(alert.iid, alert);
    }
    return { held, changed: [...changed.values()] };
  }

  /** Returns whether the store had to be asked. */
  async #fetch({ state, isComplete }: Held, events: readonly DecodedEvent[]): Promise<boolean> {
    const iids = [...new Set(events.flatMap(({ head }) => (head.kind === 'action' ? [head.iid] : [])))];
    const unknown = iids.filter((iid) => iid <= state.lastIid && !state.byIid.has(iid));
    for (const alert of await this.#ask(state, 'iid', unknown)) keep(state, alert);
    if (isComplete) return unknown.length > 0;
    const fingerprints = new Set(events.flatMap(({ read }) => fingerprintsOf(read)));
    // A resolved alert cannot come back beside another one of its fingerprint, so that one has to be known too.
    for (const iid of iids) {
      const alert = state.byIid.get(iid);
      if (alert !== undefined && alert.fingerprint !== '') fingerprints.add(alert.fingerprint);
    }
    const missing = [...fingerprints].filter((fingerprint) => !state.open.has(fingerprint));
    for (const alert of await this.#ask(state, 'fingerprint', missing)) {
      // What changed lately is known better than the store knows it.
      if (isOpen(alert) && !state.byIid.has(alert.iid)) keep(state, alert);
    }
    return unknown.length + missing.length > 0;
  }

  async #ask(
    { project }: ProjectState,
    by: 'iid' | 'fingerprint',
    values: readonly (string | number)[],
  ): Promise<Alert[]> {
    const found: Alert[] = [];
    for (let i = 0; i < values.length; i += ALERTS_PER_QUERY) {
      const some = values.slice(i, i + ALERTS_PER_QUERY);
      const where = [
        sql`project = ${project}`,
        by === 'iid' ? sql`iid IN ${some}` : sql`fingerprint IN ${some} AND status != 'resolved'`,
      ];
      found.push(...(await readAlerts(this.#options.store, join(where, ' AND '), Number.MAX_SAFE_INTEGER)));
    }
    return found;
  }
}

const NOTHING_READ: ParsedDelivery = { text: '', items: [], refused: [] };

const fingerprintsOf = (read: ParsedDelivery | null): string[] =>
  (read?.items ?? []).flatMap((item) => (item !== null && item.fingerprint !== '' ? [item.fingerprint] : []));
