/** Remembers what was computed of the texts that came last; all of it is forgotten when there are too many. */
export class Memo<Value> {
  readonly #known = new Map<string, Value>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(text: string, compute: () => Value): Value {
    const known = this.#known.get(text);
    if (known !== undefined || this.#known.has(text)) return known as Value;
    if (text.length > LONGEST) return compute();
    if (this.#known.size >= this.#most) this.#known.clear();
    const value = compute();
    this.#known.set(text, value);
    return value;
  }
}

/** Longer texts are not kept: they would make the memory that this takes unbounded. */
const LONGEST = 2000;
