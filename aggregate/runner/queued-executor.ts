import { randomUUID } from 'node:crypto';
import { Locks } from '../../infra/coordination/lock.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { computedWindows } from './ledger.ts';
import { publishVersion } from './versions.ts';
import { BaseExecutor, STOPPED, type WindowExecutor } from './window-executor.ts';

const WINDOW_QUEUE = 'windows';
/** Windows of the last days are computed before those of a backfill. */
const LIVE_DAYS = 3;
const LIVE_PRIORITY = 1;
const BACKFILL_PRIORITY = 5;
const DAY_MS = 86_400_000;
const STOP_POLL_MS = 50;
/** A computed window is remembered for longer than a level takes; a window that is forgotten is computed again. */
const DONE_MS = 3_600_000;

interface QueuedWindow {
  readonly window: PlannedWindow;
  /** The level that waits for it. */
  readonly run: string;
}

/** Queues windows as jobs that any process computes. */
export class QueuedExecutor extends BaseExecutor implements WindowExecutor {
  readonly queues = [WINDOW_QUEUE];

  async start(): Promise<void> {
    const { runtime, concurrency, leaseMs } = this.options;
    const { queue, keyValue, store } = runtime;
    const locks = new Locks(keyValue, { ttlMs: leaseMs });
    await queue.process<QueuedWindow>(WINDOW_QUEUE, concurrency, async ({ window, run }) => {
      // A process that lost its lock may have written at the same time as another one: it computes the window again.
      for (let isDone = false; !isDone; ) {
        const [entry, isHeld] = await locks.run(`window/${idOf(window)}`, async (lease) => [
          await this.compute(window),
          await lease.isHeld(),
        ]);
        if (entry) {
          await store.insert(computedWindows, [entry]);
          await publishVersion(keyValue, window.metric, String(entry.version));
        }
        isDone = isHeld;
      }
      await keyValue.join(doneKey(run), idOf(window), DONE_MS);
    });
  }

  async clear(): Promise<void> {
    await this.options.runtime.queue.idle(WINDOW_QUEUE);
  }

  async run(windows: readonly PlannedWindow[], onDone: () => void, isStopped: () => boolean): Promise<void> {
    const { queue, clock } = this.options.runtime;
    const live = new Date(clock.now() - LIVE_DAYS * DAY_MS).toISOString().slice(0, 10);
    const run = randomUUID();
    // A queue that was emptied is idle too: a window is done when its process has recorded it.
    for (let left = windows; left.length > 0; left = await this.#left(left, run)) {
      for (const window of left) {
        const priority = window.until > live ? LIVE_PRIORITY : BACKFILL_PRIORITY;
        await queue.add<QueuedWindow>(WINDOW_QUEUE, { id: idOf(window), data: { window, run }, priority });
      }
      await unlessStopped(queue.idle(WINDOW_QUEUE), isStopped);
      const ids = new Set(left.map(idOf));
      const failed = (await queue.failed(WINDOW_QUEUE)).find(({ id }) => ids.has(id));
      if (failed) throw new Error(`after ${failed.attempts} attempts: ${failed.reason}`);
      if (isStopped()) throw new Error(STOPPED);
    }
    for (const _ of windows) onDone();
  }

  async #left(windows: readonly PlannedWindow[], run: string): Promise<PlannedWindow[]> {
    const done = new Set(await this.options.runtime.keyValue.members(doneKey(run)));
    return windows.filter((window) => !done.has(idOf(window)));
  }
}

const doneKey = (run: string) => `done/${run}`;
const idOf = ({ metric, relays, from, until }: PlannedWindow) =>
  `${metric}/${relays.join('+')}/${from}/${until}`;

/** Rejects when the process stops: it computes no more windows, so it must not wait for them. */
async function unlessStopped(work: Promise<void>, isStopped: () => boolean): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const stopped = new Promise<never>((_, fail) => {
    timer = setInterval(() => {
      if (isStopped()) fail(new Error(STOPPED));
    }, STOP_POLL_MS);
  });
  // When the process stops first, a later failure of the work must not be an unhandled rejection.
  work.catch(() => undefined);
  try {
    await Promise.race([work, stopped]);
  } finally {
    clearInterval(timer);
  }
}
