import { systemClock } from '../clock.ts';
import type { Clock, KeyValue } from '../ports.ts';

interface Entry {
  value: string;
  expires: number;
}

/** Monotonic: independent of changes of the system clock. */
const elapsed: Clock = { now: () => performance.now() };

/** Keys in memory. Every method is one synchronous step, which makes it atomic. */
export class EmbeddedKeyValue implements KeyValue {
  readonly #entries = new Map<string, Entry>();
  readonly #groups = new Map<string, Map<string, number>>();
  readonly #valueClock: Clock;
  readonly #membershipClock: Clock;
  readonly #sweeper: NodeJS.Timeout;

  /**
   * The monotonic clock decides expiry. With the system clock, a step forward would end leases in use, and a step back by a
   * day would keep the counter of a minute for a day. If tests pass another clock, values and counters follow it.
   */
  constructor(clock: Clock, membershipClock = elapsed) {
    this.#valueClock = clock === systemClock ? elapsed : clock;
    this.#membershipClock = membershipClock;
    this.#sweeper = setInterval(() => this.#sweep(), 60_000).unref();
  }

  async get(key: string): Promise<string | null> {
    return this.#entry(key)?.value ?? null;
  }

  async set(key: string, value: string, { ttlMs = Infinity, onlyIfAbsent = false } = {}): Promise<boolean> {
    if (onlyIfAbsent && this.#entry(key)) return false;
    this.#entries.set(key, { value, expires: this.#valueClock.now() + ttlMs });
    return true;
  }

  async take(key: string): Promise<string | null> {
    const entry = this.#entry(key);
    this.#entries.delete(key);
    return entry?.value ?? null;
  }

  async delete(key: string): Promise<void> {
    this.#entries.delete(key);
    this.#groups.delete(key);
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    const entry = this.#entry(key);
    const sum = Number(entry?.value ?? 0) + by;
    if (entry) entry.value = String(sum);
    else this.#entries.set(key, { value: String(sum), expires: this.#valueClock.now() + ttlMs });
    return sum;
  }

  async reserve(key: string, size: number, atLeast: bigint): Promise<bigint | null> {
    const entry = this.#entry(key);
    if (!entry) return null;
    const next = BigInt(entry.value);
    const first = next > atLeast ? next : atLeast;
    entry.value = String(first + BigInt(size));
    return first;
  }

  async join(group: string, member: string, ttlMs: number, membersMax = 0): Promise<boolean> {
    const members = this.#membersOf(group);
    if (membersMax > 0 && !members.has(member) && members.size >= membersMax) return false;
    members.set(member, this.#membershipClock.now() + ttlMs);
    return true;
  }

  async prolong(group: string, member: string, ttlMs: number): Promise<boolean> {
    const members = this.#membersOf(group);
    if (!members.has(member)) return false;
    members.set(member, this.#membershipClock.now() + ttlMs);
    return true;
  }

  async leave(group: string, member: string): Promise<boolean> {
    const members = this.#membersOf(group);
    const wasMember = members.delete(member);
    if (members.size === 0) this.#groups.delete(group);
    return wasMember;
  }

  async members(group: string): Promise<string[]> {
    return [...this.#membersOf(group).keys()];
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#entries.clear();
    this.#groups.clear();
  }

  /** Members that have not expired, with the time of their expiry. */
  #membersOf(group: string): Map<string, number> {
    const members = this.#groups.get(group) ?? new Map<string, number>();
    const now = this.#membershipClock.now();
    for (const [member, expires] of members) if (expires <= now) members.delete(member);
    this.#groups.set(group, members);
    return members;
  }

  #entry(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && entry.expires <= this.#valueClock.now()) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  #sweep(): void {
    for (const key of this.#entries.keys()) this.#entry(key);
    for (const group of this.#groups.keys()) {
      if (this.#membersOf(group).size === 0) this.#groups.delete(group);
    }
  }
}
