import type { ServerResponse } from 'node:http';
import { ProductError } from '../../infra/errors.ts';

/** So many of them as there may be connections are bounded too. */
const SHORT_BYTES = 2 ** 18;

/** Answers that are being sent: their readers share the bytes, and all bytes together are bounded. */
export class AnswersInFlight<Answer extends { readonly body: Buffer }> {
  readonly #bytesMax: number;
  readonly #byKey = new Map<string, Answer>();
  readonly #readers = new Map<Answer, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  find(key: string): Answer | undefined {
    return this.#byKey.get(key);
  }

  /** Throws when a long answer would exceed the bytes that may wait for their readers; short ones always find room. */
  requireRoom({ body }: Answer): void {
    if (body.length <= SHORT_BYTES || this.#bytes + body.length <= this.#bytesMax) return;
    throw new ProductError(
      'store_busy',
      'too many long answers wait for their readers; try again later or ask for less',
      `${this.#bytes} bytes`,
    );
  }

  /** Counts an answer until its reader has it or is gone. */
  hold(key: string, answer: Answer, response: ServerResponse): void {
    // Of a reader who left before the answer was there: it would never be released.
    if (response.closed) return;
    const readers = this.#readers.get(answer) ?? 0;
    if (readers === 0) {
      this.#bytes += answer.body.length;
      this.#byKey.set(key, answer);
    }
    this.#readers.set(answer, readers + 1);
    response.once('close', () => this.#release(key, answer));
  }

  #release(key: string, answer: Answer): void {
    const readers = (this.#readers.get(answer) ?? 1) - 1;
    if (readers > 0) return void this.#readers.set(answer, readers);
    this.#readers.delete(answer);
    this.#bytes -= answer.body.length;
    if (this.#byKey.get(key) === answer) this.#byKey.delete(key);
  }
}
