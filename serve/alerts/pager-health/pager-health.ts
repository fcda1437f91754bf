import type { AlertSettings } from '../../../aggregate/alerts/model/settings.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, KeyValue, Store } from '../../../infra/ports.ts';
import type { Mailer } from '../../mail/mailer.ts';
import type { PageDeliveries } from '../paging/page-deliveries.ts';
import type { PageSteps } from '../paging/page-steps.ts';
import {
  OPEN_PAGE_STATES,
  type PageFigures,
  readPageFigures,
  UNEXPIRED_SILENCE_STATES,
} from './page-figures.ts';
import type { PagerHealthMetrics } from './pager-health-metrics.ts';
import { heartbeatFault, postHeartbeat } from './paging-heartbeat.ts';
import {
  COVERAGES,
  readScheduleFigures,
  type ScheduleFigures,
  type ScheduleSources,
} from './schedule-figures.ts';
import { SharedFigures } from './shared-figures.ts';

interface PagerHealthDependencies extends ScheduleSources {
  readonly store: Store;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly mailer: Pick<Mailer, 'isConfigured' | 'check'>;
  readonly pageSteps: Pick<PageSteps, 'sinceSweepMs'>;
  readonly pageDeliveries: Pick<PageDeliveries, 'sinceSweepMs'>;
  readonly settings: Pick<AlertSettings, 'PAGING_HEARTBEAT_URL'>;
  readonly metrics: PagerHealthMetrics;
}

const LOOK_MS = 30_000;
/** Shorter than the interval of the checks, because their timer drifts. */
const PAGES_MS = 25_000;
const SCHEDULES_MS = 55_000;
const HEARTBEAT_MS = 45_000;

/** Set for HEARTBEAT_MS after a heartbeat. */
const BEAT = 'paging-heartbeat';

/** Updates the metrics of the pager every 30 seconds and sends its heartbeat. */
export class PagerHealth {
  readonly #deps: PagerHealthDependencies;
  readonly #pages: SharedFigures<PageFigures>;
  readonly #schedules: SharedFigures<ScheduleFigures>;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<unknown> | undefined;

  constructor(dependencies: PagerHealthDependencies) {
    this.#deps = dependencies;
    const { store, clock } = dependencies;
    this.#pages = new SharedFigures(dependencies, 'pages', PAGES_MS, () =>
      readPageFigures(store, clock.now()),
    );
    this.#schedules = new SharedFigures(dependencies, 'schedules', SCHEDULES_MS, () =>
      readScheduleFigures(dependencies),
    );
  }

  start(onFailure: (error: unknown) => void): void {
    const look = () => {
      this.#looking ??= this.look()
        .catch(onFailure)
        .finally(() => {
          this.#looking = undefined;
        });
    };
    this.#timer = setInterval(look, LOOK_MS).unref();
    look();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async look(): Promise<void> {
    const parts = [this.#lookAtMail(), this.#lookAtPages(), this.#lookAtSchedules()];
    const results = await Promise.allSettled(parts);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #lookAtMail(): Promise<void> {
    const { mailer, metrics } = this.#deps;
    if (!mailer.isConfigured) return;
    const fault = await mailer.check();
    metrics.smtpUp.set(fault === '' ? 1 : 0);
    if (fault !== '') throw new Error(`SMTP_URL: no mail can be sent: ${fault}`);
  }

  async #lookAtPages(): Promise<void> {
    const { metrics } = this.#deps;
    const figures = await this.#pages.newest();
    if (figures === null) return;
    for (const state of OPEN_PAGE_STATES) metrics.pages.set({ state }, figures.pages[state] ?? 0);
    for (const state of UNEXPIRED_SILENCE_STATES) metrics.silences.set({ state }, figures.silences[state]);
    metrics.oldestDue.set(figures.oldestDueMs / 1000);
    await this.#beat(figures.oldestDueMs);
  }

  async #lookAtSchedules(): Promise<void> {
    const { metrics } = this.#deps;
    const figures = await this.#schedules.newest();
    if (figures === null) return;
    for (const coverage of COVERAGES) metrics.oncallSchedules.set({ coverage }, figures[coverage]);
  }

  /**
   * Sends the heartbeat to the external monitor. The figures were stored recently, so the store takes writes. One
   * process sends for all; the next check of any process retries a failed request.
   */
  async #beat(oldestDueMs: number): Promise<void> {
    const { keyValue, pageSteps, pageDeliveries, settings } = this.#deps;
    const url = settings.PAGING_HEARTBEAT_URL;
    if (url === undefined) return;
    const sinceSweepMs = Math.max(pageSteps.sinceSweepMs, pageDeliveries.sinceSweepMs);
    const fault = heartbeatFault({ sinceSweepMs, oldestDueMs });
    if (fault !== '') throw new Error(`PAGING_HEARTBEAT_URL: heartbeat not sent: ${fault}`);
    const isFirst = await keyValue.set(BEAT, '1', { ttlMs: HEARTBEAT_MS, onlyIfAbsent: true });
    if (!isFirst) return;
    try {
      await postHeartbeat(url);
    } catch (error) {
      await keyValue.delete(BEAT);
      throw error;
    }
  }
}
