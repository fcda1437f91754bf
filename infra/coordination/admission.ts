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

/** The time for which the use of a caller counts, and the use from which on it is a heavy one. */
const WINDOW_MS = 60_000;
const HEAVY_MS = 1000;

/**
 * Bounds the work that callers wait for. A place that becomes free goes to the caller that has used the least time, and
 * heavy callers together have half of the places: who asks little waits little, however much others ask. Work that
 * finds the queue full or waits too long is refused with `store_busy`; work whose signal is aborted leaves the queue.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #running = new Map<string, number>();
  /** What waits, by caller; the callers in the order in which they came. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** Milliseconds of work in this window, by caller. */
  readonly #used = new Map<string, number>();
  #windowEnds = 0;
  #runningCount = 0;
  #heavyCount = 0;
  #waitingCount = 0;

  constructor(limits: AdmissionLimits, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get waiting(): number {
    return this.#waitingCount;
  }

  async run<T>(caller: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const isHeavy = this.#mayRun(caller) ? this.#begin(caller) : await this.#wait(caller, signal);
    const began = this.#now();
    try {
      return await work();
    } finally {
      this.#used.set(caller, this.#usedBy(caller) + this.#now() - began);
      this.#end(caller, isHeavy);
    }
  }

  #usedBy(caller: string): number {
    if (this.#now() >= this.#windowEnds) {
      this.#used.clear();
      this.#windowEnds = this.#now() + WINDOW_MS;
    }
    return this.#used.get(caller) ?? 0;
  }

  #mayRun(caller: string): boolean {
    const { runningMax } = this.#limits;
    const half = Math.max(1, runningMax / 2);
    return (
      this.#runningCount < runningMax &&
      (this.#running.get(caller) ?? 0) < half &&
      (this.#usedBy(caller) < HEAVY_MS || this.#heavyCount < half)
    );
  }

  #begin(caller: string): boolean {
    const isHeavy = this.#usedBy(caller) >= HEAVY_MS;
    this.#runningCount++;
    if (isHeavy) this.#heavyCount++;
    this.#running.set(caller, (this.#running.get(caller) ?? 0) + 1);
    return isHeavy;
  }

  #end(caller: string, wasHeavy: boolean): void {
    this.#runningCount--;
    if (wasHeavy) this.#heavyCount--;
    const left = (this.#running.get(caller) ?? 1) - 1;
    if (left > 0) this.#running.set(caller, left);
    else this.#running.delete(caller);
    for (let next = this.#next(); next; next = this.#next()) next.admit();
  }

  #next(): Waiting | undefined {
    let [least, first]: [number, Waiting | undefined] = [Number.POSITIVE_INFINITY, undefined];
    for (const [caller, queue] of this.#waiting) {
      const used = this.#usedBy(caller);
      if (used < least && this.#mayRun(caller)) [least, [first]] = [used, queue];
    }
    return first;
  }

  #wait(caller: string, signal: AbortSignal): Promise<boolean> {
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
          resolve(this.#begin(caller));
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
