import type { PlannedWindow } from '../planner/plan.ts';
import { computedWindows, type LedgerEntry } from './ledger.ts';
import { BaseExecutor, STOPPED, type WindowExecutor } from './window-executor.ts';

/** Computes all windows in this process, the only one on its store, and writes one batch to the ledger per level. */
export class InProcessExecutor extends BaseExecutor implements WindowExecutor {
  readonly queues = [];

  async start(): Promise<void> {}
  async clear(): Promise<void> {}

  async run(windows: readonly PlannedWindow[], onDone: () => void, isStopped: () => boolean): Promise<void> {
    this.shareFacts(windows);
    const waiting = [...windows];
    const entries: LedgerEntry[] = [];
    const worker = async () => {
      for (let window = waiting.shift(); window; window = waiting.shift()) {
        if (isStopped()) throw new Error(STOPPED);
        const entry = await this.compute(window).catch((error) => {
          // The other workers stop too: the retry must not overtake what they still write.
          waiting.length = 0;
          throw error;
        });
        if (entry) entries.push(entry);
        onDone();
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: this.options.concurrency }, worker));
    await this.options.runtime.store.insert(computedWindows, entries);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}
