import { Readable } from 'node:stream';

/**
 * Streams the lines of days as the bytes of a file. Generates each day in its own turn of the event loop, so that the server
 * can answer requests in between. If the signal aborts, ends after the current day.
 */
export class DayStream extends Readable {
  bytesRead = 0;
  readonly #days: Iterator<readonly string[]>;
  readonly #signal: AbortSignal;

  constructor(days: Iterable<readonly string[]>, signal: AbortSignal) {
    super();
    this.#days = days[Symbol.iterator]();
    this.#signal = signal;
  }

  override _read(): void {
    setImmediate(() => {
      try {
        this.#make();
      } catch (error) {
        this.destroy(error as Error);
      }
    });
  }

  #make(): void {
    if (this.destroyed) return;
    const { value: lines, done } = this.#signal.aborted ? ENDED : this.#days.next();
    if (done) this.push(null);
    else if (lines.length === 0) this._read();
    else {
      const day = Buffer.from(`${lines.join('\n')}\n`);
      this.bytesRead += day.length;
      this.push(day);
    }
  }
}

const ENDED = { value: undefined, done: true } as const;
