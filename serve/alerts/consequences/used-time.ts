const HALVED_AFTER_MS = 60_000;

/** Milliseconds that each of many has used, of which the older count less: half of them after each minute. */
export class UsedTime<Key> {
  readonly #used = new Map<Key, number>();
  #halvedAt: number;

  constructor(now: number) {
    this.#halvedAt = now;
  }

  add(key: Key, ms: number): void {
    this.#used.set(key, (this.#used.get(key) ?? 0) + Math.max(0, ms));
  }

  of(key: Key, now: number): number {
    for (; now - this.#halvedAt >= HALVED_AFTER_MS; this.#halvedAt += HALVED_AFTER_MS) {
      if (this.#used.size === 0) {
        this.#halvedAt = now;
        break;
      }
      for (const [one, ms] of this.#used) {
        if (ms < 2) this.#used.delete(one);
        else this.#used.set(one, ms / 2);
      }
    }
    return this.#used.get(key) ?? 0;
  }
}
