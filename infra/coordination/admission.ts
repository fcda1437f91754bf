import { ProductError } from '../errors.ts';

export interface AdmissionLimits {
  /** Limit of concurrent work. One caller gets at most half of it. */
  readonly runningMax: number;
  /** Limit of waiting work. One caller gets at most a quarter of it. */
  readonly waitingMax: number;
  readonly waitMsMax: number;
}

/** Callers that share work; the first one requested it. Each decision iterates it again, since callers join and leave. */
export type Callers = Iterable<string>;

/** The caller of work that all callers share; it runs before all others. */
export const EVERYBODY = 'everybody';

/** A slot of running work. It counts for one of the callers that share the work. */
interface Slot {
  readonly caller: string;
  readonly isHeavy: boolean;
  /** True if the caller is heavy or has other running work. */
  readonly isLowPriority: boolean;
}

interface Waiting {
  readonly callers: Callers;
  readonly admit: (caller: string) => void;
}

/** The work to start next, and the caller that it counts for. */
interface Next {
  readonly waiting: Waiting;
  readonly caller: string;
}

/** Half-life of a caller's usage. A caller with more than HEAVY_MS is heavy: it keeps using about a fifth of one slot. */
const HALF_LIFE_MS = 15_000;
const HEAVY_MS = 4000;
/** Callers with less usage are removed. */
const FORGOTTEN_MS = 1;

/**
 * Shares the time of the store among readers. A free slot goes to the caller with the least recent usage, and heavy
 * callers together get at most half of the slots, so a light caller waits little under any load. Work that several
 * callers share takes the best of their positions and is charged to all of them. Throws `store_busy` if the queue is full
 * or the wait is too long; aborted work leaves the queue.
 *
 * Other limits: `PendingBytes` (memory of alerts) and `AnswersInFlight` (memory of long answers) refuse and never wait;
 * `FairShare` (requests to sources) waits and never refuses.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #running = new Map<string, number>();
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>();
  /** Number of waiting requests by caller. */
  readonly #waitingOf = new Map<string, number>();
  /** Decaying usage by caller, in milliseconds. */
  readonly #used = new Map<string, number>();
  #forgottenAt: number;
  #runningCount = 0;
  #heavyCount = 0;

  constructor(limits: AdmissionLimits, now = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#forgottenAt = now();
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs work once it has a slot. Work with `isLowPriority` must yield to other work. */
  async run<T>(
    callers: Callers,
    signal: AbortSignal,
    work: (isLowPriority: boolean) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const first = this.#bestOf(callers);
    const slot = first === undefined ? await this.#wait(callers, signal) : this.#begin(first);
    const began = this.#now();
    try {
      return await work(slot.isLowPriority);
    } finally {
      this.#charge(callers, slot, this.#now() - began);
      this.#end(slot);
    }
  }

  /** Starts waiting work that may run. Call it after a caller has joined waiting work. */
  refill(): void {
    for (let next = this.#next(); next; next = this.#next()) next.waiting.admit(next.caller);
  }

  #usedBy(caller: string): number {
    if (caller === EVERYBODY) return -1;
    this.#forget();
    return this.#used.get(caller) ?? 0;
  }

  #forget(): void {
    const halvings = Math.floor((this.#now() - this.#forgottenAt) / HALF_LIFE_MS);
    if (halvings < 1) return;
    this.#forgottenAt += halvings * HALF_LIFE_MS;
    for (const [caller, ms] of this.#used) {
      const left = ms * 0.5 ** halvings;
      if (left < FORGOTTEN_MS) this.#used.delete(caller);
      else this.#used.set(caller, left);
    }
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

  /** Of the callers that may run, the one with the least usage. */
  #bestOf(callers: Callers): string | undefined {
    let [least, best]: [number, string | undefined] = [Number.POSITIVE_INFINITY, undefined];
    for (const caller of callers) {
      const used = this.#usedBy(caller);
      if (used < least && this.#mayRun(caller)) [least, best] = [used, caller];
    }
    return best;
  }

  #next(): Next | undefined {
    if (this.#runningCount >= this.#limits.runningMax) return undefined;
    let [least, next]: [number, Next | undefined] = [Number.POSITIVE_INFINITY, undefined];
    for (const waiting of this.#waiting) {
      const caller = this.#bestOf(waiting.callers);
      if (caller === undefined || this.#usedBy(caller) >= least) continue;
      [least, next] = [this.#usedBy(caller), { waiting, caller }];
    }
    return next;
  }

  #begin(caller: string): Slot {
    const isHeavy = this.#usedBy(caller) >= HEAVY_MS;
    const isLowPriority = isHeavy || (caller !== EVERYBODY && this.#running.has(caller));
    this.#runningCount++;
    if (isHeavy) this.#heavyCount++;
    count(this.#running, caller, 1);
    return { caller, isHeavy, isLowPriority };
  }

  #charge(callers: Callers, { caller }: Slot, ms: number): void {
    const present = [...callers];
    const all = present.length > 0 ? present : [caller];
    for (const one of all) this.#used.set(one, this.#usedBy(one) + ms / all.length);
  }

  #end({ caller, isHeavy }: Slot): void {
    this.#runningCount--;
    if (isHeavy) this.#heavyCount--;
    count(this.#running, caller, -1);
    this.refill();
  }

  /** Work for EVERYBODY is shared, so it is never refused. */
  #requireRoom(caller: string): void {
    const { waitingMax } = this.#limits;
    const own = this.#waitingOf.get(caller) ?? 0;
    const isFull = this.#waiting.size >= waitingMax || own >= Math.max(1, waitingMax / 4);
    if (isFull && caller !== EVERYBODY) throw busy(`${this.#waiting.size} wait, ${own} of this caller`);
  }

  #wait(callers: Callers, signal: AbortSignal): Promise<Slot> {
    const [asking = ''] = callers;
    this.#requireRoom(asking);
    const { waitMsMax } = this.#limits;
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiting);
        count(this.#waitingOf, asking, -1);
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
        callers,
        admit: (caller) => {
          leave();
          resolve(this.#begin(caller));
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiting);
      count(this.#waitingOf, asking, 1);
    });
  }
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const next = (counts.get(key) ?? 0) + by;
  if (next > 0) counts.set(key, next);
  else counts.delete(key);
}

const busy = (detail: string) =>
  new ProductError('store_busy', 'too many queries wait for the store; try again later', detail);
