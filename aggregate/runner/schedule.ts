import { daysOf } from '../../ingest/raw/canonical.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { type FailureTexts, type ReadsByMetric, type WindowFailure, withReaders } from './failures.ts';

/**
 * The order of the windows of a round, the newest first: a window may be computed when all windows of the metrics that
 * its metric reads are. The windows of a metric that fails, and of all that read it, are left out; the others go on.
 */
export class Schedule {
  readonly failures = new Map<string, WindowFailure & FailureTexts>();
  readonly #reads: ReadsByMetric;
  readonly #waiting: PlannedWindow[];
  /** Windows of each metric that are not computed yet. */
  readonly #left = new Map<string, number>();
  #stalled: ReadonlySet<string> = new Set();
  #taken = 0;

  constructor(windows: readonly PlannedWindow[], reads: ReadsByMetric) {
    this.#reads = reads;
    this.#waiting = [...windows].sort((a, b) => a.level - b.level || b.until.localeCompare(a.until));
    for (const { metric } of windows) this.#left.set(metric, (this.#left.get(metric) ?? 0) + 1);
  }

  /** Whether nothing is being computed and nothing more can be. */
  get isOver(): boolean {
    return this.#taken === 0 && this.#waiting.length === 0;
  }

  /** A window that may be computed now; undefined while none may. */
  take(): PlannedWindow | undefined {
    const index = this.#waiting.findIndex(({ metric }) => this.#isReady(metric));
    if (index < 0) return undefined;
    this.#taken++;
    return this.#waiting.splice(index, 1)[0];
  }

  computed({ metric }: PlannedWindow): void {
    this.#taken--;
    const left = (this.#left.get(metric) ?? 0) - 1;
    if (left > 0) this.#left.set(metric, left);
    else this.#left.delete(metric);
  }

  /** Leaves out the rest of the metric and all that read it; returns how many windows that are. */
  failed(window: PlannedWindow, texts: FailureTexts): number {
    const { metric, relays } = window;
    const { from, until } = daysOf(window);
    this.#taken--;
    if (!this.failures.has(metric))
      this.failures.set(metric, { relay_chains: relays, from_day: from, until_day: until, ...texts });
    this.#stalled = withReaders(this.failures.keys(), this.#reads);
    const before = this.#waiting.length;
    for (let i = before - 1; i >= 0; i--) {
      if (this.#stalled.has((this.#waiting[i] as PlannedWindow).metric)) this.#waiting.splice(i, 1);
    }
    return before - this.#waiting.length;
  }

  #isReady(metric: string): boolean {
    for (const table of this.#reads.get(metric) ?? []) {
      if (table !== metric && this.#left.has(table)) return false;
    }
    return true;
  }
}
