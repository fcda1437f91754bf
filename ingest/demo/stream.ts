import { Readable } from 'node:stream';

const PIECE_CHARS = 256 * 1024;

/** Lines as the bytes of a file, made while they are read. Ends early, between two lines, when it is told to stop. */
export class LineStream extends Readable {
  bytesRead = 0;
  readonly #lines: Iterator<string>;
  readonly #signal: AbortSignal;

  constructor(lines: Iterable<string>, signal: AbortSignal) {
    super({ highWaterMark: PIECE_CHARS });
    this.#lines = lines[Symbol.iterator]();
    this.#signal = signal;
  }

  override _read(): void {
    let text = '';
    while (text.length < PIECE_CHARS && !this.#signal.aborted) {
      const { value, done } = this.#lines.next();
      if (done) break;
      text += `${value}\n`;
    }
    const piece = text === '' ? null : Buffer.from(text);
    this.bytesRead += piece?.length ?? 0;
    this.push(piece);
  }
}
