const BYTES_MIN = 2 ** 20;

/** Lines one after another in memory that serves again, since new memory takes longer to come by than to fill. */
export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(BYTES_MIN);
  #end = 0;

  /** Writes a line; returns its bytes, which hold until the next one is written. */
  add(texts: readonly string[]): Buffer {
    const begin = this.#end;
    this.#reserve(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
    for (const text of texts) this.#end += this.#bytes.write(text, this.#end);
    return this.#bytes.subarray(begin, this.#end);
  }

  /** A copy of all lines, after which the next line is the first. */
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
