/** Caches values that are computed from short strings; the cache is cleared when it is full. */
export class Memo<Value> {
  readonly #values = new Map<string, Value>();
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  of(text: string, compute: () => Value): Value {
    const known = this.#values.get(text);
    if (known !== undefined || this.#values.has(text)) return known as Value;
    if (text.length > CHARACTERS_MAX) return compute();
    if (this.#values.size >= this.#sizeMax) this.#values.clear();
    const value = compute();
    this.#values.set(text, value);
    return value;
  }
}

/** Longer strings are not cached, which bounds the memory. */
export const CHARACTERS_MAX = 2000;
