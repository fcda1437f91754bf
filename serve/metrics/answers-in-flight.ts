import type { ServerResponse } from 'node:http';
import { ProductError } from '../../infra/errors.ts';

/** So many of them as there may be connections are bounded too. */
const SHORT_BYTES = 2 ** 18;
/** So few rows are no long answer. */
const SHORT_ROWS = 256;

/** The callers that read an answer, and with how many requests each. */
type ReadersOf = Map<string, number>;

/**
 * Answers that are being sent: their readers share the bytes, and all bytes together are bounded. A caller that holds
 * half of them gets no other long one, so slow readers cannot make the store render more large answers.
 *
 * Not `Admission`: its places are free when a query ends, and the bytes are held until the reader has taken them.
 */
export class AnswersInFlight<Answer extends { readonly body: Buffer }> {
  readonly #bytesMax: number;
  readonly #byKey = new Map<string, Answer>();
  readonly #readers = new Map<Answer, ReadersOf>();
  /** Bytes of the answers that a caller reads. */
  readonly #held = new Map<string, number>();
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

  /** Throws before a query of many rows when each of its callers holds half of the bytes that may wait. */
  requireReading(callers: Iterable<string>, rowsMax = Number.POSITIVE_INFINITY): void {
    if (rowsMax <= SHORT_ROWS) return;
    for (const caller of callers) if ((this.#held.get(caller) ?? 0) < this.#bytesMax / 2) return;
    throw new ProductError(
      'store_busy',
      'long answers wait for you to read them; read them to their end and try again',
      `${this.#bytes} bytes`,
    );
  }

  /** Counts an answer until its reader has it or is gone. */
  hold(key: string, answer: Answer, caller: string, response: ServerResponse): void {
    // Of a reader who left before the answer was there: it would never be released.
    if (response.closed) return;
    const readers = this.#readers.get(answer) ?? new Map<string, number>();
    if (readers.size === 0) {
      this.#bytes += answer.body.length;
      this.#byKey.set(key, answer);
      this.#readers.set(answer, readers);
    }
    if (add(readers, caller, 1) === 1) add(this.#held, caller, answer.body.length);
    response.once('close', () => this.#release(key, answer, caller));
  }

  #release(key: string, answer: Answer, caller: string): void {
    const readers = this.#readers.get(answer);
    if (readers === undefined) return;
    if (add(readers, caller, -1) === 0) add(this.#held, caller, -answer.body.length);
    if (readers.size > 0) return;
    this.#readers.delete(answer);
    this.#bytes -= answer.body.length;
    if (this.#byKey.get(key) === answer) this.#byKey.delete(key);
  }
}

function add(counts: Map<string, number>, key: string, by: number): number {
  const next = (counts.get(key) ?? 0) + by;
  if (next > 0) counts.set(key, next);
  else counts.delete(key);
  return next;
}
