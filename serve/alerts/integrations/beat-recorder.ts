import type { ParsedDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import { sha256 } from '../../../aggregate/alerts/formats/values.ts';
import type { AlertItem } from '../../../aggregate/alerts/model/alert.ts';
import { Batcher } from '../../../infra/coordination/batcher.ts';
import { ProductError } from '../../../infra/errors.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { Clock } from '../../../infra/ports.ts';
import {
  EVERY_REQUEST,
  type HeartbeatKey,
  type HeartbeatRow,
  type HeartbeatStore,
  isWatchdog,
  newRow,
  POSTED,
} from './heartbeat-store.ts';
import type { CachedIntegration } from './integration-cache.ts';

/** Shortest interval between two stored times of a beat. */
const STORE_MS = 5_000;
/** Limit of Watchdogs per integration. Otherwise a sender whose labels change could fill the table. */
export const WATCHDOGS_MAX = 100;
/** Interval for reading the stored beats of an integration again, because beats may have been deleted. */
const REREAD_MS = 60_000;
/** Limit of beats that wait for the store. Further beats are lost, so an alert may come too early. */
const PENDING_MAX = 10_000;

export type Beat = Pick<HeartbeatKey, 'beat' | 'labels'>;

/** The items of a delivery that are beats. */
export const beatsIn = ({ items }: Pick<ParsedDelivery, 'items'>): Beat[] =>
  items.flatMap((item) => (item?.effect === 'heartbeat' ? [beatOf(item)] : []));

function beatOf({ fingerprint, labels, title }: AlertItem): Beat {
  // A generic payload has no labels; its title is the name.
  const shown = labels.length > 0 ? labels : [`alertname=${title}`];
  return { beat: fingerprint || sha256(shown.join('\n')), labels: shown };
}

interface BeatRecorderDependencies {
  readonly clock: Clock;
  readonly store: HeartbeatStore;
  /** Called for each Watchdog above WATCHDOGS_MAX. */
  readonly onReject: (integration: string) => void;
}

/** This process's copy of the stored beats of an integration. */
interface StoredBeats {
  /** When this process last stored each beat. */
  readonly storedMs: Map<string, number>;
  readonly readMs: number;
}

/** A Watchdog is also recorded in the row of every request, because that row stays when the Watchdog is forgotten. */
function rowsOf(key: HeartbeatKey, now: number): HeartbeatRow[] {
  const row = { ...newRow(key), heard_ms: now };
  if (!isWatchdog(key.beat)) return [row];
  return [row, { ...newRow({ ...key, beat: EVERY_REQUEST, labels: [] }), watchdog_ms: now }];
}

/** Stores the times of beats. Does nothing for integrations without a heartbeat. */
export class BeatRecorder {
  readonly #deps: BeatRecorderDependencies;
  readonly #stored = new Map<string, StoredBeats>();
  readonly #pending = new Map<string, Promise<undefined>>();
  readonly #batcher: Batcher<HeartbeatKey, undefined>;

  constructor(dependencies: BeatRecorderDependencies) {
    this.#deps = dependencies;
    this.#batcher = new Batcher(async (keys) => {
      await this.#store(keys);
      return keys.map(() => undefined);
    });
  }

  /** Does not wait for the store. A failure would make the sender repeat alerts that are already accepted. */
  record(entry: CachedIntegration, watchdogs: readonly Beat[]): void {
    const beats = [{ beat: EVERY_REQUEST, labels: [] }, ...watchdogs];
    this.#add(entry, beats).catch(ignore('heartbeats.heard'));
  }

  /** Records the beat of POST …/heartbeat. It is durable when this resolves. */
  async recordPosted(entry: CachedIntegration): Promise<void> {
    await this.#add(
      entry,
      [EVERY_REQUEST, POSTED].map((beat) => ({ beat, labels: [] })),
    );
  }

  async #add({ integration }: CachedIntegration, beats: readonly Beat[]): Promise<void> {
    if (integration.heartbeat_minutes === 0) return;
    const storedMs = this.#stored.get(integration.id)?.storedMs;
    const now = this.#deps.clock.now();
    const key = { project: Number(integration.project_id), integration: integration.id };
    const due = beats.filter(({ beat }) => now - (storedMs?.get(beat) ?? 0) >= STORE_MS);
    await Promise.all(due.map((beat) => this.#addOne({ ...key, ...beat })));
  }

  #addOne(key: HeartbeatKey): Promise<undefined> {
    const name = `${key.integration} ${key.beat}`;
    const pending = this.#pending.get(name);
    if (pending !== undefined) return pending;
    if (this.#pending.size >= PENDING_MAX)
      return Promise.reject(new ProductError('store_failed', 'too many beats wait to be stored'));
    const stored = this.#batcher.add(key).finally(() => this.#pending.delete(name));
    this.#pending.set(name, stored);
    return stored;
  }

  /** Runs one batch at a time, so two batches cannot exceed WATCHDOGS_MAX together. */
  async #store(keys: readonly HeartbeatKey[]): Promise<void> {
    const { clock, onReject, store } = this.#deps;
    const now = clock.now();
    await this.#read(keys, now);
    const taken: HeartbeatKey[] = [];
    for (const key of keys) {
      if (this.#takes(key)) taken.push(key);
      else onReject(key.integration);
    }
    await store.merge(taken.flatMap((key) => rowsOf(key, now)));
    for (const { integration, beat } of taken) this.#stored.get(integration)?.storedMs.set(beat, now);
  }

  /** Reads the stored beats of each integration with a beat that this process's copy lacks. */
  async #read(keys: readonly HeartbeatKey[], now: number): Promise<void> {
    const unknown = keys.filter(({ integration, beat }) => {
      const stored = this.#stored.get(integration);
      return stored === undefined || (!stored.storedMs.has(beat) && now - stored.readMs >= REREAD_MS);
    });
    const projects = new Set(unknown.map(({ project }) => project));
    const integrations = new Set(unknown.map(({ integration }) => integration));
    const rows = await this.#deps.store.rowsOf([...projects], [...integrations]);
    const byIntegration = Map.groupBy(rows, ({ integration }) => integration);
    for (const integration of integrations) {
      const before = this.#stored.get(integration)?.storedMs;
      const beats = (byIntegration.get(integration) ?? []).map(({ beat }) => beat);
      const storedMs = new Map(beats.map((beat) => [beat, before?.get(beat) ?? 0]));
      this.#stored.set(integration, { storedMs, readMs: now });
    }
  }

  /** Reserves a place for a new Watchdog. Returns false if the integration has too many. */
  #takes({ integration, beat }: HeartbeatKey): boolean {
    const storedMs = this.#stored.get(integration)?.storedMs ?? new Map<string, number>();
    if (storedMs.has(beat) || !isWatchdog(beat)) return true;
    if ([...storedMs.keys()].filter(isWatchdog).length >= WATCHDOGS_MAX) return false;
    storedMs.set(beat, 0);
    return true;
  }
}
