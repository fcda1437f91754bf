import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { KeyValue } from '../ports.ts';

const POLL_MS = 20;

/**
 * A membership that is prolonged until it is ended. It ends by itself when its process dies, and it is lost when
 * that process was away for too long or Redis was emptied: whoever ends it is told, and then has to do the work again.
 */
export class Lease {
  readonly #keyValue: KeyValue;
  readonly #group: string;
  readonly #member: string;
  readonly #ttlMs: number;
  readonly #timer: NodeJS.Timeout;
  #isLost = false;

  private constructor(keyValue: KeyValue, group: string, member: string, ttlMs: number) {
    this.#keyValue = keyValue;
    this.#group = group;
    this.#member = member;
    this.#ttlMs = ttlMs;
    this.#timer = setInterval(() => {
      keyValue.prolong(group, member, ttlMs).then(
        (is) => {
          this.#isLost ||= !is;
        },
        // Redis is away for a moment: the end will show whether the lease outlived it.
        () => undefined,
      );
    }, ttlMs / 4).unref();
  }

  /** Joins a group; null when `most` others are in it. */
  static async take(keyValue: KeyValue, group: string, ttlMs: number, most = 0): Promise<Lease | null> {
    const member = randomUUID();
    return (await keyValue.join(group, member, ttlMs, most))
      ? new Lease(keyValue, group, member, ttlMs)
      : null;
  }

  /** Whether it was never lost so far. */
  async isHeld(): Promise<boolean> {
    return (await this.#keyValue.prolong(this.#group, this.#member, this.#ttlMs)) && !this.#isLost;
  }

  /** Ends it; false when it was lost before. */
  async end(): Promise<boolean> {
    clearInterval(this.#timer);
    return (await this.#keyValue.leave(this.#group, this.#member)) && !this.#isLost;
  }
}

/** Waits until nobody else holds a lock, over all processes, and holds it during the work. False: it was lost meanwhile. */
export async function alone<T>(
  keyValue: KeyValue,
  lock: string,
  ttlMs: number,
  work: (lease: Lease) => Promise<T>,
): Promise<{ result: T; wasAlone: boolean }> {
  let lease: Lease | null = null;
  for (;;) {
    lease = await Lease.take(keyValue, lock, ttlMs, 1);
    if (lease) break;
    await pause(POLL_MS);
  }
  let result: T;
  try {
    result = await work(lease);
  } catch (error) {
    await lease.end().catch(() => undefined);
    throw error;
  }
  return { result, wasAlone: await lease.end() };
}
