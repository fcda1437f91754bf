import type { Clock, KeyValue } from '../ports.ts';

interface Entry {
  value: string;
  expires: number;
}

/** In-process keys. Every method does its work in one synchronous step, which makes it atomic. */
export class EmbeddedKeyValue implements KeyValue {
  readonly #entries = new Map<string, Entry>();
  readonly #groups = new Map<string, Map<string, number>>();
  readonly #clock: Clock;
  readonly #sweeper: NodeJS.Timeout;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sweeper = setInterval(() => this.#sweep(), 60_000).unref();
  }

  async get(key: string): Promise<string | null> {
    return this.#live(key)?.value ?? null;
  }

  async set(key: string, value: string, { ttlMs = Infinity, onlyIfAbsent = false } = {}): Promise<boolean> {
    if (onlyIfAbsent && this.#live(key)) return false;
    this.#entries.set(key, { value, expires: this.#clock.now() + ttlMs });
    return true;
  }

  async take(key: string): Promise<string | null> {
    const entry = this.#live(key);
    this.#entries.delete(key);
    return entry?.value ?? null;
  }

  async delete(key: string): Promise<void> {
    this.#entries.delete(key);
    this.#groups.delete(key);
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    const entry = this.#live(key) ?? { value: '0', expires: this.#clock.now() + ttlMs };
    entry.value = String(Number(entry.value) + by);
    this.#entries.set(key, entry);
    return Number(entry.value);
  }

  async reserve(key: string, size: number, atLeast: bigint): Promise<bigint | null> {
    const entry = this.#live(key);
    if (!entry) return null;
    const next = BigInt(entry.value);
    const first = next > atLeast ? next : atLeast;
    entry.value = String(first + BigInt(size));
    return first;
  }

  async join(group: string, member: string, ttlMs: number, most = 0): Promise<boolean> {
    const members = this.#membersOf(group);
    if (most > 0 && !members.has(member) && members.size >= most) return false;
    members.set(member, this.#clock.now() + ttlMs);
    return true;
  }

  async prolong(group: string, member: string, ttlMs: number): Promise<boolean> {
    const members = this.#membersOf(group);
    if (!members.has(member)) return false;
    members.set(member, this.#clock.now() + ttlMs);
    return true;
  }

  async leave(group: string, member: string): Promise<boolean> {
    const members = this.#membersOf(group);
    const wasIn = members.delete(member);
    if (members.size === 0) this.#groups.delete(group);
    return wasIn;
  }

  async members(group: string): Promise<string[]> {
    return [...this.#membersOf(group).keys()];
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#entries.clear();
    this.#groups.clear();
  }

  /** Members whose time is not over, with its end. */
  #membersOf(group: string): Map<string, number> {
    const members = this.#groups.get(group) ?? new Map<string, number>();
    const now = this.#clock.now();
    for (const [member, expires] of members) if (expires <= now) members.delete(member);
    this.#groups.set(group, members);
    return members;
  }

  #live(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry && entry.expires <= this.#clock.now()) {
      this.#entries.delete(key);
      return undefined;
    }
    return entry;
  }

  #sweep(): void {
    for (const key of this.#entries.keys()) this.#live(key);
    for (const group of this.#groups.keys()) {
      if (this.#membersOf(group).size === 0) this.#groups.delete(group);
    }
  }
}
