const BYTES_MIN = 2 ** 20;

/** Collects lines in reused memory, because allocating memory takes longer than filling it. */
export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(BYTES_MIN);
  #end = 0;

  /** Writes a line and returns its bytes, which are valid until the next line. */
  add(texts: readonly string[]): Buffer {
    const begin = this.#end;
    this.#reserve(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
    for (const text of texts) this.#end += this.#bytes.write(text, this.#end);
    return this.#bytes.subarray(begin, this.#end);
  }

  /** Returns a copy of all lines, and starts over. */
  take(): Uint8Array<ArrayBuffer> {
    const lines = new Uint8Array(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
    return lines;
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length - this.#end) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#end + size));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
