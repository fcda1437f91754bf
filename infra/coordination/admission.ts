import { ProductError } from '../errors.ts';

export interface AdmissionLimits {
  /** Work that runs at the same time; of one caller half of it, so that none occupies all places. */
  readonly runningMax: number;
  /** Work that waits; of one caller a quarter of it. */
  readonly waitingMax: number;
  readonly waitMsMax: number;
}

/** Who waits for work; the first has asked for it. Others may join and leave, so it is read again when it matters. */
export type Callers = Iterable<string>;

/** The caller of what is read for all others: it is next before them. */
export const EVERYBODY = 'everybody';

/** The place of work that runs: that of one of its callers. */
interface Place {
  readonly caller: string;
  readonly isHeavy: boolean;
  /** Heavy callers do, and any caller with all but the first of what it has at once. */
  readonly letsOthersFirst: boolean;
}

interface Waiting {
  readonly callers: Callers;
  readonly admit: (caller: string) => void;
}

/** What is begun next, in the place of which of its callers. */
interface Next {
  readonly waiting: Waiting;
  readonly caller: string;
}

/** The time in which half of a caller's use is forgotten, and the use from which on it is heavy: a fifth of one place, for long. */
const HALF_LIFE_MS = 15_000;
const HEAVY_MS = 4000;
/** Callers whose use is below are forgotten. */
const FORGOTTEN_MS = 1;

/**
 * Bounds the work that callers wait for. A place that becomes free goes to the caller that has used the least time, and
 * heavy callers together have half of the places: who asks little waits little, however much others ask. Work that
 * several wait for has the best of their places, and they share its time. Work that finds the queue full or waits too
 * long is refused with `store_busy`; work whose signal is aborted leaves the queue.
 *
 * It shares the time of the store among readers. What else is shared is no time, and has its own rule: memory that alerts
 * hold (`PendingBytes`) and that long answers hold (`AnswersInFlight`), of which too much is refused and never waits, and
 * the requests to sources (`FairShare`), of which none may be refused.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #now: () => number;
  readonly #running = new Map<string, number>();
  /** In the order in which it came. */
  readonly #waiting = new Set<Waiting>();
  /** What waits, by the caller that asked for it. */
  readonly #waitingOf = new Map<string, number>();
  /** Milliseconds of work by caller, of which less counts with time. */
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

  /** Tells the work whether it should let the work of others go first. */
  async run<T>(
    callers: Callers,
    signal: AbortSignal,
    work: (letsOthersFirst: boolean) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const first = this.#bestOf(callers);
    const place = first === undefined ? await this.#wait(callers, signal) : this.#begin(first);
    const began = this.#now();
    try {
      return await work(place.letsOthersFirst);
    } finally {
      this.#charge(callers, place, this.#now() - began);
      this.#end(place);
    }
  }

  /** Begins what may run now; to be called when somebody has joined the callers of work that waits. */
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

  /** The caller that has used the least of those that may run. */
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

  #begin(caller: string): Place {
    const isHeavy = this.#usedBy(caller) >= HEAVY_MS;
    const letsOthersFirst = isHeavy || (caller !== EVERYBODY && this.#running.has(caller));
    this.#runningCount++;
    if (isHeavy) this.#heavyCount++;
    count(this.#running, caller, 1);
    return { caller, isHeavy, letsOthersFirst };
  }

  #charge(callers: Callers, { caller }: Place, ms: number): void {
    const present = [...callers];
    const all = present.length > 0 ? present : [caller];
    for (const one of all) this.#used.set(one, this.#usedBy(one) + ms / all.length);
  }

  #end({ caller, isHeavy }: Place): void {
    this.#runningCount--;
    if (isHeavy) this.#heavyCount--;
    count(this.#running, caller, -1);
    this.refill();
  }

  /** What is for everybody is read once for all, so there is always room for it. */
  #requireRoom(caller: string): void {
    const { waitingMax } = this.#limits;
    const own = this.#waitingOf.get(caller) ?? 0;
    const isFull = this.#waiting.size >= waitingMax || own >= Math.max(1, waitingMax / 4);
    if (isFull && caller !== EVERYBODY) throw busy(`${this.#waiting.size} wait, ${own} of this caller`);
  }

  #wait(callers: Callers, signal: AbortSignal): Promise<Place> {
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
