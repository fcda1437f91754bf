import { setTimeout } from 'node:timers/promises';
import { Mutex } from '../../../infra/coordination/mutex.ts';
import type { KeyValue } from '../../../infra/ports.ts';
import { newLocator } from './secrets.ts';

/** Longer than anything that is done under a lock; a process that dies gives its locks back after it. */
const LEASE_MS = 30_000;
/** What is written in the last moments of a lease might meet the next holder. */
const SAFE_MS = LEASE_MS / 2;
const WAIT_MS_MAX = 20_000;

export interface Lease {
  /** Throws unless the lock is still held; asked right before anything is made durable. */
  ensure(): Promise<void>;
}

/** One at a time for a key: in order within a process, and through `keyValue` between processes. */
export class Locks {
  readonly #keyValue: KeyValue;
  readonly #queues = new Map<string, { mutex: Mutex; users: number }>();

  constructor(keyValue: KeyValue) {
    this.#keyValue = keyValue;
  }

  async run<T>(key: string, work: (lease: Lease) => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? { mutex: new Mutex(), users: 0 };
    this.#queues.set(key, queue);
    queue.users++;
    try {
      return await queue.mutex.run(() => this.#leased(`lock/${key}`, work));
    } finally {
      if (--queue.users === 0) this.#queues.delete(key);
    }
  }

  async #leased<T>(key: string, work: (lease: Lease) => Promise<T>): Promise<T> {
    const owner = newLocator();
    const taken = await this.#take(key, owner);
    const isFresh = () => performance.now() - taken < SAFE_MS;
    const ensure = async () => {
      if (!isFresh() || (await this.#keyValue.get(key)) !== owner) {
        throw new Error(`the lock ${key} was lost before its work was done`);
      }
    };
    try {
      return await work({ ensure });
    } finally {
      // An old lease may be somebody else's by now: that one ends by itself.
      if (isFresh()) await this.#keyValue.delete(key);
    }
  }

  async #take(key: string, owner: string): Promise<number> {
    const asked = performance.now();
    for (let pause = 1; ; pause = Math.min(pause * 2, 25)) {
      const before = performance.now();
      if (await this.#keyValue.set(key, owner, { ttlMs: LEASE_MS, onlyIfAbsent: true })) return before;
      if (performance.now() - asked > WAIT_MS_MAX) throw new Error(`the lock ${key} is held for too long`);
      await setTimeout(pause);
    }
  }
}
