import type { Clock, KeyValue } from '../runtime.ts';

interface Entry {
  value: string;
  expires: number;
}

/** In-process keys. Every method does its work in one synchronous step, which makes it atomic. */
export class EmbeddedKeyValue implements KeyValue {
  readonly #entries = new Map<string, Entry>();
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
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    const entry = this.#live(key) ?? { value: '0', expires: this.#clock.now() + ttlMs };
    entry.value = String(Number(entry.value) + by);
    this.#entries.set(key, entry);
    return Number(entry.value);
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#entries.clear();
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
  }
}
