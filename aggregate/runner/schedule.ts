import { daysOf } from '../../ingest/raw/canonical.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { type FailureTexts, type ReadsByMetric, type WindowFailure, withDependents } from './failures.ts';

/**
 * Orders the windows of a round: inputs of a metric first, then newest first. A window is ready when all windows of the
 * metrics that it reads are computed. If a metric fails, its windows and the windows of all metrics that read it are
 * skipped; the others continue.
 */
export class Schedule {
  readonly failures = new Map<string, WindowFailure & FailureTexts>();
  readonly #reads: ReadsByMetric;
  readonly #waiting: PlannedWindow[];
  /** Number of windows of each metric that are not computed yet. */
  readonly #remaining = new Map<string, number>();
  #stalled: ReadonlySet<string> = new Set();
  #running = 0;

  constructor(windows: readonly PlannedWindow[], reads: ReadsByMetric) {
    this.#reads = reads;
    this.#waiting = [...windows].sort((a, b) => a.level - b.level || b.until.localeCompare(a.until));
    for (const { metric } of windows) this.#remaining.set(metric, (this.#remaining.get(metric) ?? 0) + 1);
  }

  /** True if no window is running and none is waiting. */
  get isOver(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  /** The next ready window; undefined if none is ready. */
  take(): PlannedWindow | undefined {
    const index = this.#waiting.findIndex(({ metric }) => this.#isReady(metric));
    if (index < 0) return undefined;
    this.#running++;
    return this.#waiting.splice(index, 1)[0];
  }

  computed({ metric }: PlannedWindow): void {
    this.#running--;
    const remaining = (this.#remaining.get(metric) ?? 0) - 1;
    if (remaining > 0) this.#remaining.set(metric, remaining);
    else this.#remaining.delete(metric);
  }

  /** Skips the other windows of the metric and of all metrics that read it; returns their number. */
  failed(window: PlannedWindow, texts: FailureTexts): number {
    const { metric, relays } = window;
    const { from, until } = daysOf(window);
    this.#running--;
    if (!this.failures.has(metric))
      this.failures.set(metric, { relay_chains: relays, from_day: from, until_day: until, ...texts });
    this.#stalled = withDependents(this.failures.keys(), this.#reads);
    const before = this.#waiting.length;
    for (let i = before - 1; i >= 0; i--) {
      if (this.#stalled.has((this.#waiting[i] as PlannedWindow).metric)) this.#waiting.splice(i, 1);
    }
    return before - this.#waiting.length;
  }

  #isReady(metric: string): boolean {
    for (const table of this.#reads.get(metric) ?? []) {
      if (table !== metric && this.#remaining.has(table)) return false;
    }
    return true;
  }
}
