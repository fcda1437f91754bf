import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { DAY_MS } from '../../../infra/days.ts';
import { partsOf } from '../../../infra/parts.ts';
import type { Clock, KeyValue } from '../../../infra/ports.ts';
import type { IntegrationSummary } from '../model/tables.ts';
import { deliveryOf } from './delivery.ts';
import {
  HEARTBEAT_TOOL,
  type HeartbeatAlert,
  type HeartbeatRow,
  type HeartbeatStore,
} from './heartbeat-store.ts';
import { httpIntegration } from './http.ts';
import type { CachedIntegration, IntegrationCache } from './integration-cache.ts';

const CHECK_MS = 15_000;
/** The time of a request is stored at most this often for each integration. */
const STORE_MS = 5_000;
const TTL_MS = 30 * DAY_MS;
const MINUTE_MS = 60_000;
/** After so long without a check, no server listened. */
const UNCHECKED_MS = 8 * CHECK_MS;
/** Integrations whose alerts are delivered at the same time. */
const CHECKED_AT_ONCE = 50;

/** The heartbeat of an integration; 0 where there is none. */
export interface HeartbeatState {
  readonly heardMs: number;
  /** Time of the last request before the source fell silent; 0 while it is not silent. */
  readonly silentSinceMs: number;
}

interface HeartbeatsDependencies {
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly cache: IntegrationCache;
  readonly pipeline: AlertPipeline;
  readonly store: HeartbeatStore;
}

/**
 * Watches integrations that have a heartbeat. A silent source creates an alert through its own integration; its next
 * request resolves the alert, and so does the end of the heartbeat. Whether a source is silent is read from its alert
 * and from stored times, so that a restart changes nothing. The time of a source that never sent anything counts from
 * the first check.
 */
export class Heartbeats {
  readonly #deps: HeartbeatsDependencies;
  readonly #storedMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: HeartbeatsDependencies) {
    this.#deps = dependencies;
  }

  start(onFailure: (error: unknown) => void, checkMs = CHECK_MS): void {
    const onFailed = (error: unknown) => {
      // A check that the stop breaks off is made after the next start.
      if (this.#timer) onFailure(error);
    };
    this.#timer = setInterval(() => void this.check().catch(onFailed), checkMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** By integration, as any server of the deployment stored it, at most some seconds late. */
  async statesOf(integrations: readonly IntegrationSummary[]): Promise<ReadonlyMap<string, HeartbeatState>> {
    const { store } = this.#deps;
    const watched = integrations.filter(({ heartbeat_minutes }) => heartbeat_minutes > 0);
    const ids = watched.map(({ id }) => id);
    const [rows, alerts] = await Promise.all([
      store.rows(),
      this.#newestAlerts(
        watched.map(({ id, project_id }) => ({ integration: id, project: Number(project_id) })),
      ),
    ]);
    const states = ids.map(async (id): Promise<[string, HeartbeatState]> => {
      const heardMs = await this.#heardMs(id, rows.get(id));
      const alert = alerts.get(id);
      return [id, { heardMs, silentSinceMs: alert?.isOpen ? alert.startedMs : 0 }];
    });
    return new Map(await Promise.all(states));
  }

  /** Called for every request of a source. */
  heard({ integration }: CachedIntegration): void {
    if (integration.heartbeat_minutes === 0) return;
    const { clock, keyValue } = this.#deps;
    const now = clock.now();
    if (now - (this.#storedMs.get(integration.id) ?? 0) < STORE_MS) return;
    this.#storedMs.set(integration.id, now);
    // Not awaited: when this fails, the sender must not repeat an alert that was accepted.
    keyValue
      .set(heardKey(integration.id), String(now), { ttlMs: TTL_MS })
      .catch(() => this.#storedMs.delete(integration.id));
  }

  /** Checks every integration that has or had a heartbeat; one server at a time does so. */
  async check(): Promise<void> {
    await this.#deps.locks.tryRun('heartbeats', () => this.#checkAll());
  }

  async #checkAll(): Promise<void> {
    const { cache, clock, pipeline, store } = this.#deps;
    await pipeline.waitUntilWritten();
    const now = clock.now();
    const isListening = await this.#listening(now);
    const watched = new Map((await cache.withHeartbeat()).map((entry) => [entry.integration.id, entry]));
    const rows = new Map(await store.rows());
    for (const [id, { integration }] of watched) {
      const row = rows.get(id) ?? {
        integration: id,
        project: Number(integration.project_id),
        heard_ms: 0,
        watched_ms: 0,
      };
      const heard_ms = await this.#heardMs(id, row);
      rows.set(id, { ...row, heard_ms, watched_ms: row.watched_ms || now });
    }
    const current = [...rows.values()].filter(({ watched_ms }) => watched_ms > 0);
    await store.save(current.filter(({ integration }) => watched.has(integration)));
    const alerts = await this.#newestAlerts(current);
    const checkRow = (row: HeartbeatRow) => {
      const entry = watched.get(row.integration);
      const alert = alerts.get(row.integration);
      return entry
        ? this.#checkOne(entry, row, alert, isListening(entry.integration))
        : this.#end(row, alert);
    };
    const checked: PromiseSettledResult<void>[] = [];
    for (const part of partsOf(current, CHECKED_AT_ONCE, () => 1)) {
      checked.push(...(await Promise.allSettled(part.map(checkRow))));
    }
    // What fails for one project must not keep the others from being checked.
    const failed = checked.find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  async #checkOne(
    { integration }: CachedIntegration,
    { heard_ms, watched_ms }: HeartbeatRow,
    alert: HeartbeatAlert | undefined,
    isListening: boolean,
  ): Promise<void> {
    const since = Math.max(heard_ms, watched_ms);
    if (alert?.isOpen) {
      if (heard_ms > alert.startedMs) await this.#deliver(integration, alert.startedMs, heard_ms);
      return;
    }
    // The alert of this silence may have been resolved by a user.
    const isKnown = alert !== undefined && alert.startedMs >= since;
    const silentMs = this.#deps.clock.now() - since;
    const isSilent = isListening && silentMs >= integration.heartbeat_minutes * MINUTE_MS;
    if (isSilent && !isKnown) await this.#deliver(integration, since, 0);
  }

  /** The integration was deleted or deactivated, or has no heartbeat any more. */
  async #end(row: HeartbeatRow, alert: HeartbeatAlert | undefined): Promise<void> {
    const { clock, store } = this.#deps;
    const integration = { ...UNNAMED, id: row.integration, project_id: String(row.project) };
    if (alert?.isOpen) await this.#deliver(integration, alert.startedMs, clock.now());
    await store.save([{ ...row, watched_ms: 0 }]);
  }

  /**
   * Whether the silence of a source can be told from that of the servers: when none listened for longer than its
   * period, it gets a whole period after that.
   */
  async #listening(now: number): Promise<(integration: IntegrationSummary) => boolean> {
    const { keyValue } = this.#deps;
    const checked = Number((await keyValue.get(CHECKED_KEY)) ?? 0);
    await keyValue.set(CHECKED_KEY, String(now), { ttlMs: TTL_MS });
    if (now - checked >= UNCHECKED_MS) {
      await keyValue.set(DEAF_KEY, JSON.stringify({ from: checked, until: now }), { ttlMs: TTL_MS });
    }
    const { from, until } = JSON.parse((await keyValue.get(DEAF_KEY)) ?? '{"from":0,"until":0}');
    return ({ heartbeat_minutes }) => {
      const periodMs = heartbeat_minutes * MINUTE_MS;
      return until - from < periodMs || now - until >= periodMs;
    };
  }

  async #heardMs(id: string, row: HeartbeatRow | undefined): Promise<number> {
    return Math.max(Number((await this.#deps.keyValue.get(heardKey(id))) ?? 0), row?.heard_ms ?? 0);
  }

  async #newestAlerts(
    of: readonly Pick<HeartbeatRow, 'integration' | 'project'>[],
  ): Promise<ReadonlyMap<string, HeartbeatAlert>> {
    const { pipeline, store } = this.#deps;
    const fingerprints = of.map(({ integration, project }) => {
      const { head, body } = requestOf({ ...UNNAMED, id: integration, project_id: String(project) }, 0, 0);
      return [integration, pipeline.parse(head, body).items[0]?.fingerprint ?? ''] as const;
    });
    const projects = [...new Set(of.map(({ project }) => project))];
    const found = await store.newestAlerts(
      projects,
      fingerprints.map(([, fingerprint]) => fingerprint),
    );
    return new Map(
      fingerprints.flatMap(([integration, fingerprint]) => {
        const alert = found.get(fingerprint);
        return alert ? [[integration, alert] as const] : [];
      }),
    );
  }

  async #deliver(source: HeartbeatSource, since: number, endMs: number): Promise<void> {
    const { pipeline } = this.#deps;
    const { head, body } = requestOf(source, since, endMs);
    await pipeline.deliver(head, body, pipeline.parse(head, body));
  }
}

type HeartbeatSource = Pick<IntegrationSummary, 'id' | 'project_id' | 'name' | 'heartbeat_minutes'>;
const UNNAMED = { name: '', heartbeat_minutes: 0 };

/** The delivery that creates an alert about silence, or the one that resolves it; then `endMs` is not 0. */
function requestOf(integration: HeartbeatSource, since: number, endMs: number) {
  const head = deliveryOf(integration, httpIntegration.endpoint, {
    // Equal in all servers, so that it counts as one event.
    idempotency_key: `heartbeat ${since} ${endMs > 0 ? 'over' : 'silent'}`,
  });
  const body = Buffer.from(
    JSON.stringify({
      title: `${integration.name} is silent`,
      description: `No request from this source for ${integration.heartbeat_minutes} minutes.`,
      monitoring_tool: HEARTBEAT_TOOL,
      severity: 'critical',
      fingerprint: `heartbeat ${integration.id}`,
      start_time: new Date(since).toISOString(),
      ...(endMs > 0 ? { end_time: new Date(endMs).toISOString() } : {}),
    }),
  );
  return { head, body };
}

const heardKey = (id: string) => `alerts/heard/${id}`;
/** When the last check was, and the last time in which there was none. */
const CHECKED_KEY = 'alerts/heartbeats-checked';
const DEAF_KEY = 'alerts/heartbeats-deaf';
