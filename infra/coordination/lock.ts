import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { ignore } from '../ignore.ts';
import type { KeyValue } from '../ports.ts';

/** Runs work one at a time within this process, in the order of the calls. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    // The caller gets the error; the next work starts even after a failure.
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/**
 * A membership of a group that is prolonged until it is released. It expires if its process dies. It is lost if the process
 * stalls for longer than the lease, or if `keyValue` is emptied; then the holder must repeat its work.
 */
export class Lease {
  readonly #keyValue: KeyValue;
  readonly #key: string;
  readonly #member: string;
  readonly #ttlMs: number;
  readonly #timer: NodeJS.Timeout;
  #isLost = false;

  private constructor(keyValue: KeyValue, key: string, member: string, ttlMs: number) {
    this.#keyValue = keyValue;
    this.#key = key;
    this.#member = member;
    this.#ttlMs = ttlMs;
    // An error is no loss: the lease may still be valid. `isHeld` and `release` check it.
    this.#timer = setInterval(() => void this.#prolong().catch(ignore('lease.prolong')), ttlMs / 4).unref();
  }

  /** Joins the group; null if it already has `membersMax` members. 0: no limit. */
  static async acquire(
    keyValue: KeyValue,
    key: string,
    ttlMs: number,
    membersMax = 0,
    member: string = randomUUID(),
  ): Promise<Lease | null> {
    const isMember = await keyValue.join(key, member, ttlMs, membersMax);
    return isMember ? new Lease(keyValue, key, member, ttlMs) : null;
  }

  /** Prolongs the lease; false if it is lost, or so old that the next holder may start before the caller has written. */
  async isHeld(): Promise<boolean> {
    const started = performance.now();
    await this.#prolong();
    return !this.#isLost && performance.now() - started < this.#ttlMs / 2;
  }

  /** Throws if the lease is lost. Call it directly before a durable write. */
  async ensure(): Promise<void> {
    if (!(await this.isHeld())) throw new Error(`the lock ${this.#key} was lost before its work was done`);
  }

  /** Leaves the group; false if the lease was lost before. A lease that cannot be released expires and counts as lost. */
  async release(): Promise<boolean> {
    clearInterval(this.#timer);
    const left = this.#keyValue.leave(this.#key, this.#member);
    return (await left.catch(ignore('lease.release', false))) && !this.#isLost;
  }

  async #prolong(): Promise<void> {
    if (!(await this.#keyValue.prolong(this.#key, this.#member, this.#ttlMs))) this.#isLost = true;
  }
}

interface LockOptions {
  /** Time until the lock of a dead process expires. */
  readonly ttlMs: number;
  /** Longest time to wait for a lock of another process. */
  readonly waitMsMax?: number;
}

const POLL_MS_MAX = 25;

/** Locks by name. One holder at a time over all processes; within a process in the order of the calls. */
export class Locks {
  readonly #keyValue: KeyValue;
  readonly #options: Required<LockOptions>;
  readonly #queues = new Map<string, { mutex: Mutex; users: number }>();

  constructor(keyValue: KeyValue, options: LockOptions) {
    this.#keyValue = keyValue;
    this.#options = { waitMsMax: Number.POSITIVE_INFINITY, ...options };
  }

  /** Runs work under a lock. The work must call `ensure` or `isHeld` of its lease to detect a lost lock. */
  async run<T>(name: string, work: (lease: Lease) => Promise<T>): Promise<T> {
    const queue = this.#queues.get(name) ?? { mutex: new Mutex(), users: 0 };
    this.#queues.set(name, queue);
    queue.users++;
    try {
      return await queue.mutex.run(() => this.#runExclusively(`locks/${name}`, work));
    } finally {
      if (--queue.users === 0) this.#queues.delete(name);
    }
  }

  /** Runs work if the lock is free; returns null otherwise. */
  async tryRun<T>(name: string, work: (lease: Lease) => Promise<T>): Promise<T | null> {
    const lease = await Lease.acquire(this.#keyValue, `locks/${name}`, this.#options.ttlMs, 1);
    return lease && this.#runUnder(lease, work);
  }

  async #runExclusively<T>(key: string, work: (lease: Lease) => Promise<T>): Promise<T> {
    return this.#runUnder(await this.#acquire(key), work);
  }

  async #runUnder<T>(lease: Lease, work: (lease: Lease) => Promise<T>): Promise<T> {
    try {
      return await work(lease);
    } finally {
      await lease.release();
    }
  }

  async #acquire(key: string): Promise<Lease> {
    const { ttlMs, waitMsMax } = this.#options;
    const started = performance.now();
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, POLL_MS_MAX)) {
      const lease = await Lease.acquire(this.#keyValue, key, ttlMs, 1);
      if (lease) return lease;
      if (performance.now() - started > waitMsMax) throw new Error(`the lock ${key} is held for too long`);
      await setTimeout(waitMs);
    }
  }
}
