import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Lease, Locks } from '../../infra/coordination/lock.ts';
import { lowestOf } from '../../infra/coordination/sequence.ts';
import type { KeyValue, Numbers } from '../../infra/ports.ts';
import type { PlannedWindow } from '../planner/plan.ts';

const POLL_MS = 5;
const POLL_MS_MAX = 100;
/** A statement of a process that died or gave up may go on in the store, but for no longer. */
const BEGUN_MS = 3_600_000;

interface ClaimsOptions {
  readonly keyValue: KeyValue;
  readonly numbers: Numbers;
  /** Time after which the claim of a process that died is free. */
  readonly leaseMs: number;
}

/**
 * The windows that are computed at this moment, in whatever process. Of two that overlap at once the one with older
 * facts could have the higher version, so that windows of one metric that overlap are computed one after the other. And
 * rows become visible in another order than that of their versions, so that who reads what is newer than a version has
 * to know which versions may yet come.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #locks: Locks;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#locks = new Locks(options.keyValue, { ttlMs: options.leaseMs });
  }

  /**
   * Computes a window alone, under versions that are taken in the meantime. It is computed again where its claim was
   * lost, since another process may have computed it at the same time. `mayMeetLateRows` tells that a computation of the
   * window began and did not end: its rows may yet arrive, under a lower version.
   */
  async run<T>(window: PlannedWindow, compute: (mayMeetLateRows: boolean) => Promise<T>): Promise<T> {
    const { keyValue } = this.#options;
    for (let isRepeated = false; ; isRepeated = true) {
      const { lease, member } = await this.#claim(window);
      const begun = begunKey(window.metric);
      const mayMeetLateRows =
        isRepeated || (await keyValue.members(begun)).some((one) => overlaps(window, one));
      await keyValue.join(begun, member, BEGUN_MS);
      let result: T;
      try {
        result = await compute(mayMeetLateRows);
      } catch (error) {
        await lease.release().catch(() => false);
        throw error;
      }
      if (await lease.release()) {
        await keyValue.leave(begun, member);
        return result;
      }
    }
  }

  /** The highest version up to which all rows of these metrics are visible, `version` at most, which was taken before. */
  async visibleUpTo(version: bigint, metrics: Iterable<string>): Promise<bigint> {
    const { keyValue } = this.#options;
    const members = await Promise.all([...metrics].map((metric) => keyValue.members(claimsKey(metric))));
    return lowestOf(
      members.flat().map((member) => BigInt(partsOf(member).number)),
      version,
    );
  }

  async #claim(window: PlannedWindow): Promise<{ lease: Lease; member: string }> {
    const { keyValue, numbers, leaseMs } = this.#options;
    const group = claimsKey(window.metric);
    const { from, until, relays } = window;
    for (let waitMs = POLL_MS; ; waitMs = Math.min(waitMs * 2, POLL_MS_MAX)) {
      const claimed = await this.#locks.run(group, async () => {
        if ((await keyValue.members(group)).some((one) => overlaps(window, one))) return null;
        const member = [await numbers.take(1), from, until, relays.join('+'), randomUUID()].join('|');
        return { lease: (await Lease.acquire(keyValue, group, leaseMs, 0, member)) as Lease, member };
      });
      if (claimed) return claimed;
      await pause(waitMs);
    }
  }
}

const claimsKey = (metric: string) => `windows/${metric}`;
const begunKey = (metric: string) => `begun-windows/${metric}`;

/** `number` is lower than every version of the rows. */
function partsOf(member: string) {
  const [number = '', from = '', until = '', relays = ''] = member.split('|');
  return { number, from, until, relays: relays.split('+') };
}

function overlaps({ from, until, relays }: PlannedWindow, member: string): boolean {
  const other = partsOf(member);
  return from < other.until && other.from < until && other.relays.some((relay) => relays.includes(relay));
}
