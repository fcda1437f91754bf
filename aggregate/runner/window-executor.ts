import { createHash, randomUUID } from 'node:crypto';
import { Locks, type Mutex } from '../../infra/coordination/lock.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/registry.ts';
import type { MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { computeWindow, failureOf, readFacts } from './compute.ts';
import { type LedgerEntry, computedWindows as ledgerWindows } from './ledger.ts';
import { publishVersion } from './versions.ts';

export interface WindowExecutorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  /** Held while a batch of this process is half loaded. */
  readonly gate: Mutex;
  readonly metrics: readonly MaterializedMetric[];
  /** Windows that this process computes at the same time; the engine itself uses every core for each. */
  readonly concurrency: number;
  /** Time after which what a dead process held is free. */
  readonly leaseMs: number;
  readonly onComputed: (metric: string, version: bigint) => void;
}

/** How the windows of one level get computed; all of them are done when it returns, or it throws. */
export interface WindowExecutor {
  start(): Promise<void>;
  /** What an earlier round left behind must not run beside the windows of the next one. */
  clear(): Promise<void>;
  run(windows: readonly PlannedWindow[], onDone: () => void, isStopped: () => boolean): Promise<void>;
  /** Forgets what folds were given, so that each is done once more. */
  forgetFolds(): Promise<void>;
}

export const STOPPED = 'the process stops; what is left is computed at its next start';

/** Replaces windows under ever newer versions. */
class WindowReplacer {
  readonly options: WindowExecutorOptions;
  readonly #metrics: ReadonlyMap<string, MaterializedMetric>;

  constructor(options: WindowExecutorOptions) {
    this.options = options;
    this.#metrics = new Map(options.metrics.map((metric) => [metric.name, metric]));
  }

  async replace(window: PlannedWindow): Promise<LedgerEntry | null> {
    const metric = this.#metrics.get(window.metric);
    if (!metric) throw new ProductError('unknown_metric', `${window.metric} is a metric of another version`);
    try {
      return await (isWholeFold(metric) ? this.#foldWhole(metric, window) : this.#compute(metric, window));
    } catch (error) {
      throw failureOf(metric, window, error);
    }
  }

  async forgetFolds(): Promise<void> {
    const { keyValue } = this.options.runtime;
    const whole = this.options.metrics.filter(({ materialized }) => materialized === 'whole');
    for (const { name } of whole)
      for (const relay of RELAY_CHAINS) await keyValue.delete(foldOf(name, relay));
  }

  /** A fold over everything is run only when its facts are others than the last time, whoever did it then. */
  async #foldWhole(metric: MaterializedMetric, window: PlannedWindow): Promise<LedgerEntry | null> {
    const { keyValue } = this.options.runtime;
    const name = foldOf(metric.name, window.relay_chain);
    const facts = await this.#factsOf(metric, window);
    const fingerprint = createHash('sha256').update(facts).digest('base64');
    if ((await keyValue.get(name)) === fingerprint) return null;
    // Stopped half-way, the table says neither the old nor the new.
    await keyValue.delete(name);
    const entry = await this.#compute(metric, window, facts);
    await keyValue.set(name, fingerprint);
    return entry;
  }

  /** Folds of one level that read the same are given the same: by statement, with how many still ask. */
  readonly #shared = new Map<string, { asking: number; facts?: Promise<Buffer> }>();

  protected share(windows: readonly PlannedWindow[]): void {
    this.#shared.clear();
    for (const window of windows) {
      const metric = this.#metrics.get(window.metric);
      if (!metric || !isWholeFold(metric)) continue;
      const { text } = metric.select(window);
      this.#shared.set(text, { asking: (this.#shared.get(text)?.asking ?? 0) + 1 });
    }
  }

  /** Read between two batches, since half a batch would be folded only to be folded again. */
  async #factsOf(metric: MaterializedMetric, window: PlannedWindow): Promise<Buffer> {
    const { runtime, gate } = this.options;
    const read = () => gate.run(() => readFacts(runtime.store, metric, window));
    const { text } = metric.select(window);
    const shared = this.#shared.get(text);
    if (!shared) return read();
    shared.facts ??= read();
    // What is large is not kept longer than it is asked for.
    if (--shared.asking === 0) this.#shared.delete(text);
    return shared.facts;
  }

  /** The version is taken right before the facts are read: a higher one never read older facts. */
  async #compute(metric: MaterializedMetric, window: PlannedWindow, facts?: Buffer): Promise<LedgerEntry> {
    const { runtime, numbers, onComputed } = this.options;
    const version = await numbers.take(1);
    const entry = await computeWindow(runtime.store, metric, window, version, runtime.clock.now, facts);
    onComputed(metric.name, version);
    return entry;
  }
}

const isWholeFold = (metric: MaterializedMetric) =>
  metric.materialized === 'whole' && metric.fold !== undefined;
const foldOf = (metric: string, relayChain: string) => `folded/${metric}/${relayChain}`;

/** Everything in this process, where nobody else computes: the ledger gets all windows of a level at once. */
export class InProcessExecutor extends WindowReplacer implements WindowExecutor {
  async start(): Promise<void> {}
  async clear(): Promise<void> {}

  async run(windows: readonly PlannedWindow[], onDone: () => void, isStopped: () => boolean): Promise<void> {
    this.share(windows);
    const waiting = [...windows];
    const entries: LedgerEntry[] = [];
    const worker = async () => {
      for (let window = waiting.shift(); window; window = waiting.shift()) {
        if (isStopped()) throw new Error(STOPPED);
        const entry = await this.replace(window).catch((error) => {
          // The other worker stops too: the next try must not overtake what it still writes.
          waiting.length = 0;
          throw error;
        });
        if (entry) entries.push(entry);
        onDone();
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: this.options.concurrency }, worker));
    await this.options.runtime.store.insert(ledgerWindows, entries);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}

/** The queue in which they wait. */
export const WINDOWS = 'windows';
/** Windows that reach into these last days are computed before those of a backfill. */
const LIVE_DAYS = 3;
const DAY_MS = 86_400_000;
const STOP_POLL_MS = 50;

/** Windows as jobs that any process takes. */
export class QueuedExecutor extends WindowReplacer implements WindowExecutor {
  async start(): Promise<void> {
    const { runtime, concurrency, leaseMs } = this.options;
    const { queue, keyValue, store } = runtime;
    const locks = new Locks(keyValue, { ttlMs: leaseMs });
    await queue.process<QueuedWindow>(WINDOWS, concurrency, async ({ window, run }) => {
      // A process that was away for longer than its lease may have written beside another one: it does it again.
      for (let isDone = false; !isDone; ) {
        const [entry, isHeld] = await locks.run(`window/${idOf(window)}`, async (lease) => [
          await this.replace(window),
          await lease.isHeld(),
        ]);
        if (entry) {
          await store.insert(ledgerWindows, [entry]);
          await publishVersion(keyValue, window.metric, String(entry.version));
        }
        isDone = isHeld;
      }
      await keyValue.join(doneOf(run), idOf(window), DONE_MS);
    });
  }

  async clear(): Promise<void> {
    await this.options.runtime.queue.idle(WINDOWS);
  }

  async run(windows: readonly PlannedWindow[], onDone: () => void, isStopped: () => boolean): Promise<void> {
    const { queue, clock } = this.options.runtime;
    const live = new Date(clock.now() - LIVE_DAYS * DAY_MS).toISOString().slice(0, 10);
    const run = randomUUID();
    // A queue that was emptied is idle too: what counts is who says that it is done.
    for (let left = windows; left.length > 0; left = await this.#left(left, run)) {
      for (const window of left) {
        const priority = window.until > live ? 1 : 5;
        await queue.add<QueuedWindow>(WINDOWS, { id: idOf(window), data: { window, run }, priority });
      }
      await unlessStopped(queue.idle(WINDOWS), isStopped);
      const ids = new Set(left.map(idOf));
      const failed = (await queue.failed(WINDOWS)).find(({ id }) => ids.has(id));
      if (failed) throw new Error(`after ${failed.attempts} attempts: ${failed.reason}`);
      if (isStopped()) throw new Error(STOPPED);
    }
    for (const _ of windows) onDone();
  }

  async #left(windows: readonly PlannedWindow[], run: string): Promise<PlannedWindow[]> {
    const done = new Set(await this.options.runtime.keyValue.members(doneOf(run)));
    return windows.filter((window) => !done.has(idOf(window)));
  }
}

interface QueuedWindow {
  readonly window: PlannedWindow;
  /** The level that waits for it. */
  readonly run: string;
}

/** How long it is known that a window is done: longer than any level takes; known too short, it is done once more. */
const DONE_MS = 3_600_000;
const doneOf = (run: string) => `done/${run}`;
const idOf = ({ metric, relay_chain, from, until }: PlannedWindow) =>
  `${metric}/${relay_chain}/${from}/${until}`;

/** A process that stops takes no more windows, so it must not wait for them. */
async function unlessStopped(work: Promise<void>, isStopped: () => boolean): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const stopped = new Promise<never>((_, fail) => {
    timer = setInterval(() => {
      if (isStopped()) fail(new Error(STOPPED));
    }, STOP_POLL_MS);
  });
  // Nobody hears of it when the process stops first.
  work.catch(() => undefined);
  try {
    await Promise.race([work, stopped]);
  } finally {
    clearInterval(timer);
  }
}
