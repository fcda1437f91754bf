import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Lease, Locks } from '../../infra/coordination/lock.ts';
import type { KeyValue } from '../../infra/ports.ts';
import type { PlannedWindow } from '../planner/plan.ts';

const POLL_MS = 5;
const POLL_MS_MAX = 100;

/**
 * Windows of one metric that overlap are computed one after the other, in whatever lane or process: of two at once the
 * one with older facts could have the higher version.
 */
export class WindowLocks {
  readonly #keyValue: KeyValue;
  readonly #leaseMs: number;
  readonly #locks: Locks;

  constructor(keyValue: KeyValue, leaseMs: number) {
    this.#keyValue = keyValue;
    this.#leaseMs = leaseMs;
    this.#locks = new Locks(keyValue, { ttlMs: leaseMs });
  }

  /**
   * Computes a window alone; again, when the lock was lost and another process may have computed it at the same time.
   * That one may have newer facts, so that rows of the first attempt may have to go.
   */
  async run<T>(planned: PlannedWindow, compute: (window: PlannedWindow) => Promise<T>): Promise<T> {
    for (let window = planned; ; window = { ...planned, mayLoseRows: true }) {
      const lease = await this.#acquire(window);
      let result: T;
      try {
        result = await compute(window);
      } catch (error) {
        await lease.release().catch(() => false);
        throw error;
      }
      if (await lease.release()) return result;
    }
  }

  async #acquire(window: PlannedWindow): Promise<Lease> {
    const group = `windows/${window.metric}`;
    const isFree = async () =>
      (await this.#keyValue.members(group)).every((member) => !overlap(window, member.split('|')));
    for (let waitMs = POLL_MS; ; waitMs = Math.min(waitMs * 2, POLL_MS_MAX)) {
      const lease = await this.#locks.run(group, async () =>
        (await isFree())
          ? Lease.acquire(
              this.#keyValue,
              group,
              this.#leaseMs,
              0,
              `${window.from}|${window.until}|${window.relays.join('+')}|${randomUUID()}`,
            )
          : null,
      );
      if (lease) return lease;
      await pause(waitMs);
    }
  }
}

function overlap(
  { from, until, relays }: PlannedWindow,
  [otherFrom = '', otherUntil = '', others = '']: readonly string[],
): boolean {
  return from < otherUntil && otherFrom < until && others.split('+').some((relay) => relays.includes(relay));
}
