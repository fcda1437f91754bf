import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Clock, KeyValue } from '../../../infra/ports.ts';
import { deliveryOf } from '../intake/delivery.ts';
import { httpIntegration } from './http.ts';
import type { CachedIntegration, IntegrationCache } from './integration-cache.ts';

const CHECK_MS = 15_000;
/** The time of a request is stored at most this often for each integration. */
const STORE_MS = 5_000;
const TTL_MS = 30 * 86_400_000;

/** The heartbeat of an integration; 0 where there is none. */
export interface HeartbeatState {
  readonly heardMs: number;
  /** Time of the last request before the source fell silent; 0 while it is not silent. */
  readonly silentSinceMs: number;
}

interface HeartbeatsDependencies {
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly cache: IntegrationCache;
  readonly pipeline: AlertPipeline;
}

/**
 * Watches integrations that have a heartbeat. A silent source creates an alert through its own integration, and its
 * next request resolves the alert. The time of a source that never sent anything counts from the first check.
 */
export class Heartbeats {
  readonly #keyValue: KeyValue;
  readonly #clock: Clock;
  readonly #cache: IntegrationCache;
  readonly #pipeline: AlertPipeline;
  readonly #storedMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ keyValue, clock, cache, pipeline }: HeartbeatsDependencies) {
    this.#keyValue = keyValue;
    this.#clock = clock;
    this.#cache = cache;
    this.#pipeline = pipeline;
  }

  start(onFailure: (error: unknown) => void, checkMs = CHECK_MS): void {
    this.#timer = setInterval(() => void this.check().catch(onFailure), checkMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** As any server of the deployment stored it, at most some seconds late. */
  async stateOf(id: string): Promise<HeartbeatState> {
    const [heard, silent] = await Promise.all([
      this.#keyValue.get(heardKey(id)),
      this.#keyValue.get(silentKey(id)),
    ]);
    return { heardMs: Number(heard ?? 0), silentSinceMs: Number(silent ?? 0) };
  }

  /** Called for every request of a source. */
  heard({ integration }: CachedIntegration): void {
    if (integration.heartbeat_minutes === 0) return;
    const now = this.#clock.now();
    if (now - (this.#storedMs.get(integration.id) ?? 0) < STORE_MS) return;
    this.#storedMs.set(integration.id, now);
    // Not awaited: when this fails, the sender must not repeat an alert that was accepted.
    this.#keyValue
      .set(heardKey(integration.id), String(now), { ttlMs: TTL_MS })
      .catch(() => this.#storedMs.delete(integration.id));
  }

  /** Checks every integration with a heartbeat. Several servers may do so at the same time. */
  async check(): Promise<void> {
    for (const entry of await this.#cache.withHeartbeat()) await this.#checkOne(entry);
  }

  async #checkOne(entry: CachedIntegration): Promise<void> {
    const { id, heartbeat_minutes } = entry.integration;
    const now = this.#clock.now();
    await this.#keyValue.set(heardKey(id), String(now), { ttlMs: TTL_MS, onlyIfAbsent: true });
    const heard = Number((await this.#keyValue.get(heardKey(id))) ?? now);
    const isSilent = now - heard >= heartbeat_minutes * 60_000;
    const since = await this.#keyValue.get(silentKey(id));
    if (isSilent && since === null) {
      await this.#deliver(entry, heard, false);
      await this.#keyValue.set(silentKey(id), String(heard), { ttlMs: TTL_MS });
    } else if (!isSilent && since !== null) {
      await this.#deliver(entry, Number(since), true);
      await this.#keyValue.delete(silentKey(id));
    }
  }

  async #deliver({ integration }: CachedIntegration, since: number, isOver: boolean): Promise<void> {
    const head = deliveryOf(integration, httpIntegration.endpoint, {
      // Equal in all servers, so that it counts as one event.
      idempotency_key: `heartbeat ${since} ${isOver ? 'over' : 'silent'}`,
    });
    const body = Buffer.from(
      JSON.stringify({
        title: `${integration.name} is silent`,
        description: `No request from this source for ${integration.heartbeat_minutes} minutes.`,
        monitoring_tool: 'Heartbeat',
        severity: 'critical',
        fingerprint: `heartbeat ${integration.id}`,
        start_time: new Date(since).toISOString(),
        ...(isOver ? { end_time: new Date(this.#clock.now()).toISOString() } : {}),
      }),
    );
    await this.#pipeline.deliver(head, body, this.#pipeline.parse(head, body));
  }
}

const heardKey = (id: string) => `alerts/heard/${id}`;
const silentKey = (id: string) => `alerts/silent/${id}`;
