import { join, sql } from '../../infra/kernel/sql.ts';
import type { Store } from '../../infra/runtime.ts';
import { type Alert, isOpen } from './alert.ts';
import type { EventHead, ReadDelivery } from './delivery.ts';
import { type Applied, applyAction, applyDelivery, type FoldRules, keep, type ProjectState } from './fold.ts';
import { eventsAfter, loadState, readAlerts } from './stored.ts';

/** An event and what its body says; `read` is null for actions and for bodies that nothing can be taken from. */
export interface ReadEvent {
  readonly head: EventHead;
  readonly read: ReadDelivery | null;
}

export interface StatesOptions {
  readonly store: Store;
  readonly rules: FoldRules;
  /** Unresolved alerts of a project that are kept in memory; the others are asked of the store. */
  readonly openMost: number;
  /** Reads an event of the store again. */
  readonly read: (head: EventHead, body: Buffer) => ReadEvent;
}

interface Held {
  readonly state: ProjectState;
  isComplete: boolean;
  usedAt: number;
  /** Position up to which everything is durable. */
  written: number;
}

const PROJECTS_MOST = 1000;
/** How far a limit is passed before something is forgotten, so that forgetting is rare. */
const SLACK = 10_000;
const ALERTS_PER_QUERY = 2000;

/** The states of the projects that this process decides on: what it needs of them is read from the store once. */
export class States {
  readonly #options: StatesOptions;
  readonly #held = new Map<number, Held>();
  #uses = 0;

  constructor(options: StatesOptions) {
    this.#options = options;
  }

  /** Forgets everything: another process has decided in between, or what is held may be wrong. */
  clear(): void {
    this.#held.clear();
  }

  /**
   * Has everything ready that these events ask for; nothing is decided yet. Returns alerts that were behind their
   * stored events, as they have to be.
   */
  async prepare(events: readonly ReadEvent[]): Promise<Alert[]> {
    const projects = new Map<number, ReadEvent[]>();
    for (const event of events) {
      const { project } = event.head;
      const of = projects.get(project);
      if (of) of.push(event);
      else projects.set(project, [event]);
    }
    const behind: Alert[] = [];
    for (const [project, of] of projects) {
      const loaded = this.#held.has(project) ? [] : await this.catchUp(project);
      behind.push(...loaded);
      const held = this.#held.get(project) as Held;
      held.usedAt = ++this.#uses;
      await this.#fetch(held, of);
    }
    return behind;
  }

  /** Decides on one event that `prepare` was called with. */
  apply(event: ReadEvent): Applied {
    return this.#decide((this.#held.get(event.head.project) as Held).state, event);
  }

  #decide(state: ProjectState, { head, read }: ReadEvent): Applied {
    if (head.kind === 'action') return applyAction(state, head);
    return applyDelivery(state, head, read ?? NOTHING_READ, this.#options.rules);
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
    const { openMost } = this.#options;
    const { open, byIid } = held.state;
    if (byIid.size > openMost + SLACK) {
      const left = (only: (alert: Alert) => boolean) => {
        for (const alert of byIid.values()) {
          if (byIid.size <= openMost) return;
          if (alert.position <= held.written && only(alert)) byIid.delete(alert.iid);
        }
      };
      left((alert) => !isOpen(alert));
      left(() => true);
    }
    if (open.size > openMost + SLACK) {
      for (const [fingerprint, alert] of open) {
        if (open.size <= openMost) break;
        if (alert.position > held.written) continue;
        open.delete(fingerprint);
        held.isComplete = false;
      }
    }
  }

  /** Reads the state of a project anew. Returns alerts that do not show their newest events yet, as they have to be. */
  async catchUp(project: number): Promise<Alert[]> {
    const { store, rules, openMost, read } = this.#options;
    const { state, isComplete } = await loadState(store, project, rules, openMost);
    const held: Held = { state, isComplete, usedAt: ++this.#uses, written: state.position };
    const changed = new Map<number, Alert>();
    for await (const { head, body } of eventsAfter(store, project, state.position)) {
      const event = read(head, body);
      await this.#fetch(held, [event]);
      for (const alert of this.#decide(state, event).changed) changed.set(alert.iid, alert);
    }
    this.#held.set(project, held);
    return [...changed.values()];
  }

  async #fetch({ state, isComplete }: Held, events: readonly ReadEvent[]): Promise<void> {
    const iids = [...new Set(events.flatMap(({ head }) => (head.kind === 'action' ? [head.iid] : [])))];
    const unknown = iids.filter((iid) => iid <= state.lastIid && !state.byIid.has(iid));
    for (const alert of await this.#ask(state, 'iid', unknown)) keep(state, alert);
    if (isComplete) return;
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

const NOTHING_READ: ReadDelivery = { text: '', items: [], refused: [] };

const fingerprintsOf = (read: ReadDelivery | null): string[] =>
  (read?.items ?? []).flatMap((item) => (item !== null && item.fingerprint !== '' ? [item.fingerprint] : []));
