import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Lease, Locks } from '../../infra/coordination/lock.ts';
import { lowestOf } from '../../infra/coordination/sequence.ts';
import { DAY_MS } from '../../infra/days.ts';
import { ignore } from '../../infra/ignore.ts';
import type { KeyValue, Numbers } from '../../infra/ports.ts';
import type { PlannedWindow } from '../planner/plan.ts';

const POLL_MS = 5;
const POLL_MS_MAX = 100;
/** The store may run a statement of a process that died or gave up, but for no longer than this. */
const UNFINISHED_MS = 2 * DAY_MS;

interface ClaimsOptions {
  readonly keyValue: KeyValue;
  readonly numbers: Numbers;
  /** The claim of a dead process expires after this time. */
  readonly leaseMs: number;
}

/**
 * The windows that any process is computing. Overlapping windows of a metric are computed one after the other; otherwise
 * the window with older facts could get the higher version. Rows do not become visible in the order of their versions,
 * so readers of changes ask `visibleUpTo` for the version up to which all rows are visible.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  readonly #locks: Locks;

  constructor(options: ClaimsOptions) {
    this.#options = options;
    this.#locks = new Locks(options.keyValue, { ttlMs: options.leaseMs });
  }

  /**
   * Computes a window under a claim; `compute` must take its versions while it runs. Repeats the computation if the claim
   * was lost, because another process may have computed the window meanwhile. `writesEqualRows` is true if an overlapping
   * computation did not end: its rows may still arrive, under a lower version.
   */
  async run<T>(window: PlannedWindow, compute: (writesEqualRows: boolean) => Promise<T>): Promise<T> {
    for (;;) {
      const claim = await this.#claim(window);
      try {
        const result = await this.#compute(window, claim.member, compute);
        if (await claim.lease.release()) {
          await this.#end(window, claim.member);
          return result;
        }
      } catch (error) {
        await claim.lease.release();
        throw error;
      }
    }
  }

  async #compute<T>(
    window: PlannedWindow,
    member: string,
    compute: (writesEqualRows: boolean) => Promise<T>,
  ): Promise<T> {
    const { keyValue } = this.#options;
    const group = unfinishedKey(window.metric);
    const writesEqualRows = (await keyValue.members(group)).some((one) => overlaps(window, one));
    await keyValue.join(group, member, UNFINISHED_MS);
    return compute(writesEqualRows);
  }

  /** Removes the records of unfinished computations that this window covers. Rows of other ones may still arrive. */
  async #end(window: PlannedWindow, member: string): Promise<void> {
    const { keyValue } = this.#options;
    const group = unfinishedKey(window.metric);
    for (const one of await keyValue.members(group))
      if (one === member || covers(window, one)) await keyValue.leave(group, one);
  }

  /** The highest version, at most `version`, up to which all rows are visible. Take `version` before the call. */
  async visibleUpTo(version: bigint, metrics: Iterable<string>): Promise<bigint> {
    const { keyValue } = this.#options;
    const members = await Promise.all([...metrics].map((metric) => keyValue.members(claimsKey(metric))));
    return lowestOf(
      members.flat().map((member) => BigInt(parsedClaim(member).number)),
      version,
    );
  }

  async #claim(window: PlannedWindow): Promise<{ lease: Lease; member: string }> {
    const { keyValue, numbers, leaseMs } = this.#options;
    const group = claimsKey(window.metric);
    const { from, until, relays } = window;
    for (let waitMs = POLL_MS; ; waitMs = Math.min(waitMs * 2, POLL_MS_MAX)) {
      const claimed = await this.#locks.run(group, async (lock) => {
        if ((await keyValue.members(group)).some((one) => overlaps(window, one))) return null;
        const member = [await numbers.take(1), from, until, relays.join('+'), randomUUID()].join('|');
        const lease = (await Lease.acquire(keyValue, group, leaseMs, 0, member)) as Lease;
        // If the state of the lock is unknown, it counts as lost and the window is claimed again.
        if (await lock.isHeld().catch(ignore('windows.lock', false))) return { lease, member };
        await lease.release();
        return null;
      });
      if (claimed) return claimed;
      await pause(waitMs);
    }
  }
}

const claimsKey = (metric: string) => `windows/${metric}`;
const unfinishedKey = (metric: string) => `unfinished-windows/${metric}`;

/** `number` is lower than every version that the claim writes. */
function parsedClaim(member: string) {
  const [number = '', from = '', until = '', relays = ''] = member.split('|');
  return { number, from, until, relays: relays.split('+') };
}

function overlaps({ from, until, relays }: PlannedWindow, member: string): boolean {
  const other = parsedClaim(member);
  return from < other.until && other.from < until && other.relays.some((relay) => relays.includes(relay));
}

function covers({ from, until, relays }: PlannedWindow, member: string): boolean {
  const other = parsedClaim(member);
  return from <= other.from && other.until <= until && other.relays.every((relay) => relays.includes(relay));
}
