import type { MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { textsOf } from './failures.ts';
import { computedWindows, type LedgerEntry } from './ledger.ts';
import {
  BaseExecutor,
  type ComputedRound,
  type RoundOptions,
  STOPPED,
  type WindowExecutor,
} from './window-executor.ts';

/** Rows that are written to the ledger at a time. */
const ENTRIES_MAX = 100;

/** Computes all windows in this process, the only one on its store. */
export class InProcessExecutor extends BaseExecutor implements WindowExecutor {
  readonly queues = [];

  async start(): Promise<void> {}

  override async forgetFolds(metrics: readonly MaterializedMetric[]): Promise<void> {
    await super.forgetFolds(metrics);
    await this.findEmpty(metrics);
  }

  run(windows: readonly PlannedWindow[], options: RoundOptions): Promise<ComputedRound> {
    const compute = () => this.#computeAll(windows, options);
    return options.lane === 'live' ? this.precedence.first(compute) : compute();
  }

  async #computeAll(
    windows: readonly PlannedWindow[],
    { lane, onDone, isStopped }: RoundOptions,
  ): Promise<ComputedRound> {
    const { store } = this.options.runtime;
    this.shareReads(windows, lane);
    const schedule = this.schedule(windows);
    const entries: LedgerEntry[] = [];
    const running = new Set<Promise<void>>();
    let computed = 0;
    const compute = async (window: PlannedWindow) => {
      try {
        const entry = await this.computeAlone(window, lane);
        computed++;
        schedule.computed(window);
        onDone(1);
        if (entry) entries.push(entry);
      } catch (error) {
        onDone(1 + schedule.failed(window, textsOf(error)));
      }
    };
    try {
      while (!schedule.isOver) {
        const window = running.size < this.options.concurrency ? schedule.take() : undefined;
        if (window && !isStopped()) {
          const work = compute(window).finally(() => running.delete(work));
          running.add(work);
        } else if (running.size > 0) await Promise.race(running);
        if (isStopped() && running.size === 0) break;
        if (entries.length >= ENTRIES_MAX) await store.insert(computedWindows, entries.splice(0));
      }
    } finally {
      // No window outlives its run, also when the ledger cannot be written.
      await Promise.all(running);
      this.endSharing(lane);
    }
    await store.insert(computedWindows, entries);
    if (isStopped()) throw new Error(STOPPED);
    return { computed, failures: schedule.failures };
  }
}
