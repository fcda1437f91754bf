import { setImmediate } from 'node:timers/promises';

interface BatcherOptions<Item> {
  /** Limits of sums over the items of a batch. An item that alone exceeds a limit becomes a batch of its own. */
  readonly limits?: readonly { readonly max: number; readonly of: (item: Item) => number }[];
  /** Time that an item waits for more items if it arrived during a batch. The shortest time of all items applies. */
  readonly lingerMs?: (item: Item) => number;
  /** Time limit of a batch. */
  readonly deadline?: {
    readonly ms: number;
    /** Called when a batch is late. All callers get the error until the batch ends. */
    readonly onLate: () => Error;
  };
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly result: PromiseWithResolvers<Result>;
}

interface Linger {
  readonly end: () => void;
  until: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Collects items while the previous batch is written, so that many callers share one write. Batches are written one at a
 * time and in order.
 */
export class Batcher<Item, Result = void> {
  readonly #write: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #options: BatcherOptions<Item>;
  readonly #waiting: Waiting<Item, Result>[] = [];
  #running: Promise<void> | undefined;
  #late: Error | undefined;
  #linger: Linger | undefined;
  #isDraining = false;

  /** `write` returns a result for each item, in their order. */
  constructor(
    write: (items: readonly Item[]) => Promise<readonly Result[]>,
    options: BatcherOptions<Item> = {},
  ) {
    this.#write = write;
    this.#options = options;
  }

  /** Resolves with the result of the item when its batch is written; throws what the batch threw. */
  add(item: Item): Promise<Result> {
    if (this.#late) return Promise.reject(this.#late);
    const result = Promise.withResolvers<Result>();
    this.#waiting.push({ item, result });
    this.#running ??= this.#run();
    this.#shortenLinger(item);
    return result.promise;
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Writes waiting items at once; resolves when no batch is being written. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#linger?.end();
    while (this.#running) await this.#running;
    this.#isDraining = false;
  }

  async #run(): Promise<void> {
    for (;;) {
      // Collects the items that are added in this turn of the event loop.
      await setImmediate();
      const batch = this.#take();
      if (batch.length > 0) await this.#writeBatch(batch);
      if (this.#waiting.length === 0) break;
      await this.#lingered();
    }
    this.#running = undefined;
  }

  #take(): Waiting<Item, Result>[] {
    const { limits = [] } = this.#options;
    const sums = limits.map(() => 0);
    let count = 0;
    for (const { item } of this.#waiting) {
      limits.forEach(({ of }, i) => {
        sums[i] = (sums[i] ?? 0) + of(item);
      });
      if (count > 0 && limits.some(({ max }, i) => (sums[i] ?? 0) > max)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #writeBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const { deadline } = this.#options;
    const timer = deadline && setTimeout(() => this.#rejectAll(batch, deadline.onLate()), deadline.ms);
    try {
      const results = await this.#write(batch.map(({ item }) => item));
      batch.forEach(({ result }, i) => {
        result.resolve(results[i] as Result);
      });
    } catch (error) {
      for (const { result } of batch) result.reject(error);
    }
    clearTimeout(timer);
    this.#late = undefined;
  }

  #rejectAll(batch: readonly Waiting<Item, Result>[], error: Error): void {
    this.#late = error;
    for (const { result } of [...batch, ...this.#waiting.splice(0)]) result.reject(error);
  }

  async #lingered(): Promise<void> {
    if (!this.#options.lingerMs || this.#isDraining) return;
    const { promise, resolve: end } = Promise.withResolvers<void>();
    this.#linger = { end, until: Number.POSITIVE_INFINITY, timer: undefined };
    for (const { item } of this.#waiting) this.#shortenLinger(item);
    await promise;
    clearTimeout(this.#linger.timer);
    this.#linger = undefined;
  }

  #shortenLinger(item: Item): void {
    const { lingerMs } = this.#options;
    if (!lingerMs || !this.#linger) return;
    const ms = lingerMs(item);
    const until = performance.now() + ms;
    if (until >= this.#linger.until) return;
    this.#linger.until = until;
    clearTimeout(this.#linger.timer);
    this.#linger.timer = setTimeout(this.#linger.end, ms);
  }
}
