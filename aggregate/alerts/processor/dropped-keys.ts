/** Spans of time that are told apart: what was dropped in the oldest of them is forgotten with it. */
const SPANS = 3;
/** Bits that a key sets. Where there are 20 bits for each, one key in ten thousand is taken for a dropped one. */
const BITS_PER_KEY = 8;
const WORD_BITS = 32;

interface Span {
  /** When the delivery that began it was accepted, and the last of its deliveries. */
  readonly from: number;
  until: number;
  readonly bits: Uint32Array;
}

/**
 * Retry keys of deliveries that a cache has dropped: a Bloom filter for each of a few spans of time. It knows every key for
 * as long as a delivery may be a retry of it, and takes a few others for dropped. It takes memory with the first key.
 * Projects may be far apart in the log: who asks about a time of which keys are forgotten is told that all were dropped.
 */
export class DroppedKeys {
  readonly #wordsPerSpan: number;
  readonly #spans: Span[] = [];
  /** The longest that any key was needed for. */
  #neededMs = 0;
  #forgottenUntil = Number.NEGATIVE_INFINITY;

  /** Without memory it takes all keys for dropped. */
  constructor(bytesMax: number) {
    this.#wordsPerSpan = Math.floor(bytesMax / SPANS / Uint32Array.BYTES_PER_ELEMENT);
  }

  get bytes(): number {
    return this.#spans.length * this.#wordsPerSpan * Uint32Array.BYTES_PER_ELEMENT;
  }

  /** `at` is when its delivery was accepted, `neededMs` for how long after that another may be a retry of it. */
  add(key: string, at: number, neededMs: number): void {
    if (this.#wordsPerSpan === 0) return;
    this.#neededMs = Math.max(this.#neededMs, neededMs);
    let newest = this.#spans.at(-1);
    if (newest === undefined || at >= newest.from + this.#neededMs / (SPANS - 1)) {
      newest = { from: at, until: at, bits: new Uint32Array(this.#wordsPerSpan) };
      this.#spans.push(newest);
      const forgotten = this.#spans.length > SPANS ? this.#spans.shift() : undefined;
      if (forgotten) this.#forgottenUntil = Math.max(this.#forgottenUntil, forgotten.until);
    }
    newest.until = Math.max(newest.until, at);
    const [first, step] = hashesOf(key);
    for (let i = 0; i < BITS_PER_KEY; i++) {
      const bit = this.#bit(first + i * step);
      newest.bits[bit >>> 5] = (newest.bits[bit >>> 5] as number) | (1 << (bit & 31));
    }
  }

  /** Whether a delivery of the key may have been dropped that was accepted at a time or later. */
  has(key: string, since: number): boolean {
    if (this.#wordsPerSpan === 0 || since <= this.#forgottenUntil) return true;
    if (this.#spans.length === 0) return false;
    const [first, step] = hashesOf(key);
    return this.#spans.some(({ bits }) => {
      for (let i = 0; i < BITS_PER_KEY; i++) {
        const bit = this.#bit(first + i * step);
        if (((bits[bit >>> 5] as number) & (1 << (bit & 31))) === 0) return false;
      }
      return true;
    });
  }

  #bit(hash: number): number {
    return hash % (this.#wordsPerSpan * WORD_BITS);
  }
}

/** Two numbers of 32 bits, by FNV-1a and by the mixing of MurmurHash3; the second is never 0. */
function hashesOf(text: string): [number, number] {
  let fnv = 0x811c9dc5;
  let murmur = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    fnv = Math.imul(fnv ^ code, 0x01000193);
    murmur = Math.imul(murmur ^ code, 0xcc9e2d51);
    murmur = (murmur << 15) | (murmur >>> 17);
  }
  murmur = Math.imul(murmur ^ (murmur >>> 16), 0x85ebca6b);
  murmur = Math.imul(murmur ^ (murmur >>> 13), 0xc2b2ae35);
  return [fnv >>> 0, ((murmur ^ (murmur >>> 16)) | 1) >>> 0];
}
