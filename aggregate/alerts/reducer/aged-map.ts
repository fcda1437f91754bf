import { randomInt } from 'node:crypto';

const CAPACITY_MIN = 16;
const SLOTS_OF_ENTRY = 2;

/**
 * A map that tells its oldest entry, an entry being as old as its last `put`. Most keys that are looked up are not in it,
 * and a million may be: `Map` follows a pointer to each key that it compares, past all caches of the processor. Here the
 * hashes lie side by side, so that a key is read only where its hash is the same. Entries stand in a ring in the order
 * of their age, which makes deleting the oldest and adding the newest cheap, and keeps what lives long out of the way of
 * the collection of garbage.
 */
export class AgedMap<Value extends object> {
  /** Senders choose keys: without it they could choose those that share a slot. */
  readonly #seed = randomInt(2 ** 31);
  /** The ring. A deleted entry has no value. */
  #keys: string[] = [];
  #values: (Value | undefined)[] = [];
  #hashes = new Uint32Array(0);
  /** By hash, the place of an entry in the ring, counted from 1; 0 where there is none. */
  #slots = new Int32Array(0);
  #first = 0;
  /** Entries of the ring, deleted ones included. */
  #length = 0;
  #size = 0;
  /** What is looked up is often put then. */
  #hashed = { key: '', hash: this.#seed };

  constructor() {
    this.#resize();
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    const at = this.#slots[this.#find(key)] as number;
    return at === 0 ? undefined : this.#values[at - 1];
  }

  has(key: string): boolean {
    return this.#slots[this.#find(key)] !== 0;
  }

  put(key: string, value: Value): void {
    if (this.#length === this.#keys.length) this.#resize();
    const slot = this.#find(key);
    const before = this.#slots[slot] as number;
    if (before === 0) this.#size++;
    else this.#forget(before - 1);
    const place = (this.#first + this.#length++) & (this.#keys.length - 1);
    this.#keys[place] = key;
    this.#values[place] = value;
    this.#hashes[place] = this.#hashOf(key);
    this.#slots[slot] = place + 1;
  }

  delete(key: string): boolean {
    const slot = this.#find(key);
    const at = this.#slots[slot] as number;
    if (at === 0) return false;
    this.#free(slot);
    this.#forget(at - 1);
    this.#size--;
    if (this.#size < this.#keys.length / 8 && this.#keys.length > CAPACITY_MIN) this.#resize();
    return true;
  }

  oldest(): readonly [string, Value] | undefined {
    for (; this.#length > 0; this.#length--) {
      const value = this.#values[this.#first];
      if (value !== undefined) return [this.#keys[this.#first] as string, value];
      this.#first = (this.#first + 1) & (this.#keys.length - 1);
    }
    return undefined;
  }

  /** The slot of a key, or the free one where it belongs. */
  #find(key: string): number {
    const hash = this.#hashOf(key);
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = this.#slots[slot] as number;
      if (at === 0 || (this.#hashes[at - 1] === hash && this.#keys[at - 1] === key)) return slot;
    }
  }

  #forget(place: number): void {
    this.#keys[place] = '';
    this.#values[place] = undefined;
  }

  /** Empties a slot and moves those behind it forward that would no longer be found. */
  #free(slot: number): void {
    const mask = this.#slots.length - 1;
    let free = slot;
    for (let next = (free + 1) & mask; this.#slots[next] !== 0; next = (next + 1) & mask) {
      const at = this.#slots[next] as number;
      const home = (this.#hashes[at - 1] as number) & mask;
      if (((next - home) & mask) < ((next - free) & mask)) continue;
      this.#slots[free] = at;
      free = next;
    }
    this.#slots[free] = 0;
  }

  /** Copies the entries, oldest first, to a ring that has room for as many again. */
  #resize(): void {
    const [keys, values, hashes, first, length] = [
      this.#keys,
      this.#values,
      this.#hashes,
      this.#first,
      this.#length,
    ];
    let capacity = CAPACITY_MIN;
    while (capacity < this.#size * 2) capacity *= 2;
    this.#keys = new Array(capacity).fill('');
    this.#values = new Array(capacity).fill(undefined);
    this.#hashes = new Uint32Array(capacity);
    this.#slots = new Int32Array(capacity * SLOTS_OF_ENTRY);
    this.#first = 0;
    this.#length = 0;
    const mask = this.#slots.length - 1;
    for (let i = 0; i < length; i++) {
      const from = (first + i) & (keys.length - 1);
      const value = values[from];
      if (value === undefined) continue;
      const to = this.#length++;
      const hash = hashes[from] as number;
      this.#keys[to] = keys[from] as string;
      this.#values[to] = value;
      this.#hashes[to] = hash;
      let slot = hash & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = to + 1;
    }
  }

  #hashOf(key: string): number {
    if (key === this.#hashed.key) return this.#hashed.hash;
    let hash = this.#seed;
    for (let i = 0; i < key.length; i++) {
      hash = Math.imul(hash ^ key.charCodeAt(i), 0x5bd1e995);
      hash ^= hash >>> 15;
    }
    hash >>>= 0;
    this.#hashed = { key, hash };
    return hash;
  }
}
