import { sha256 } from '../../../aggregate/alerts/formats/values.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { chunkBySize } from '../../../infra/chunk.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock, KeyValue } from '../../../infra/ports.ts';
import type { ConsumerMetrics } from '../events/consumer-metrics.ts';
import { RequestRefused } from '../model/access.ts';
import type { IntegrationSummary } from '../model/tables.ts';
import { lookupDelivery, missingBeatDelivery, recoveryDelivery } from './heartbeat-alert.ts';
import {
  EVERY_REQUEST,
  type HeartbeatAlert,
  type HeartbeatRow,
  type HeartbeatStore,
} from './heartbeat-store.ts';
import { type CheckGap, missingMs, missingSince, watchOf } from './heartbeat-watch.ts';
import type { IntegrationCache } from './integration-cache.ts';

const CHECK_MS = 15_000;
const FORGOTTEN_MS = 30 * DAY_MS;
const MINUTE_MS = 60_000;
/** If no check ran for longer than this, no server was running. */
const UNCHECKED_MS = 8 * CHECK_MS;
/** Concurrent deliveries of alerts about beats. */
const CHECKED_AT_ONCE = 50;

/** A beat that is watched. */
export interface Heartbeat {
  readonly id: string;
  readonly integration: string;
  /** Every request, POST …/heartbeat, or an alert that matches. */
  readonly beat: HeartbeatRow['beat'];
  /** Labels of the Watchdog, as `name=value`. */
  readonly labels: readonly string[];
  /** Time of the last beat; 0 before the first beat. */
  readonly heardMs: number;
  /** The open alert about the missing beat; null if there is none. */
  readonly alert: HeartbeatAlert | null;
}

interface HeartbeatsDependencies {
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly cache: IntegrationCache;
  readonly pipeline: AlertPipeline;
  readonly store: HeartbeatStore;
  readonly metrics: Pick<ConsumerMetrics, 'heartbeats'>;
}

/**
 * Watches the beats of integrations. A missing beat creates an alert through its own integration. The next beat, or the
 * end of the watch, resolves the alert. Decisions use only stored alerts and stored times, so a restart changes nothing.
 */
export class Heartbeats {
  readonly #deps: HeartbeatsDependencies;
  #timer: NodeJS.Timeout | undefined;

  constructor(dependencies: HeartbeatsDependencies) {
    this.#deps = dependencies;
  }

  start(onFailure: (error: unknown) => void, checkMs = CHECK_MS): void {
    const onFailed = (error: unknown) => {
      // A stop may break off a check. The check runs again after the next start.
      if (this.#timer) onFailure(error);
    };
    this.#timer = setInterval(() => void this.check().catch(onFailed), checkMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The beats of integrations that are watched, in the order of the integrations. */
  async list(integrations: readonly IntegrationSummary[]): Promise<Heartbeat[]> {
    const rows = await this.#watchedOf(integrations);
    const alerts = await this.#newestAlerts(rows);
    return rows.map((row) => {
      const { integration, beat, labels, heard_ms: heardMs } = row;
      const alert = alerts.get(nameOf(row));
      return { id: idOf(row), integration, beat, labels, heardMs, alert: alert?.isOpen ? alert : null };
    });
  }

  /** Ends the watch of a beat until the next one, and resolves its alert. */
  async forget(integrations: readonly IntegrationSummary[], id: string): Promise<void> {
    // The lock keeps a check from opening the alert at the same time.
    await this.#deps.locks.run('heartbeats', async () => {
      const row = (await this.#watchedOf(integrations)).find((one) => idOf(one) === id);
      if (row === undefined) throw new RequestRefused('not_found', 'Heartbeat Not Found');
      if (row.beat === EVERY_REQUEST)
        throw new RequestRefused('conflict', 'Set heartbeat_minutes of the integration to 0 instead.');
      await this.#end(row, (await this.#newestAlerts([row])).get(nameOf(row)));
    });
  }

  /** Checks all beats. Only one server at a time does so. */
  async check(): Promise<void> {
    await this.#deps.locks.tryRun('heartbeats', () => this.#checkAll());
  }

  async #checkAll(): Promise<void> {
    const { cache, clock, pipeline, store, metrics } = this.#deps;
    await pipeline.waitUntilWritten();
    const now = clock.now();
    const entries = new Map(
      (await cache.withHeartbeat()).map((entry) => [entry.integration.id, entry.integration]),
    );
    const rows = Map.groupBy(await store.rows(), ({ integration }) => integration);
    // Read the gap after the store answered. While the store is down, no beat is stored, so that time counts as a gap.
    const gap = await this.#newestGap(now);
    const ids = new Set([...entries.keys(), ...rows.keys()]);
    const watches = [...ids].map((id) => watchOf(entries.get(id) ?? null, rows.get(id) ?? [], now));
    await store.merge(watches.flatMap(({ changed }) => changed));
    const watched = watches.flatMap((watch) => watch.watched);
    const ended = watches.flatMap((watch) => watch.ended);
    const alerts = await this.#newestAlerts([...watched, ...ended]);
    const missing = watched.filter((row) => alerts.get(nameOf(row))?.isOpen).length;
    metrics.heartbeats.set({ state: 'missing' }, missing);
    metrics.heartbeats.set({ state: 'heard' }, watched.length - missing);
    const checks = [
      ...ended.map((row) => () => this.#end(row, alerts.get(nameOf(row)))),
      ...watched.map((row) => () => {
        const integration = entries.get(row.integration) as IntegrationSummary;
        return this.#checkOne(integration, row, alerts.get(nameOf(row)), gap);
      }),
    ];
    await runEach(checks);
  }

  async #checkOne(
    integration: IntegrationSummary,
    row: HeartbeatRow,
    alert: HeartbeatAlert | undefined,
    gap: CheckGap,
  ): Promise<void> {
    const since = missingSince(row);
    const periodMs = integration.heartbeat_minutes * MINUTE_MS;
    const missing = missingMs(since, this.#deps.clock.now(), periodMs, gap);
    if (row.beat !== EVERY_REQUEST && missing >= FORGOTTEN_MS) return this.#end(row, alert);
    if (alert?.isOpen) {
      if (row.heard_ms > alert.startedMs)
        await this.#deliver(recoveryDelivery(row, alert.startedMs, row.heard_ms));
      return;
    }
    // A user may have resolved the alert while the beat is still missing.
    const isKnown = alert !== undefined && alert.startedMs >= since;
    if (missing >= periodMs && !isKnown) await this.#deliver(missingBeatDelivery(row, integration));
  }

  /** Resolves the alert before the row ends, because ended rows are not checked again. */
  async #end(row: HeartbeatRow, alert: HeartbeatAlert | undefined): Promise<void> {
    const { clock, store } = this.#deps;
    const now = clock.now();
    if (alert?.isOpen) await this.#deliver(recoveryDelivery(row, alert.startedMs, now));
    // Clocks differ, so a beat that another server stored may be later than now.
    await store.merge([{ ...row, ended_ms: Math.max(now, missingSince(row)) }]);
  }

  /** The newest span in which no server checked. Records this check. */
  async #newestGap(now: number): Promise<CheckGap> {
    const { keyValue } = this.#deps;
    const checked = Number((await keyValue.get(CHECKED_KEY)) ?? 0);
    await keyValue.set(CHECKED_KEY, String(now), { ttlMs: FORGOTTEN_MS });
    if (now - checked >= UNCHECKED_MS) {
      const gap = { from: checked, until: now };
      await keyValue.set(GAP_KEY, JSON.stringify(gap), { ttlMs: FORGOTTEN_MS });
    }
    return JSON.parse((await keyValue.get(GAP_KEY)) ?? '{"from":0,"until":0}') as CheckGap;
  }

  async #watchedOf(integrations: readonly IntegrationSummary[]): Promise<HeartbeatRow[]> {
    const { clock, pipeline, store } = this.#deps;
    await pipeline.waitUntilWritten();
    const having = integrations.filter((one) => one.is_active && one.heartbeat_minutes > 0);
    const projects = new Set(having.map(({ project_id }) => Number(project_id)));
    const rows = await store.rowsOf(
      [...projects],
      having.map(({ id }) => id),
    );
    const byIntegration = Map.groupBy(rows, ({ integration }) => integration);
    return having.flatMap((one) => watchOf(one, byIntegration.get(one.id) ?? [], clock.now()).watched);
  }

  /** The newest alert of each beat, by the name of the beat. */
  async #newestAlerts(rows: readonly HeartbeatRow[]): Promise<ReadonlyMap<string, HeartbeatAlert>> {
    const { pipeline, store } = this.#deps;
    const keys = rows.map((row) => {
      const { head, body } = lookupDelivery(row);
      return { project: row.project, fingerprint: pipeline.parse(head, body).items[0]?.fingerprint ?? '' };
    });
    const found = await store.newestAlerts(keys);
    return new Map(
      rows.flatMap((row, i) => {
        const alert = found.get(keys[i]?.fingerprint ?? '');
        return alert ? [[nameOf(row), alert] as const] : [];
      }),
    );
  }

  async #deliver({ head, body }: ReturnType<typeof lookupDelivery>): Promise<void> {
    const { pipeline } = this.#deps;
    await pipeline.deliver(head, body, pipeline.parse(head, body));
  }
}

/** Runs all checks. A failed check must not stop the checks of other projects. */
async function runEach(checks: readonly (() => Promise<void>)[]): Promise<void> {
  const done: PromiseSettledResult<void>[] = [];
  for (const part of chunkBySize(checks, CHECKED_AT_ONCE, () => 1)) {
    done.push(...(await Promise.allSettled(part.map((check) => check()))));
  }
  const failed = done.find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}

const nameOf = ({ integration, beat }: HeartbeatRow): string => `${integration} ${beat}`;
const idOf = (row: HeartbeatRow): string => sha256(nameOf(row)).slice(0, 16);

/** Key of the time of the last check and of the newest gap. */
const CHECKED_KEY = 'alerts/heartbeats-checked';
const GAP_KEY = 'alerts/heartbeats-gap';
