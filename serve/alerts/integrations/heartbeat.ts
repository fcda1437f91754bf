import type { AlertServices } from '../services.ts';
import type { CachedIntegration } from './integration-cache.ts';

const CHECK_MS = 15_000;
/** How seldom it is written that a source was heard. */
const HEARD_EVERY_MS = 5_000;
const HEARD_TTL_MS = 30 * 86_400_000;

/** What is known of a source that should be heard regularly; 0 where nothing is. */
export interface Pulse {
  readonly heardMs: number;
  /** When it was heard last before it fell silent, while it is. */
  readonly silentSinceMs: number;
}

/** When a source was heard; told by whichever server heard it, at most some seconds late. */
export async function pulseOf(services: AlertServices, id: string): Promise<Pulse> {
  const { keyValue } = services.engine.runtime;
  const [heard, silent] = await Promise.all([keyValue.get(heardKey(id)), keyValue.get(silentKey(id))]);
  return { heardMs: Number(heard ?? 0), silentSinceMs: Number(silent ?? 0) };
}

const heardKey = (id: string) => `alerts/heard/${id}`;
const silentKey = (id: string) => `alerts/silent/${id}`;

/**
 * Watches sources that should be heard regularly. Silence is an alert like any other, through the source's own
 * integration, and over when it is heard again. A server that starts gives every source its full time first.
 */
export class Heartbeat {
  readonly #desk: AlertServices;
  readonly #heard = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(services: AlertServices) {
    this.#desk = services;
  }

  start(onFailure: (error: unknown) => void, checkMs = CHECK_MS): void {
    this.#timer = setInterval(() => void this.check().catch(onFailure), checkMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Called for whatever a source sends. */
  heard({ integration }: CachedIntegration): void {
    if (integration.heartbeat_minutes === 0) return;
    const now = this.#desk.accounts.clock.now();
    if (now - (this.#heard.get(integration.id) ?? 0) < HEARD_EVERY_MS) return;
    this.#heard.set(integration.id, now);
    // Not waited for: what was taken in must not be sent again because nobody could note that it came.
    this.#desk.engine.runtime.keyValue
      .set(heardKey(integration.id), String(now), { ttlMs: HEARD_TTL_MS })
      .catch(() => this.#heard.delete(integration.id));
  }

  /** Looks at every watched source; several servers may do so at the same time. */
  async check(): Promise<void> {
    for (const entry of await this.#desk.integrationCache.watched()) await this.#look(entry);
  }

  async #look(entry: CachedIntegration): Promise<void> {
    const { keyValue } = this.#desk.engine.runtime;
    const { id, heartbeat_minutes } = entry.integration;
    const now = this.#desk.accounts.clock.now();
    await keyValue.set(heardKey(id), String(now), { ttlMs: HEARD_TTL_MS, onlyIfAbsent: true });
    const heard = Number((await keyValue.get(heardKey(id))) ?? now);
    const isSilent = now - heard >= heartbeat_minutes * 60_000;
    const since = await keyValue.get(silentKey(id));
    if (isSilent && since === null) {
      await this.#tell(entry, heard, false);
      await keyValue.set(silentKey(id), String(heard), { ttlMs: HEARD_TTL_MS });
    } else if (!isSilent && since !== null) {
      await this.#tell(entry, Number(since), true);
      await keyValue.delete(silentKey(id));
    }
  }

  async #tell({ integration }: CachedIntegration, since: number, isOver: boolean): Promise<void> {
    const { alerts } = this.#desk;
    const head = {
      project: Number(integration.project_id),
      integration: integration.id,
      endpoint: 'http' as const,
      mapping: null,
      groups_by_payload: true,
      // However many servers notice it, it is one event.
      idempotency_key: `heartbeat ${since} ${isOver ? 'over' : 'silent'}`,
    };
    const body = Buffer.from(
      JSON.stringify({
        title: `${integration.name} is silent`,
        description: `Nothing was heard of this source for ${integration.heartbeat_minutes} minutes.`,
        monitoring_tool: 'Heartbeat',
        severity: 'critical',
        fingerprint: `heartbeat ${integration.id}`,
        start_time: new Date(since).toISOString(),
        ...(isOver ? { end_time: new Date(this.#desk.accounts.clock.now()).toISOString() } : {}),
      }),
    );
    await alerts.deliver(head, body, alerts.parse(head, body));
  }
}
