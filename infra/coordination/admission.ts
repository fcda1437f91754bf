import { ProductError } from '../errors.ts';

export interface AdmissionLimits {
  /** Work that runs at the same time; of one caller half of it, so that none occupies all places. */
  readonly runningMax: number;
  /** Work that waits; of one caller a quarter of it. */
  readonly waitingMax: number;
  readonly waitMsMax: number;
}

interface Waiting {
  readonly admit: () => void;
}

/**
 * Bounds the work that callers wait for. Callers take turns, so that one with much work delays only itself. Work that
 * finds the queue full or waits too long is refused with `store_busy`; work whose signal is aborted leaves the queue.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #running = new Map<string, number>();
  /** What waits, by caller; the callers in the order of their turns. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  #runningCount = 0;
  #waitingCount = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waitingCount;
  }

  async run<T>(caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#mayRun(caller)) this.#begin(caller);
    else await this.#wait(caller, signal);
    try {
      return await work();
    } finally {
      this.#end(caller);
    }
  }

  #mayRun(caller: string): boolean {
    const { runningMax } = this.#limits;
    return this.#runningCount < runningMax && (this.#running.get(caller) ?? 0) < Math.max(1, runningMax / 2);
  }

  #begin(caller: string): void {
    this.#runningCount++;
    this.#running.set(caller, (this.#running.get(caller) ?? 0) + 1);
  }

  #end(caller: string): void {
    this.#runningCount--;
    const left = (this.#running.get(caller) ?? 1) - 1;
    if (left > 0) this.#running.set(caller, left);
    else this.#running.delete(caller);
    for (const [next, queue] of this.#waiting) {
      if (!this.#mayRun(next)) continue;
      const [first] = queue;
      // The next turn of this caller comes after those of all others.
      this.#waiting.delete(next);
      this.#waiting.set(next, queue);
      first?.admit();
      return;
    }
  }

  #wait(caller: string, signal: AbortSignal): Promise<void> {
    const queue = this.#waiting.get(caller) ?? new Set<Waiting>();
    const { waitingMax, waitMsMax } = this.#limits;
    if (this.#waitingCount >= waitingMax || queue.size >= Math.max(1, waitingMax / 4)) {
      throw busy(`${this.#waitingCount} wait, ${queue.size} of this caller`);
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        queue.delete(waiting);
        this.#waitingCount--;
        if (queue.size === 0) this.#waiting.delete(caller);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        leave();
        reject(busy(`waited ${waitMsMax} ms`));
      }, waitMsMax);
      const waiting: Waiting = {
        admit: () => {
          leave();
          this.#begin(caller);
          resolve();
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      queue.add(waiting);
      this.#waiting.set(caller, queue);
      this.#waitingCount++;
    });
  }
}

const busy = (detail: string) =>
  new ProductError('store_busy', 'too many queries wait for the store; try again later', detail);
