/**
 * A map that tells its oldest entry in constant time, however many were deleted before it: a new iterator of a `Map`
 * passes over all of those. An entry is as old as its last `put`.
 */
export class AgedMap<Key, Value extends object> {
  readonly #entries = new Map<Key, Value>();
  /** Stands behind all entries that are older than `#next`: an iterator goes on while the map changes. */
  #cursor = this.#entries.entries();
  #next: readonly [Key, Value] | undefined;

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  keys(): Iterable<Key> {
    return this.#entries.keys();
  }

  put(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  oldest(): readonly [Key, Value] | undefined {
    while (this.#entries.size > 0) {
      if (this.#next !== undefined && this.#entries.get(this.#next[0]) === this.#next[1]) return this.#next;
      const step = this.#cursor.next();
      // An iterator that has come to the end stays there.
      if (step.done) this.#cursor = this.#entries.entries();
      this.#next = step.done ? undefined : step.value;
    }
    return undefined;
  }
}
